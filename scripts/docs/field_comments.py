"""An extension of griffe: a comment above a field documents it, as a docstring below it would."""

from __future__ import annotations

import ast
from typing import Any

from griffe import Attribute, Docstring, Extension, ObjectNode


class FieldComments(Extension):
    """Fields of dataclasses are documented by comments in this code."""

    def on_attribute_instance(self, *, node: ast.AST | ObjectNode, attr: Attribute, **kwargs: Any) -> None:
        if attr.docstring is not None or attr.lineno is None or not attr.parent or not attr.parent.is_class:
            return
        text = comment_above(list(attr.lines_collection[attr.filepath]), attr.lineno)  # pyright: ignore[reportArgumentType]
        if text:
            attr.docstring = Docstring(text, lineno=attr.lineno, parent=attr)


def comment_above(lines: list[str], lineno: int) -> str:
    """The comment in the lines right above line `lineno`, counted from 1."""
    found: list[str] = []
    for line in reversed(lines[: lineno - 1]):
        text = line.strip()
        if not text.startswith("#"):
            break
        found.append(text.lstrip("# "))
    return " ".join(reversed(found))
