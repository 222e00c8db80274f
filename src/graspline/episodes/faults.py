"""Faults on purpose: named, tied to a state, with a delay, seeded. Product code, not test code.

A fault is an observer that turns the entry of a state into events of the world.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from graspline.engine.events import Change, CorruptControl, Event, Place, Push
from graspline.errors import InputError, nearest
from graspline.execution.executor import Executor
from graspline.execution.happenings import Entered, Happening
from graspline.parameters.notation import printable
from graspline.robots.so101 import PAD_FRICTION, PAD_GEOMS
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation, friction_of

# Pads as slippery as oil; an object falls out of them within this time.
_OILED = (0.01, 0.0001, 0.00001)
_OILED_S = 0.3
# What helps it out: the jaws of an SO-101 lean and may wedge a cube even without friction.
_DROP_N = 2.0
# A shove gives the object this speed within this time.
_SHOVE_M_S = 0.5
_SHOVE_S = 0.05
_FAR_AWAY_M = (3.0, 3.0, 0.05)

Timed = tuple[float, Event]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a fault may know when it strikes."""

    scene: Scene
    variation: Variation
    random: np.random.Generator
    target: str


def _drop(context: Context) -> list[Timed]:
    """The pads lose their grip for a moment, and something tugs at the object."""
    before = tuple(edit for edit in context.variation.edits if edit.field == "geom_friction")
    if not before:
        before = tuple(edit for geom in PAD_GEOMS for edit in friction_of((geom,), PAD_FRICTION))
    pull = -_DROP_N
    return [
        (0.0, Change(edits=friction_of(PAD_GEOMS, _OILED))),
        (0.0, Push(body=context.target, force_n=(0.0, 0.0, pull))),
        (_OILED_S, Push(body=context.target, force_n=(0.0, 0.0, 0.0))),
        (_OILED_S, Change(edits=before)),
    ]


def _shove(context: Context) -> list[Timed]:
    """Somebody pushes the object sideways."""
    mass = context.variation.described.get("mass_kg", float(context.scene.model.body(context.target).mass[0]))
    angle = context.random.uniform(-np.pi, np.pi)
    force = mass * _SHOVE_M_S / _SHOVE_S
    push = Push(body=context.target, force_n=(force * float(np.cos(angle)), force * float(np.sin(angle)), 0.0))
    return [(0.0, push), (_SHOVE_S, Push(body=context.target, force_n=(0.0, 0.0, 0.0)))]


def _remove(context: Context) -> list[Timed]:
    """Somebody takes the object away."""
    return [(0.0, Place(body=context.target, position_m=_FAR_AWAY_M))]


def _nan_control(context: Context) -> list[Timed]:
    """A control is not a number for one tick."""
    return [(0.0, CorruptControl(joint=context.scene.robot.joints[2]))]


FAULTS: dict[str, Callable[[Context], list[Timed]]] = {
    "drop": _drop,
    "shove": _shove,
    "remove": _remove,
    "nan-control": _nan_control,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """`name@state+delay`: strikes once, this long after the state is first entered."""

    name: str
    state: str
    delay_s: float

    def __str__(self) -> str:
        return f"{self.name}@{self.state}" + (f"+{self.delay_s:g}" if self.delay_s else "")


def parse_faults(texts: Iterable[str], states: Iterable[str]) -> tuple[Fault, ...]:
    """Read `drop@lift` or `drop@lift+0.2`; all mistakes at once."""
    known, found, problems = tuple(states), [], []
    for text in texts:
        shown = printable(text)
        match = re.fullmatch(r"([^@+]+)@([^@+]+)(?:\+([0-9]*\.?[0-9]+))?", text)
        if match is None:
            problems.append(f"--fault {shown}: expected NAME@STATE or NAME@STATE+SECONDS, such as drop@lift+0.2")
            continue
        name, state, delay = match.groups()
        if name not in FAULTS:
            problems.append(f"--fault {shown}: unknown fault {name!r}; {nearest(name, FAULTS)}")
        if state not in known:
            problems.append(f"--fault {shown}: unknown state {state!r}; {nearest(state, known)}")
        if delay is not None and not float(delay) <= 60:
            problems.append(f"--fault {shown}: a delay of {delay} s is above 60 s")
        found.append(Fault(name=name, state=state, delay_s=float(delay or 0)))
    if problems:
        raise InputError(problems)
    return tuple(found)


class FaultInjector:
    """Watches lanes and lets each of their faults strike once."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._pending: dict[int, list[Fault]] = {}
        self._contexts: dict[int, Context] = {}

    def arm(self, lane: int, faults: tuple[Fault, ...], context: Context) -> None:
        self._pending[lane], self._contexts[lane] = list(faults), context

    def __call__(self, lane: int, time_s: float, happening: Happening) -> None:
        if not isinstance(happening, Entered):
            return
        for fault in [each for each in self._pending.get(lane, ()) if each.state == happening.state]:
            self._pending[lane].remove(fault)
            for after_s, event in FAULTS[fault.name](self._contexts[lane]):
                self._executor.schedule(lane, fault.delay_s + after_s, event)
