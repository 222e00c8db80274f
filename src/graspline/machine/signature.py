"""The signature is the declaration: what a state takes, which outcomes it has, and what each of them gives."""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from graspline.errors import WiringError
from graspline.machine.outcome import Gives, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Inputs by name and type; for each outcome the names and types it gives."""

    inputs: dict[str, Any]
    outcomes: dict[str, dict[str, Any]]
    asks: bool


@functools.cache
def signature_of(state: Callable[..., Any]) -> Signature:
    """Read a state's declaration off its annotations."""
    name = getattr(state, "__name__", repr(state))
    try:
        hints = get_type_hints(state)
    except NameError as error:
        raise WiringError(
            f"state {name!r}: a type in its signature is not known where it is defined: {error}"
        ) from error
    if "return" not in hints:
        raise WiringError(f"state {name!r} does not say what it returns")
    inputs = {}
    for parameter in inspect.signature(state).parameters.values():
        if parameter.name not in hints:
            raise WiringError(f"state {name!r}: input {parameter.name!r} has no type")
        inputs[parameter.name] = hints[parameter.name]
    returned = hints["return"]
    asks = get_origin(returned) is collections.abc.Generator
    result = get_args(returned)[2] if asks else returned
    return Signature(inputs=inputs, outcomes=_outcomes(result, name), asks=asks)


def _outcomes(result: Any, name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    members = get_args(result) if get_origin(result) in (Union, types.UnionType) else (result,)
    for member in members:
        kind, arguments = get_origin(member), get_args(member)
        if kind not in (Outcome, Gives) or get_origin(arguments[0]) is not Literal:
            raise WiringError(f"state {name!r} returns {member}; expected Outcome or Gives of Literal names")
        given = _fields(arguments[1]) if kind is Gives else {}
        for outcome in get_args(arguments[0]):
            found[outcome] = given
    return found


def _fields(data: Any) -> dict[str, Any]:
    hints = get_type_hints(data)
    return {field.name: hints[field.name] for field in dataclasses.fields(data)}
