"""One word, one thing: the retired words of the glossary stand nowhere in the source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "graspline"
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()


def retired_words() -> list[str]:
    """The first column of the glossary's last table."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", GLOSSARY.partition("## Retired words")[2], re.MULTILINE)
    return [word for row in rows if row not in ("retired", "---") for word in row.split(", ")]


def lines() -> Iterator[tuple[str, str]]:
    """Every line of the source with its place, but for imports, which name modules."""
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix in (".py", ".template", ".html", ".yaml", ".css", ".js"):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if not re.match(r"\s*(from|import) ", line):
                    yield f"{path.relative_to(SOURCE)}:{number}", line


def found(word: str) -> list[str]:
    """Where a word stands, also as a part of a name such as `draw_all`; names of classes, in capitals, are left out."""
    wanted = re.compile(rf"(?<![A-Za-z])(?:{word}|{word.upper()})(?![A-Za-z])")
    return [place for place, line in lines() if wanted.search(line)]


def test_there_are_retired_words() -> None:
    assert {"draw", "whoever", "so many", "errand"} <= set(retired_words())


@pytest.mark.parametrize("word", retired_words())
def test_a_retired_word_stands_nowhere_in_the_source(word: str) -> None:
    assert found(word) == []


def test_a_retired_word_is_found_in_names_and_comments() -> None:
    assert found("sample")
    assert found("renderer")


def test_the_places_that_the_glossary_names_are_there() -> None:
    places = re.findall(r"^\| [^|]+ \| [^|]+ \| `([^`]+)` \|$", GLOSSARY, re.MULTILINE)
    assert places
    assert [place for place in places if not (SOURCE / place).exists()] == []
