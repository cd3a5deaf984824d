"""Chromium, driven without a window: started once, and what axe says of a page."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}


@contextlib.contextmanager
def started() -> Iterator[Any]:
    """A browser; where the machine has no Chromium the test is skipped."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("Chromium is not on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def assert_accessible(page: Any) -> None:
    """axe finds nothing: names, contrast, structure, at both widths and in both lights; nothing is wider than its window."""
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    for size, scheme in (("desktop", "light"), ("desktop", "dark"), ("phone", "light")):
        page.set_viewport_size(SIZES[size])
        page.emulate_media(color_scheme=scheme)
        page.evaluate("document.getAnimations().forEach((fading) => fading.finish())")
        found = page.evaluate("axe.run(document)")["violations"]
        told = [(one["id"], [node["html"][:200] for node in one["nodes"]][:3]) for one in found]
        assert told == [], f"{size}, {scheme}"
        assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["width"]
