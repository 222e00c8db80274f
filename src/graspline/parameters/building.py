"""Parameters from their three layers: defaults, a file over them, `--set` options over both."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from graspline.errors import InputError
from graspline.parameters.allowed import allowed_in
from graspline.parameters.assignments import option, parse_assignment
from graspline.parameters.documents import Document
from graspline.parameters.model import Parameters
from graspline.parameters.notation import Value, dotted, shown
from graspline.parameters.problems import Origins, explain, not_a_section, unknown_key

P = TypeVar("P", bound=Parameters)


def build(model: type[P], document: Document | None = None, assignments: Sequence[str] = ()) -> P:
    """The parameters; raises one InputError that lists every problem of the file and of the options."""
    values: dict[str, Value] = {}
    origins = Origins(root="")
    if document is not None:
        values = copy.deepcopy(dict(document.values))
        places = {path: f"{document.name}:{line}" for path, line in document.lines.items()}
        origins = Origins(root=document.name, at=places)
    problems: list[str] = []
    for assignment in assignments:
        try:
            path, value = parse_assignment(assignment, _example(model))
            _check_path(model, path, value, option(assignment))
        except InputError as error:
            problems += error.problems
        else:
            _assign(values, path, value)
            _record(origins, path, option(assignment))
    try:
        # Files that parameters name are looked for beside the file that names them.
        context = None if document is None else {"folder": os.path.dirname(document.name)}
        parameters = model.model_validate(values, context=context)
    except ValidationError as error:
        raise InputError(problems + explain(error, model, origins)) from None
    if problems:
        raise InputError(problems)
    return parameters


def _example(model: type[BaseModel]) -> str:
    """An assignment of the first parameter that is a number; empty if there is none."""
    return next((f"{dotted(path)}={value:g}" for path, value in _numbers(model)), "")


def _numbers(model: type[BaseModel]) -> Iterator[tuple[tuple[str, ...], float]]:
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True, validated_data={})
        if isinstance(default, BaseModel):
            yield from (((name, *path), value) for path, value in _numbers(type(default)))
        elif isinstance(default, int | float) and not isinstance(default, bool):
            yield (name,), default


def _check_path(model: type[Parameters], path: tuple[str, ...], value: Value, where: str) -> None:
    """Refuse an assignment to an unknown key, before it can hide what the file says there."""
    section = model
    for end, key in enumerate(path, start=1):
        known = allowed_in(section)
        if key not in known:
            raise InputError(f"{where}: {unknown_key(model, section, path[:end])}")
        allowed = known[key]
        if end < len(path) and allowed.section is None:
            inner = shown(path[end])
            raise InputError(f"{where}: {dotted(path[:end])} is {allowed.noun}, set it whole; it has no key {inner}")
        if end == len(path) and allowed.section is not None and not (value is None and allowed.optional):
            raise InputError(f"{where}: {not_a_section(value, allowed)}")
        section = allowed.section or section


def _assign(values: dict[str, Value], path: tuple[str, ...], value: Value) -> None:
    *around, key = path
    for name in around:
        if values.get(name) is None:
            values[name] = {}
        inner = values[name]
        if not isinstance(inner, dict):
            return  # the file has a value where a section belongs, and that is reported
        values = inner
    values[key] = value


def _record(origins: Origins, path: tuple[str, ...], where: str) -> None:
    for known in [known for known in origins.at if known[: len(path)] == path]:
        del origins.at[known]
    origins.at[path] = where
