"""What a key accepts, read from its field, and how to say it."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from graspline.errors import WiringError
from graspline.parameters.notation import number, write
from graspline.parameters.ranges import Range
from graspline.parameters.units import unit_of

Kind = Literal["number", "integer", "flag", "text", "choice", "range", "list", "section"]

_KINDS: dict[Any, Kind] = {float: "number", int: "integer", bool: "flag", str: "text", Range: "range"}
_NOUNS: dict[Kind, tuple[str, str]] = {
    "number": ("a number", "numbers"),
    "integer": ("a whole number", "whole numbers"),
    "flag": ("true or false", "true or false"),
    "text": ("text", "text"),
    "choice": ("a choice", "choices"),
    "range": ("a range [low, high]", "ranges"),
    "list": ("a list", "lists"),
    "section": ("a section", "sections"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds of a number, under the names pydantic gives them."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None

    def __str__(self) -> str:
        if self.ge is not None and self.le is not None:
            return f"{number(self.ge)} to {number(self.le)}"
        words = {"at least": self.ge, "above": self.gt, "at most": self.le, "below": self.lt}
        return " and ".join(f"{word} {number(bound)}" for word, bound in words.items() if bound is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What one key accepts. A list has one `items` per position, or one for all and no `length`."""

    kind: Kind
    optional: bool = False
    section: type[BaseModel] | None = None
    choices: tuple[object, ...] = ()
    items: tuple[Allowed, ...] = ()
    length: int | None = None
    bounds: Bounds = Bounds()
    unit: str = ""

    @property
    def noun(self) -> str:
        """What a value of this kind is called: `a number`, `a list of 3 numbers`."""
        if self.kind != "list":
            return _NOUNS[self.kind][0]
        count = "" if self.endless else f"{self.length} "
        section = self.items[0].section if self.items else None
        if section is not None:
            return f"a list of sections of {', '.join(section.model_fields)}"
        return f"a list of {count}{_NOUNS[self.items[0].kind][1] if self.items else 'nothing'}"

    @property
    def domain(self) -> str:
        """Bounds or choices in words: `0.005 to 0.1`; empty where anything of the kind goes."""
        if self.kind == "list":
            return self.items[0].domain if len(set(self.items)) == 1 else ""
        return ", ".join(map(write, self.choices)) or str(self.bounds)

    @property
    def limits(self) -> str:
        """Domain and unit: `0.005 to 0.1, metres`."""
        parts = (self.domain, self.unit, "or null" if self.optional else "")
        return ", ".join(part for part in parts if part)

    @property
    def endless(self) -> bool:
        """Whether a list may have any length."""
        return self.kind == "list" and self.length is None

    def item(self, index: int) -> Allowed:
        """What a list or a range accepts at a position."""
        if self.kind == "range":
            return Allowed(kind="number", bounds=self.bounds, unit=self.unit)
        return self.items[0 if self.endless else index]


@functools.cache
def allowed_in(section: type[BaseModel]) -> Mapping[str, Allowed]:
    """What each key of a section accepts."""
    section.model_rebuild()  # does nothing but where a forward reference is still open
    return {name: allowed_by(name, field) for name, field in section.model_fields.items()}


def allowed_by(name: str, field: FieldInfo) -> Allowed:
    """What the key `name` accepts; raises WiringError for a type no YAML value can have."""
    unit = unit_of(name)
    try:
        allowed = _read(field.annotation, field.metadata, unit)
    except TypeError as error:
        raise WiringError(
            f"{name}: {error} cannot be a parameter; use nested Parameters, float, int, bool, str, Literal, "
            "Range, a tuple of scalars or of one kind of Parameters, or one of them | None"
        ) from None
    if allowed.kind == "list" and allowed.bounds != Bounds():
        raise WiringError(f"{name}: bounds on a list; use Range, or put them on its items with Annotated")
    return allowed


def _read(annotation: Any, metadata: Iterable[Any], unit: str) -> Allowed:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _read(arguments[0], [*metadata, *arguments[1:]], unit)
    if origin in (Union, types.UnionType):
        others = [argument for argument in arguments if argument is not types.NoneType]
        if len(others) == 1:
            return replace(_read(others[0], metadata, unit), optional=True)
    elif origin is Literal:
        return Allowed(kind="choice", choices=arguments)
    elif origin is tuple:
        return _read_list(arguments, metadata, unit)
    elif annotation in _KINDS:
        measured = _KINDS[annotation] in ("number", "integer", "range")
        return Allowed(kind=_KINDS[annotation], unit=unit if measured else "", bounds=_bounds(metadata))
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Allowed(kind="section", section=annotation)
    raise TypeError(annotation)


def _read_list(arguments: tuple[Any, ...], metadata: Iterable[Any], unit: str) -> Allowed:
    endless = len(arguments) == 2 and arguments[1] is ...
    items = tuple(_read(argument, (), unit) for argument in (arguments[:1] if endless else arguments))
    if any(item.kind in ("list", "range") or (item.kind == "section" and not endless) for item in items):
        raise TypeError(f"a list of {_NOUNS[items[0].kind][1]}")
    length, unit = None if endless else len(items), items[0].unit if items else ""
    return Allowed(kind="list", items=items, length=length, bounds=_bounds(metadata), unit=unit)


def _bounds(metadata: Iterable[Any]) -> Bounds:
    bounds: dict[str, float] = {}
    for constraint in metadata:
        for part in constraint.metadata if isinstance(constraint, FieldInfo) else [constraint]:
            found = {name: getattr(part, name, None) for name in ("ge", "gt", "le", "lt")}
            bounds |= {name: bound for name, bound in found.items() if bound is not None}
    return Bounds(**bounds)
