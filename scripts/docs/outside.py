"""Links of pages to files of the repository that are not in docs/: they lead to a copy in the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

# Where copies of programs are.
SOURCE = "source/"
_LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")


def redirected(markdown: str, origin: str, page: str, pages: Mapping[str, str]) -> str:
    """The text of a page with links as they are in the site; `origin` is where the text is in the repository."""

    def replace(match: re.Match[str]) -> str:
        target = _target(origin, match[2])
        if target is None:
            return match[0]
        found = _in_site(target, pages)
        return f"{match[1]}{posixpath.relpath(found, posixpath.dirname(page) or '.')}{match[3] or ''}{match[4]}"

    return _LINK.sub(replace, markdown)


def linked(root: Path, pages: Mapping[str, str]) -> list[str]:
    """Files that pages link to and that are no pages themselves, by their path in the repository."""
    found = set()
    for path in _texts(root, pages):
        for match in _LINK.finditer(path.read_text()):
            target = _target(path.relative_to(root).as_posix(), match[2])
            if target and not target.startswith("docs/") and _in_site(target, pages).startswith(SOURCE):
                found.add(target)
    return sorted(each for each in found if (root / each).is_file())


def _texts(root: Path, pages: Mapping[str, str]) -> Iterator[Path]:
    yield from (root / "docs").rglob("*.md")
    yield from (root / name for name in pages)


def _target(origin: str, link: str) -> str | None:
    """The path in the repository that a link of `origin` leads to; None for addresses and for links within docs/."""
    if "://" in link or link.startswith(("/", "mailto:")):
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), link))
    return None if origin.startswith("docs/") and target.startswith("docs/") else target


def _in_site(target: str, pages: Mapping[str, str]) -> str:
    if target in pages:
        return pages[target]
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    if target == "README.md":
        return "index.md"
    if f"{target}/README.md" in pages:
        return pages[f"{target}/README.md"]
    return SOURCE + target
