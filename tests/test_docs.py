"""The documents say what is: quotations are in the source, links lead somewhere, the diagram is the table.

Commands and programs are run by tests/docs.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graspline import TASKS, find_task
from graspline.machine.diagram import svg_sheet

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_what_the_documents_quote_of_our_source_is_in_it() -> None:
    """A block of Python that imports nothing and names no file of its own is a quotation."""
    source = [path.read_text() for folder in ("src", "examples") for path in (ROOT / folder).rglob("*.py")]
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    blocks = [
        (page, each) for page in pages for each in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    ]
    quoted = [(page, each) for page, each in blocks if not re.search(r"^(import|from|#) ?", each, re.MULTILINE)]
    assert quoted
    for page, block in quoted:
        assert any(block in text for text in source), f"{page.name} shows what is not so:\n{block}"


def test_the_tutorial_shows_every_part_of_its_task() -> None:
    """All but the imports."""
    page = (ROOT / "docs" / "start" / "first-task.md").read_text()
    shown = "".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    task = (ROOT / "examples" / "stack" / "src" / "graspline_stack" / "task.py").read_text()
    parts = re.findall(r"^(?:class|def) \w+|^[A-Z_]+(?= = (?:Task|Box|stages))", task, re.MULTILINE)
    assert len(parts) >= 10
    assert [part for part in parts if part not in shown] == []


def test_links_in_documents_beside_the_site_lead_somewhere() -> None:
    """Links of the site are checked where it is built, with the pages that are made then."""
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "benchmarks").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("name", list(TASKS))
def test_the_diagram_in_the_documents_is_the_table(name: str) -> None:
    task = find_task(name)
    drawn = (ROOT / "docs" / "images" / f"{name}-machine.svg").read_text()
    assert drawn == svg_sheet(task.machine(task.parameters()))


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 120


def test_the_glossary_has_one_sentence_per_term() -> None:
    page, _, _ = (ROOT / "docs" / "glossary.md").read_text().partition("## Retired words")
    rows = [row for row in _table_rows(page) if row[0] not in ("term", "---")]
    terms = [row[0] for row in rows]
    assert len(terms) <= 120
    assert len(terms) == len(set(terms))
    assert all(len(row) == 3 and row[1].endswith(".") for row in rows)


def _table_rows(page: str) -> list[list[str]]:
    lines = re.findall(r"^\|(.*)\|$", page, flags=re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def test_every_parameter_of_oranges_that_the_history_names_exists() -> None:
    parameters = find_task("oranges").parameters()
    rows = [row for row in _table_rows((ROOT / "docs" / "history.md").read_text()) if len(row) == 5]
    named = [name for row in rows for name in re.findall(r"`([a-z]+\.[a-z_0-9]+)`", row[2])]
    assert len(named) >= 40
    for name in named:
        group, field = name.split(".")
        assert field in type(getattr(parameters, group)).model_fields, name
