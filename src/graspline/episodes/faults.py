"""Faults on purpose: named, tied to a state, with a delay, seeded. Product code, not test code.

A fault is an observer that turns the entry of a state into events of the world; `mishaps` says which.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from graspline.episodes import mishaps, room_mishaps
from graspline.episodes.context import Context, Deed, Timed, has_belt, has_room
from graspline.episodes.event_words import effect_of
from graspline.errors import InputError, nearest
from graspline.execution.executor import Executor
from graspline.execution.happenings import Ended, Entered, Happening, Struck, Targeted
from graspline.parameters.notation import printable
from graspline.scenes.scene import Scene

# What there must be for a fault to make sense.
Need = Literal["object", "standing", "grip", "place", "strangers", "belt", "eyes", "person", "nothing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """What a fault does when it strikes, and what it needs: an object, something in the hand, a plate, a belt.

    Some happen only in a room with furniture; `hindered` says why one cannot be done at this moment.
    """

    strike: Callable[[Context], list[Timed]]
    needs: Need = "nothing"
    indoors: bool = False
    hindered: Callable[[Context], str] = lambda context: ""

    @property
    def about(self) -> str:
        return (self.strike.__doc__ or "").strip()


def _indoors(
    strike: Callable[[Context], list[Timed]],
    needs: Need = "nothing",
    hindered: Callable[[Context], str] = lambda context: "",
) -> FaultKind:
    return FaultKind(strike=strike, needs=needs, indoors=True, hindered=hindered)


FAULTS: dict[str, FaultKind] = {
    "drop": FaultKind(strike=mishaps.drop, needs="grip"),
    "shove": FaultKind(strike=mishaps.shove, needs="object"),
    "remove": FaultKind(strike=mishaps.remove, needs="object"),
    "move-plate": FaultKind(strike=mishaps.move_plate, needs="place"),
    "plate-away": FaultKind(strike=mishaps.plate_away, needs="place"),
    "plate-full": FaultKind(strike=mishaps.plate_full, needs="strangers"),
    "weaken": FaultKind(strike=mishaps.weaken),
    "jam": FaultKind(strike=mishaps.jam),
    "stuck-jaw": FaultKind(strike=mishaps.stuck_jaw),
    "slippery": FaultKind(strike=mishaps.slippery),
    "belt-step": FaultKind(strike=mishaps.belt_step, needs="belt"),
    "belt-jam": FaultKind(strike=mishaps.belt_jam, needs="belt"),
    "belt-reverse": FaultKind(strike=mishaps.belt_reverse, needs="belt"),
    "blackout": FaultKind(strike=mishaps.blackout, needs="eyes"),
    "freeze": FaultKind(strike=mishaps.freeze, needs="eyes"),
    "noise": FaultKind(strike=mishaps.noise, needs="eyes"),
    "delay": FaultKind(strike=mishaps.delay, needs="eyes"),
    "lighting": FaultKind(strike=mishaps.lighting, needs="eyes"),
    "nan-control": FaultKind(strike=mishaps.nan_control),
    "shift": _indoors(room_mishaps.shift, "standing", room_mishaps.no_room_to_shift),
    "occlude": _indoors(room_mishaps.occlude, "standing", room_mishaps.nothing_to_hide_with),
    "board-full": _indoors(room_mishaps.board_full, "object"),
    "base-slip": _indoors(room_mishaps.base_slip),
    "depth-noise": _indoors(room_mishaps.depth_noise, "eyes"),
    "depth-holes": _indoors(room_mishaps.depth_holes, "eyes"),
    "bump": _indoors(room_mishaps.bump, "grip"),
    "no-person": _indoors(room_mishaps.no_person, "person", room_mishaps.nobody_there),
    "soft-pull": _indoors(room_mishaps.soft_pull, "person", room_mishaps.nobody_there),
    "push-back": _indoors(room_mishaps.push_back, "person", room_mishaps.nobody_there),
}


_TARGETED: tuple[Need, ...] = ("object", "standing", "grip")


def missing_in_scene(kind: FaultKind, scene: Scene) -> str:
    """Why a fault can never strike in a scene; nothing if it can."""
    if kind.needs in ("place", "strangers") and not scene.places:
        return "the scene has no plate"
    if kind.needs == "belt" and not has_belt(scene):
        return "the scene has no belt"
    if kind.indoors and not has_room(scene):
        return "the scene has no furniture"
    if kind.needs == "strangers" and not any(name.startswith(mishaps.STRANGER) for name in scene.object_names):
        return f"the scene has no objects named {mishaps.STRANGER}…"
    return ""


def missing_now(kind: FaultKind, context: Context) -> str:
    """Why there is nothing to strike at this moment; nothing if there is."""
    if kind.needs == "grip" and not context.pressed():
        return "nothing in the hand"
    if kind.needs in _TARGETED and not context.target:
        return "no object is there"
    if kind.needs in _TARGETED and not context.is_here(context.target):
        return f"{context.target} is not on the table"
    if kind.needs in ("place", "strangers") and not context.is_here(context.place().name):
        return "the plate is not on the table"
    return kind.hindered(context)


def _struck(kind: FaultKind, context: Context) -> str:
    """What a fault strikes at, if it strikes at one thing."""
    if kind.needs in _TARGETED:
        return context.target
    return context.place().name if kind.needs in ("place", "strangers") else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """`name@state+delay`: strikes once, this long after the state is first entered."""

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


def parse_faults(texts: Iterable[str], states: Iterable[str], option: str = "--fault") -> tuple[Fault, ...]:
    """Read `drop@lift` or `drop@lift+0.2`; all mistakes at once."""
    known, found, problems = tuple(states), [], []
    for text in texts:
        shown = printable(text)
        match = re.fullmatch(r"([^@+]+)@([^@+]+)(?:\+([0-9]*\.?[0-9]+))?", text)
        if match is None:
            problems.append(f"{option} {shown}: expected NAME@STATE or NAME@STATE+SECONDS, such as drop@lift+0.2")
            continue
        name, state, delay = match.groups()
        if name not in FAULTS:
            problems.append(f"{option} {shown}: unknown fault {name!r}; {nearest(name, FAULTS)}")
        if state not in known:
            problems.append(f"{option} {shown}: unknown state {state!r}; {nearest(state, known)}")
        if delay is not None and not float(delay) <= 60:
            problems.append(f"{option} {shown}: a delay of {delay} s is above 60 s")
        found.append(Fault(name=name, state=state, delay_s=float(delay or 0)))
    if problems:
        raise InputError(problems)
    return tuple(found)


class FaultInjector:
    """Watches lanes and lets each of their faults strike once, at what the task is working on then."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._pending: dict[int, list[Fault]] = {}
        self._contexts: dict[int, Context] = {}
        self.strikes: dict[int, list[Strike]] = {}

    def arm(self, lane: int, faults: tuple[Fault, ...], context: Context) -> None:
        self._pending[lane], self._contexts[lane], self.strikes[lane] = list(faults), context, []

    def __call__(self, lane: int, time_s: float, happening: Happening) -> None:
        if isinstance(happening, Targeted) and lane in self._contexts:
            self._contexts[lane].target = happening.name
        if isinstance(happening, Ended) and happening.about and lane in self._contexts:
            self._contexts[lane].spoken_of = happening.about
        if not isinstance(happening, Entered):
            return
        for fault in [each for each in self._pending.get(lane, ()) if each.state == happening.state]:
            self._pending[lane].remove(fault)
            kind = FAULTS[fault.name]
            if (kind.needs == "eyes" or kind.indoors) and not fault.delay_s:
                # A state may look at once, before the next tick.
                self.strike(lane, fault)
            else:
                self._executor.call(lane, fault.delay_s, lambda fault=fault: self.strike(lane, fault))

    def strike(self, lane: int, fault: Fault) -> Strike:
        """Let a fault strike now, whatever state the lane is in; returns when and at what, or why there was nothing."""
        kind, context = FAULTS[fault.name], self._contexts[lane]
        context.aim()
        missed = missing_in_scene(kind, context.engine.scene) or missing_now(kind, context)
        t_s = self._executor.time_s(lane)
        strike = Strike(t_s=t_s, fault=str(fault), target=context.target, missed=missed)
        self.strikes[lane].append(strike)
        timed = kind.strike(context) if not missed else []
        effect = "" if missed else effect_of(timed, kind.about.rstrip("."))
        struck = "" if missed else _struck(kind, context)
        self._executor.tell(lane, Struck(fault=fault.name, target=struck, effect=effect, missed=missed))
        for after_s, deed in timed:
            self._then(lane, after_s, deed, context)
        return strike

    def _then(self, lane: int, after_s: float, deed: Deed, context: Context) -> None:
        def happen() -> None:
            self._executor.apply(lane, deed(context) if callable(deed) else deed)

        if after_s:
            self._executor.call(lane, after_s, happen)
        else:
            happen()
