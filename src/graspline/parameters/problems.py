"""Why values were refused: one line each, saying where, which key, the value, and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from graspline.errors import nearest
from graspline.parameters.allowed import Allowed, allowed_in
from graspline.parameters.notation import KeyPath, dotted, number, resolve, shown

# pydantic's names of what can be wrong.
_UNKNOWN_KEY = ("extra_forbidden", "invalid_key")
_WRONG_KIND = (
    *("float_type", "int_type", "bool_type", "string_type", "tuple_type", "model_type"),
    *("missing", "too_long"),
)
_BEYOND = {
    "greater_than_equal": ("below", "ge"),
    "greater_than": ("not above", "gt"),
    "less_than_equal": ("above", "le"),
    "less_than": ("not below", "lt"),
}


@dataclass(slots=True, kw_only=True)
class Origins:
    """Where each value was given: the file with its line, or the option."""

    root: str
    at: dict[KeyPath, str] = field(default_factory=dict)

    def where(self, path: KeyPath) -> str:
        """The place of a key, or of the innermost section around it that was given."""
        ends = range(len(path), 0, -1)
        return next((self.at[path[:end]] for end in ends if path[:end] in self.at), self.root)


def explain(error: ValidationError, model: type[BaseModel], origins: Origins) -> list[str]:
    """All problems of a validation, in the order of the model's keys."""
    return [_explain(detail, model, origins) for detail in error.errors(include_url=False)]


def unknown_key(model: type[BaseModel], section: type[BaseModel], path: KeyPath) -> str:
    """The message for a key that `section`, at the parent of `path`, does not have."""
    key, inside = path[-1], f" in {dotted(path[:-1])}" if len(path) > 1 else ""
    elsewhere = next((dotted(other) for other in _keys(model) if other[-1] == key), "")
    hint = f"did you mean {elsewhere!r}? " if elsewhere else ""
    return f"unknown key {shown(key)}{inside}; {hint}{nearest('' if hint else str(key), section.model_fields)}"


def not_a_section(value: object, allowed: Allowed) -> str:
    """The message for a value given to a section as a whole."""
    keys = ", ".join(allowed.section.model_fields) if allowed.section else ""
    if value is None:
        return f"the section is empty; set its keys ({keys}) or leave it out"
    return f"{shown(value)} is not a section; set its keys one by one: {keys}"


def _explain(detail: ErrorDetails, model: type[BaseModel], origins: Origins) -> str:
    kind, path, value = detail["type"], detail["loc"], detail["input"]
    if kind in _UNKNOWN_KEY:
        message = unknown_key(model, _section_at(model, path[:-1]), path)
        return _line(origins.where(path), "", message)
    if kind == "missing" and isinstance(path[-1], int):
        path = path[:-1]  # a list too short: the list is wrong, not the item it lacks
    allowed = _allowed_at(model, path)
    reason = _reason(detail)
    if allowed is None or (allowed.kind == "section" and kind not in _WRONG_KIND):
        return _disagreement(reason, path, model, origins)
    where, key = origins.where(path), dotted(path)
    named = where.startswith(f"--set {key}=")
    return _line(where, "" if named else key, _message(kind, value, allowed, reason))


def _reason(detail: ErrorDetails) -> str:
    """What a validator says, on one line."""
    context = detail.get("ctx", {})
    if detail["type"] == "too_long" and "actual_length" in context:
        return f"{context['actual_length']} items; expected at most {context['max_length']}"
    return " ".join(str(context.get("error", detail["msg"])).split())


def _message(kind: str, value: object, allowed: Allowed, reason: str) -> str:
    limits = f" ({'allowed ' if allowed.domain else ''}{allowed.limits})" if allowed.limits else ""
    if kind == "missing" and not isinstance(value, tuple):
        return f"required, but not given; expected {allowed.noun}{limits}"
    if kind == "literal_error":
        return f"unknown choice {shown(value)}; {nearest(str(value), map(str, allowed.choices))}"
    if kind == "finite_number":
        return f"{shown(value)} is not a finite number{limits}"
    if kind in _BEYOND:
        word, bound = _BEYOND[kind]
        verb = "reaches" if allowed.kind == "range" else "is"
        return f"{shown(value)} {verb} {word} {number(getattr(allowed.bounds, bound))}{limits}"
    if kind in _WRONG_KIND and allowed.kind == "section":
        return not_a_section(value, allowed)
    if kind in _WRONG_KIND and not (kind == "too_long" and allowed.endless):
        quoted = isinstance(value, str) and isinstance(resolve(value), int | float)
        return f"{shown(value)} is not {allowed.noun}{limits}{'; remove the quotes' if quoted else ''}"
    return f"{shown(value)} is refused: {reason}{limits}"


def _disagreement(reason: str, path: KeyPath, model: type[BaseModel], origins: Origins) -> str:
    """The line for a check across keys: it points at the keys its message names, else at the section."""
    known = set(_keys(_section_at(model, path)))
    words = (tuple(word.split(".")) for word in re.findall(r"\w+(?:\.\w+)*", reason))
    keys = [(*path, *word) for word in dict.fromkeys(words) if word in known] or [path]
    places = dict.fromkeys(map(origins.where, keys))
    return _line(", ".join(filter(None, places)), ", ".join(map(dotted, keys)), reason)


def _line(where: str, key: str, message: str) -> str:
    return ": ".join(part for part in (where, key, message) if part)


def _section_at(model: type[BaseModel], path: KeyPath) -> type[BaseModel]:
    allowed = _allowed_at(model, path)
    return model if allowed is None or allowed.section is None else allowed.section


def _allowed_at(model: type[BaseModel], path: KeyPath) -> Allowed | None:
    """What the key at a path accepts; None for the top level."""
    allowed, section = None, model
    for key in path:
        if isinstance(key, int):
            allowed = allowed.item(key) if allowed is not None else None
            section = (allowed.section if allowed is not None else None) or section
        else:
            allowed = allowed_in(section)[key]
            section = allowed.section or section
    return allowed


def _keys(model: type[BaseModel], around: tuple[type[BaseModel], ...] = ()) -> Iterator[KeyPath]:
    """Paths of all keys; a section inside itself is not entered again."""
    for name, allowed in allowed_in(model).items():
        yield (name,)
        if allowed.section is not None and allowed.section not in (*around, model):
            yield from ((name, *path) for path in _keys(allowed.section, (*around, model)))
