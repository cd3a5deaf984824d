// What pages do beyond links and forms: keys, and copying. Everything works without it.
"use strict";

// The next page has its times in the zone of this browser.
document.cookie = `wenyuan_zone=${Intl.DateTimeFormat().resolvedOptions().timeZone}; path=/console; max-age=31536000; samesite=lax`;

const typing = (element) => element.closest("input, select, textarea, [contenteditable]") !== null;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && typing(event.target)) event.target.blur();
  if (typing(event.target)) return;
  if (event.key === "/") {
    const field = document.querySelector("[data-focus]");
    event.preventDefault();
    if (field) { field.focus(); field.select(); } else location.assign("/console/search");
  }
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const code = button.parentElement.querySelector("pre");
  try {
    await navigator.clipboard.writeText(code.textContent);
    document.getElementById("said").textContent = button.textContent = button.dataset.copy;
  } catch {
    getSelection().selectAllChildren(code); // where copying is not allowed, it is one key away
  }
});

document.addEventListener("htmx:after:swap", () => {
  const heading = document.querySelector("#answer h2");
  if (heading) document.getElementById("said").textContent = heading.textContent;
});

// The first one has it when the page opens, so that no key is lost.
document.addEventListener("DOMContentLoaded", () => {
  if (document.activeElement === document.body && !location.hash) document.querySelector("[data-queue] > li")?.focus();
});

// Of a list of which many can be chosen, all at once.
for (const label of document.querySelectorAll("[data-chosen] .tick[hidden]")) label.hidden = false;
document.querySelector("[data-all]")?.addEventListener("change", (event) => {
  for (const one of event.target.form.elements.document.length ? event.target.form.elements.document : [event.target.form.elements.document]) one.checked = event.target.checked;
});

// The review queue: j and k move from one to the next, a and r decide on the one that has the focus.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event.target)) return;
  const waiting = [...document.querySelectorAll("[data-queue] > li")];
  if (!waiting.length || !["j", "k", "a", "r"].includes(event.key)) return;
  const at = waiting.indexOf(document.activeElement.closest("[data-queue] > li"));
  if (event.key === "a" || event.key === "r") {
    waiting[at]?.querySelector(`[data-key="${event.key}"]`).click();
    return;
  }
  const next = event.key === "j" ? Math.min(at + 1, waiting.length - 1) : Math.max(at - 1, 0);
  waiting[next].focus();
});
