"""The site builds without a warning, every link in it leads somewhere, and it loads nothing from elsewhere."""

from __future__ import annotations

import importlib.util
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import graspline
from graspline import TASKS
from graspline.cli.commands import COMMANDS
from graspline.faults.catalogue import fault_names

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("mkdocstrings") is None, reason="the docs group is not installed"),
]
# What a browser loads by itself, by tag.
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}


class Page(HTMLParser):
    """The links, anchors and loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if "id" in named:
            self.anchors.add(named["id"])
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        if tag in LOADED and named.get(LOADED[tag]):
            self.loaded.append(named[LOADED[tag]])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    found = {path.relative_to(site).as_posix(): Page(path.read_text()) for path in site.rglob("*.html")}
    assert len(found) > 30
    return found


def test_every_link_and_anchor_leads_somewhere(site: Path, pages: dict[str, Page]) -> None:
    dead = []
    for name, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            # The page for missing addresses links from the root, where a server would have it.
            if parts.scheme or name == "404.html":
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(name), unquote(parts.path))) if parts.path else name
            fragment = unquote(parts.fragment)
            if not (site / target).exists():
                dead.append(f"{name}: {link}")
            elif (
                fragment and target in pages and not fragment.startswith("__") and fragment not in pages[target].anchors
            ):
                dead.append(f"{name}: {link} (no such anchor)")
    assert not dead, "\n".join(dead)


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[str, Page]) -> None:
    loaded = [f"{name}: {each}" for name, page in pages.items() for each in page.loaded if "//" in each]
    styles = [f"{path.name}: {each}" for path in site.rglob("*.css") for each in _imported(path.read_text())]
    assert not [*loaded, *styles]


def _imported(text: str) -> list[str]:
    return re.findall(r"(?:@import\s+|url\()[\"']?((?:https?:)?//[^\"')]+)", text)


def test_search_works_without_a_server(site: Path) -> None:
    assert (site / "search" / "search_index.js").read_text().startswith("var __index")
    assert "iframe-worker.js" in (site / "index.html").read_text()


def test_the_reference_has_every_task_command_and_fault(site: Path, pages: dict[str, Page]) -> None:
    assert {name.replace(" ", "-") for name in COMMANDS} <= pages["reference/commands.html"].anchors
    assert set(TASKS) <= pages["reference/outcomes.html"].anchors
    faults = (site / "reference" / "faults.html").read_text()
    assert all(f"<code>{name}</code>" in faults for name in fault_names())
    for name in TASKS:
        assert f"../reference/parameters-{name}.html" in pages[f"tasks/{name}.html"].links


def test_the_reference_shows_every_public_name_with_its_example_as_code(site: Path, pages: dict[str, Page]) -> None:
    names = {f"graspline.{name}" for name in graspline.__all__ if not name.startswith("__")}
    names |= {f"graspline.stages.{name}" for name in graspline.stages.__all__}
    names |= {f"graspline.faults.{name}" for name in graspline.faults.__all__}
    assert names - {"graspline.stages", "graspline.faults"} <= pages["reference/api.html"].anchors
    shown = (site / "reference" / "api.html").read_text()
    assert shown.count('<span class="gp">') >= 100
    assert "<blockquote>" not in shown


def test_the_reference_has_every_parameter_that_config_prints(site: Path) -> None:
    for name, task in TASKS.items():
        shown = (site / "reference" / f"parameters-{name}.html").read_text().replace("<wbr>", "")
        missing = [key for key in _keys("", task.parameters().model_dump()) if f"<code>{key}</code>" not in shown]
        assert not missing, f"{name}: {missing}"


def _keys(path: str, values: dict[str, object]) -> list[str]:
    found = []
    for key, value in values.items():
        full = f"{path}.{key}" if path else key
        found += _keys(full, value) if isinstance(value, dict) else [full]
    return found


def test_llms_txt_lists_every_page_and_the_full_text_has_them_all(site: Path) -> None:
    listed = re.findall(r"\]\((\S+\.md)\)", (site / "llms.txt").read_text())
    assert {"start/install.md", "reference/commands.md", "tasks/oranges.md", "changelog.md"} <= set(listed)
    full = (site / "llms-full.txt").read_text()
    for name in listed:
        assert (site / name).read_text().strip() in full
    assert ":::" not in full
