"""Parameters as YAML for people: every key, its value, and what it means and accepts."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic.fields import FieldInfo

from graspline.parameters.allowed import Allowed, allowed_in
from graspline.parameters.model import Parameters
from graspline.parameters.notation import write

_WIDTH = 80
# Comments beside the keys start in one column per section; a longer key takes its comment on the line above.
_LONGEST_HEAD = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One parameter: its key as assignments name it, its value as YAML, what it means and accepts."""

    key: str
    value: str
    meaning: str


def entries_of(parameters: Parameters, prefix: str = "") -> Iterator[Entry]:
    """Every parameter, those of sections behind a dot."""
    allowed = allowed_in(type(parameters))
    for name, field in type(parameters).model_fields.items():
        value = getattr(parameters, name)
        if isinstance(value, Parameters):
            yield from entries_of(value, f"{prefix}{name}.")
        else:
            yield Entry(key=prefix + name, value=write(_plain(value)), meaning=_comment(field, allowed[name]))


def describe(parameters: Parameters) -> str:
    """YAML with a comment per key; `build` makes equal parameters from it."""
    heading = _comment_above(_meaning(type(parameters)), "")
    body = _section(parameters, "") or ["{}"]
    return "\n".join([*heading, *([""] if heading else []), *body]) + "\n"


def _section(parameters: Parameters, indent: str) -> list[str]:
    fields, allowed = type(parameters).model_fields, allowed_in(type(parameters))
    heads = {
        name: f"{indent}{write(name)}: {write(_plain(value))}"
        for name in fields
        if not isinstance(value := getattr(parameters, name), Parameters)
    }
    column = max((len(head) for head in heads.values() if len(head) <= _LONGEST_HEAD), default=0)
    lines: list[str] = []
    after_section = False
    for name, field in fields.items():
        if lines and (after_section or name not in heads):
            lines.append("")
        if name in heads:
            lines += _entry(heads[name], _comment(field, allowed[name]), indent, column)
        else:
            lines += _subsection(name, getattr(parameters, name), field, indent)
        after_section = name not in heads
    return lines


def _plain(value: object) -> object:
    """The same with mappings of what is set for the sections of a list."""
    if not isinstance(value, tuple):
        return value
    return [each.model_dump(exclude_defaults=True) if isinstance(each, Parameters) else each for each in value]


def _subsection(name: str, parameters: Parameters, field: FieldInfo, indent: str) -> list[str]:
    meaning = field.description or _meaning(type(parameters))
    body = _section(parameters, indent + "  ")
    head = f"{indent}{write(name)}:" + ("" if body else " {}")
    return [*_comment_above(meaning, indent), head, *body]


def _entry(head: str, comment: str, indent: str, column: int) -> list[str]:
    beside = f"{head:<{column}}  # {comment}"
    if not comment:
        return [head]
    if len(head) <= column and len(beside) <= _WIDTH:
        return [beside]
    return [*_comment_above(comment, indent), head]


def _comment(field: FieldInfo, allowed: Allowed) -> str:
    """Meaning, then in parentheses what is accepted: `side of the cube (0.005 to 0.1, metres)`."""
    meaning = " ".join((field.description or "").split()).removesuffix(".")
    accepted = ", ".join(part for part in (_kind(allowed), allowed.limits) if part)
    return f"{meaning} ({accepted})" if meaning and accepted else meaning or accepted


def _kind(allowed: Allowed) -> str:
    if allowed.section is not None:
        return f"section of {', '.join(allowed.section.model_fields)}"
    # Anyone can see that 0.2 is a number.
    return "" if allowed.kind in ("number", "text", "choice") else allowed.noun.removeprefix("a ")


def _comment_above(text: str, indent: str) -> list[str]:
    lines = textwrap.wrap(text, _WIDTH - len(indent) - 2, break_long_words=False, break_on_hyphens=False)
    return [f"{indent}# {line}" for line in lines]


def _meaning(section: type[Parameters]) -> str:
    """The first paragraph of the section's docstring."""
    return inspect.cleandoc(section.__doc__ or "").partition("\n\n")[0]
