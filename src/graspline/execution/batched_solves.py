"""What lanes ask to be computed in one tick: together where a function can take many, and none spoils another's."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graspline.execution.requests import Solve


@dataclass(frozen=True, slots=True)
class Crash:
    """A computation that raised: it ends the lane that asked for it, and no other."""

    error: str


def solve_all(solves: list[Solve[Any]]) -> list[Any]:
    """Answer every request, each function that can take many lanes at once in one call."""
    values: list[Any] = [None] * len(solves)
    groups: dict[Callable[..., Any], list[int]] = {}
    for index, solve in enumerate(solves):
        groups.setdefault(solve.function, []).append(index)
    for function, members in groups.items():
        arguments = [solves[index].arguments for index in members]
        for index, value in zip(members, _answers(function, arguments), strict=True):
            values[index] = value
    return values


def _answers(function: Callable[..., Any], arguments: list[tuple[object, ...]]) -> list[Any]:
    many = getattr(function, "many", None)
    if many is not None:
        # If one of many spoils it for all, each is tried alone.
        with contextlib.suppress(Exception):
            together = list(many(arguments))
            if len(together) == len(arguments):
                return together
    answers: list[Any] = []
    for each in arguments:
        try:
            answers.append(function(*each))
        except Exception:
            answers.append(Crash(traceback.format_exc()))
    return answers
