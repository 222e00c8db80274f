"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells may hold any text in one paragraph."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines) + "\n"


def code(text: str) -> str:
    """Text as code; empty where there is none."""
    return f"`{text}`" if text else ""


def sentence(text: str) -> str:
    """One line that begins with a capital letter and ends with a full stop."""
    line = " ".join(text.split())
    return line[:1].upper() + line[1:] + ("" if line.endswith((".", "!", "?", "…")) else ".") if line else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
