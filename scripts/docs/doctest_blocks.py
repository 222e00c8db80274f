"""An extension of griffe: examples in docstrings become blocks of code; Markdown would read `>>>` as a quotation."""

from __future__ import annotations

import re
from typing import Any

from griffe import Attribute, Class, Extension, Function, Module

# An example goes on until an empty line.
_EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)
_OPTION = re.compile(r"  # doctest: .*$", re.MULTILINE)


class DoctestBlocks(Extension):
    """Docstrings keep plain doctests, which tests run; the site shows them as sessions of Python."""

    def on_class_instance(self, *, cls: Class, **kwargs: Any) -> None:
        _rewrite(cls)

    def on_function_instance(self, *, func: Function, **kwargs: Any) -> None:
        _rewrite(func)

    def on_attribute_instance(self, *, attr: Attribute, **kwargs: Any) -> None:
        _rewrite(attr)


def _rewrite(found: Attribute | Class | Function | Module) -> None:
    if found.docstring is not None:
        found.docstring.value = fenced(found.docstring.value)


def fenced(text: str) -> str:
    """A docstring, with its examples as fenced blocks."""
    return _EXAMPLE.sub(lambda example: f"```pycon\n{_OPTION.sub('', example[0])}\n```", text)
