"""Search finds pages in a browser that opened the site from its folder, without a server and without the network."""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_site import pytestmark

__all__ = ["pytestmark"]
CHROMIUM = Path("/usr/bin/chromium")


@pytest.mark.skipif(not CHROMIUM.exists(), reason="the search needs a browser: apt install chromium")
def test_a_word_of_a_page_is_found_when_the_site_is_opened_from_its_folder(site: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="the search needs playwright")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(120_000)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.click(".md-search__input")
        page.keyboard.type("teachability", delay=50)
        # The index may become ready only after the last key; another one asks again.
        for _ in range(60):
            page.keyboard.press("End")
            page.wait_for_timeout(500)
            if page.locator(".md-search-result__link[href*='teachability']").count():
                break
        found = page.eval_on_selector_all(".md-search-result__link", "links => links.map(each => each.href)")
        browser.close()
    assert any("teachability.html" in each for each in found)
    assert not [each for each in asked if not each.startswith(("file:", "data:", "blob:"))]
