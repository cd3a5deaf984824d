"""Chromium, driven without a screen: started once, its windows, and what axe says of a page."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

LEAST = 24
"""Pixels of height and width that what is clicked or touched has at least; of a box that is ticked, its label counts."""
_SMALL = """(least) => [...document.querySelectorAll('a, button, input:not([type=hidden]), select, textarea, summary')]
  .filter((one) => !one.closest('svg') && !one.matches('.skip') && one.getClientRects().length)
  .map((one) => [one, (one.matches('[type=checkbox], [type=radio]') && one.closest('label')) || one])
  .map(([one, box]) => [one, box.getBoundingClientRect()])
  .filter(([one, box]) => box.width < least - .5 || box.height < least - .5)
  .map(([one, box]) => `${one.outerHTML.slice(0, 120)} ${Math.round(box.width)} × ${Math.round(box.height)}`)"""
SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}


@contextlib.contextmanager
def started() -> Iterator[Any]:
    """A browser; where the machine has no Chromium the test is skipped."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("Chromium is not on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


class Windows:
    """One window for each language, which a visit finds as somebody does who was never here.

    To begin another window takes another process of the browser, and as long as to look at a page twice.

    Attributes:
        heard: What the pages complained of since the visits began: ``console``, ``pageerror`` or ``dialog``, and the words.
    """

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._pages: dict[str, Any] = {}
        self.heard: list[tuple[str, str]] = []

    def page(self, language: str = "en", size: str = "desktop") -> Any:
        """The page of a window: without cookies, in the light, of that size."""
        page = self._pages.get(language)
        if page is None:
            page = self._pages[language] = self._browser.new_context(locale=language).new_page()
            page.on("console", lambda said: said.type in ("error", "warning") and self._hear("console", said.text))
            page.on("pageerror", lambda error: self._hear("pageerror", str(error)))
            page.on("dialog", lambda dialog: (self._hear("dialog", dialog.message), dialog.dismiss()))
        page.context.clear_cookies()
        page.set_viewport_size(SIZES[size])
        page.emulate_media(color_scheme="light")
        return page

    def _hear(self, kind: str, words: str) -> None:
        self.heard.append((kind, words))

    @contextlib.contextmanager
    def visited(self) -> Iterator[None]:
        """While entered, complaints are of this visit; in the end every window is left, and says what it has yet to say."""
        self.heard.clear()
        yield
        for page in self._pages.values():
            page.goto("about:blank")


def assert_accessible(page: Any) -> None:
    """It fits its window at both widths, what is to be hit is large enough, and axe finds nothing: names, structure, and contrast in
    both lights.
    """
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    backgrounds = set()
    for size, scheme, only in (
        ("phone", "light", ""),
        ("desktop", "light", ""),
        ("desktop", "dark", "runOnly: ['color-contrast'],"),  # another light changes colours, and nothing else
    ):
        page.set_viewport_size(SIZES[size])
        page.emulate_media(color_scheme=scheme)
        page.evaluate("document.getAnimations().forEach((fading) => fading.finish())")
        backgrounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["width"]
        assert page.evaluate(_SMALL, LEAST) == [], f"smaller than {LEAST} pixels, {size}"
        found = page.evaluate(
            f"axe.run(document, {{{only} resultTypes: ['violations']}}).then((found) => found.violations.map("
            "(one) => [one.id, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]))"
        )
        assert found == [], f"{size}, {scheme}"
    assert len(backgrounds) == 2
