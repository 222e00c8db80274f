"""An environment's arguments, checked together."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graspline.envs.interface import Interface, interface_of
from graspline.errors import InputError, one_of, together
from graspline.parameters import Document, Parameters, Value, build
from graspline.rendering.choose import RendererKind
from graspline.tasks.catalogue import find_task
from graspline.tasks.task import Task

RENDER_MODES = ("rgb_array",)
_LONGEST_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Terms:
    """On what terms a policy is to do a task."""

    task: Task[Any]
    parameters: Parameters
    interface: Interface
    max_seconds: float
    renderer: RendererKind


def terms_of(
    task: str,
    *,
    fps: int,
    cameras: str | Mapping[str, object],
    units: str,
    parameters: Mapping[str, object],
    max_seconds: float | None,
    renderer: str,
    render_mode: str | None,
) -> Terms:
    """The terms that these arguments mean; one InputError lists everything that is wrong with them."""
    found = find_task(task)
    usual_scene = found.scene(found.parameters())
    built, interface, seconds, chosen, _ = together(
        lambda: _built(found, parameters),
        lambda: interface_of(usual_scene, fps=fps, cameras=cameras, units=units),
        lambda: None if max_seconds is None else check_seconds(max_seconds, "max_seconds"),
        lambda: one_of(renderer, typing.get_args(RendererKind), "renderer"),
        lambda: render_mode is None or one_of(render_mode, RENDER_MODES, "render_mode"),
    )
    seconds = found.policy.time_limit_s(built) if seconds is None else seconds
    return Terms(task=found, parameters=built, interface=interface, max_seconds=seconds, renderer=chosen)


def check_seconds(seconds: float, where: str) -> float:
    """How long an episode may last, in simulated time."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= _LONGEST_S:
        raise InputError(f"{where}: expected seconds, more than 0 and up to {_LONGEST_S:g}; got {seconds!r}")
    return float(seconds)


def _built(task: Task[Any], given: object) -> Parameters:
    if not isinstance(given, Mapping):
        raise InputError(f"parameters: expected a mapping from keys to values; got {given!r}")
    values: dict[str, Value] = {}
    for key, value in given.items():
        _put(values, str(key).split("."), value)
    parameters = build(task.parameters, Document(name="parameters", values=values, lines={}))
    problems = [*task.problems(parameters), *task.policy.problems(parameters)]
    if problems:
        raise InputError(problems)
    return parameters


def _put(values: dict[str, Value], path: list[str], value: object) -> None:
    """Set a value, or every value of a mapping, where dotted keys lead, beside what others have set there."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _put(values, [*path, *str(key).split(".")], inner)
        return
    *around, last = path
    for key in around:
        inner = values.setdefault(key, {})
        if not isinstance(inner, dict):
            raise InputError(f"parameters: {key} is given both a value and keys of its own")
        values = inner
    # Ranges may come as tuples or arrays; parameters are plain values.
    plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    values[last] = typing.cast(Value, list(plain) if isinstance(plain, tuple) else plain)
