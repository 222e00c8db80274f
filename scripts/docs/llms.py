"""`llms.txt` and `llms-full.txt`: the site as plain Markdown, for language models and for people with a pager."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from doctest_blocks import fenced
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page

_kept: dict[str, tuple[str, str]] = {}


def keep(page: Page, markdown: str) -> None:
    """Remember the text of a page; directives of the API page become signatures and docstrings."""
    text = re.sub(r"^::: (\S+)$", lambda match: _described(match[1]), markdown, flags=re.MULTILINE)
    heading = re.search(r"^# (.+)$", text, flags=re.MULTILINE)
    _kept[page.file.src_uri] = (heading[1].replace("`", "") if heading else page.file.name, text.strip() + "\n")


def write(folder: Path, config: MkDocsConfig) -> None:
    """Beside every page its Markdown, and both lists in the order of the navigation."""
    lines, full = [f"# {config.site_name}", "", f"> {config.site_description}", ""], []
    for section, uris in _ordered(config.nav or []):
        lines += [f"## {section}", ""]
        for uri in uris:
            title, text = _kept[uri]
            path = folder / uri
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            lines.append(f"- [{title}]({uri})")
            full.append(text)
        lines.append("")
    (folder / "llms.txt").write_text("\n".join(lines))
    (folder / "llms-full.txt").write_text("\n\n".join(full))
    _kept.clear()


def _ordered(nav: list[Any]) -> list[tuple[str, list[str]]]:
    """Sections of the navigation with all their pages; single pages come first."""
    found: dict[str, list[str]] = {"Overview": []}
    for each in nav:
        ((title, inner),) = each.items()
        if isinstance(inner, str):
            found["Overview"].append(inner)
        else:
            found[title] = _pages(inner)
    return list(found.items())


def _pages(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    if isinstance(nav, dict):
        return [uri for inner in nav.values() for uri in _pages(inner)]
    return [uri for inner in nav for uri in _pages(inner)]


def _described(name: str) -> str:
    attribute = name.rpartition(".")[2]
    found = resolve_name(name)
    try:
        signature = str(inspect.signature(found)) if callable(found) else ""
    except ValueError:
        signature = ""
    documented = inspect.getdoc(found) if inspect.isclass(found) or inspect.isroutine(inspect.unwrap(found)) else ""
    return f"### {name}\n\n`{attribute}{signature}`\n\n{fenced(documented or '')}"
