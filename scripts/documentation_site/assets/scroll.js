// A table that is wider than its window scrolls in a frame that the theme puts around it: the keyboard must reach it, too.
const reachable = () => {
  for (const frame of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) {
    frame.tabIndex = 0;
  }
};
new MutationObserver(reachable).observe(document.documentElement, { childList: true, subtree: true });
reachable();
