"""Faults in episodes: each is tied to a state, with a delay, and strikes once.

The injector is an observer that turns the entry of a state into events of the world; the fault itself says which.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from graspline.episodes.event_text import effect_of
from graspline.errors import InputError, nearest
from graspline.execution.executor import Executor
from graspline.execution.notifications import Ended, Entered, Happening, Struck, Targeted
from graspline.faults.catalogue import fault_kinds, fault_names, find_fault
from graspline.faults.context import Deed, FaultContext
from graspline.parameters.notation import printable
from graspline.scenes.scene import Scene


def faults_in(scene: Scene) -> tuple[str, ...]:
    """Names of the installed faults that can strike in a scene."""
    return tuple(name for name, kind in fault_kinds().items() if not kind.missing_in(scene))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """`name@state+delay`: strikes once, this long after the state is first entered."""

    # Or the place `module:NAME` of a fault that is not installed under a name.
    name: str
    state: str
    delay_s: float

    def __str__(self) -> str:
        return f"{self.name}@{self.state}" + (f"+{self.delay_s:g}" if self.delay_s else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """When a fault struck, and at what; or why it found nothing to strike."""

    t_s: float
    fault: str
    target: str
    missed: str = ""


def parse_faults(
    texts: Iterable[str],
    states: Iterable[str],
    option: str = "--fault",
    offered: Callable[[], Iterable[str]] = fault_names,
) -> tuple[Fault, ...]:
    """Read `drop@lift` or `drop@lift+0.2`; all mistakes at once. An unknown name is refused with those `offered`."""
    known, found, problems = tuple(states), [], []
    for text in texts:
        shown = printable(text)
        match = re.fullmatch(r"([^@+]+)@([^@+]+)(?:\+([0-9]*\.?[0-9]+))?", text)
        if match is None:
            problems.append(f"{option} {shown}: expected NAME@STATE or NAME@STATE+SECONDS, such as drop@lift+0.2")
            continue
        name, state, delay = match.groups()
        if ":" not in name and name not in fault_names():
            problems.append(f"{option} {shown}: unknown fault {name!r}; {nearest(name, offered())}")
        else:
            problems += _unusable(name, f"{option} {shown}")
        if state not in known:
            problems.append(f"{option} {shown}: unknown state {state!r}; {nearest(state, known)}")
        if delay is not None and not float(delay) <= 60:
            problems.append(f"{option} {shown}: a delay of {delay} s is above 60 s")
        found.append(Fault(name=name, state=state, delay_s=float(delay or 0)))
    if problems:
        raise InputError(problems)
    return tuple(found)


def _unusable(name: str, shown: str) -> list[str]:
    """Why a fault cannot be imported, one line for each problem."""
    try:
        find_fault(name)
    except InputError as error:
        return [f"{shown}: {problem}" for problem in error.problems]
    return []


class FaultInjector:
    """Watches lanes and lets each of their faults strike once, at what the task is working on then."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._pending: dict[int, list[Fault]] = {}
        self._contexts: dict[int, FaultContext] = {}
        self.strikes: dict[int, list[Strike]] = {}

    def arm(self, lane: int, faults: tuple[Fault, ...], context: FaultContext) -> None:
        """Have these faults injected into the lane's next episode."""
        self._pending[lane], self._contexts[lane], self.strikes[lane] = list(faults), context, []

    def __call__(self, lane: int, time_s: float, notification: Happening) -> None:
        """Observe a lane, and inject faults when their state begins."""
        if isinstance(notification, Targeted) and lane in self._contexts:
            self._contexts[lane].target = notification.name
        if isinstance(notification, Ended) and notification.about and lane in self._contexts:
            self._contexts[lane].spoken_of = str(notification.about)
        if not isinstance(notification, Entered):
            return
        for fault in [each for each in self._pending.get(lane, ()) if each.state == notification.state]:
            self._pending[lane].remove(fault)
            if find_fault(fault.name).at_once and not fault.delay_s:
                self.strike(lane, fault)
            else:
                self._executor.call(lane, fault.delay_s, lambda fault=fault: self.strike(lane, fault))

    def strike(self, lane: int, fault: Fault) -> Strike:
        """Let a fault strike now, whatever state the lane is in; returns when and at what, or why there was nothing."""
        kind, context = find_fault(fault.name), self._contexts[lane]
        context.aim()
        missed = kind.missing_in(context.scene) or kind.missing_now(context)
        t_s = self._executor.time_s(lane)
        strike = Strike(t_s=t_s, fault=str(fault), target=context.target, missed=missed)
        self.strikes[lane].append(strike)
        timed = kind.strike(context) if not missed else []
        effect = "" if missed else effect_of(timed, kind.description.rstrip("."))
        struck = "" if missed else kind.struck(context)
        self._executor.notify(lane, Struck(fault=fault.name, target=struck, effect=effect, missed=missed))
        for after_s, deed in timed:
            self._then(lane, after_s, deed, context)
        return strike

    def _then(self, lane: int, after_s: float, deed: Deed, context: FaultContext) -> None:
        def happen() -> None:
            self._executor.apply(lane, deed(context) if callable(deed) else deed)

        if after_s:
            self._executor.call(lane, after_s, happen)
        else:
            happen()
