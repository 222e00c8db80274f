"""Prints events as they happen, line by line: `run --log info|debug`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Literal

from graspline.engine.protocol import Engine
from graspline.episodes.event_text import words_of
from graspline.evidence import Evidence, failures
from graspline.execution.notifications import Answered, Applied, Ended, Entered, Finished, Happening, Noticed, Struck
from graspline.wording import quantity

Level = Literal["info", "debug"]

# Endings of names, and the unit they stand for.
_UNITS = {"_m_s": "m/s", "_rad_s": "rad/s", "_m": "m", "_s": "s", "_rad": "rad", "_n": "N", "_kg": "kg"}
# How often the hand's height is printed.
_EVERY_S = 0.5
# The same refusal is printed once in this time.
_REPEAT_S = 1.0


class Narrator:
    """An observer of lanes, and of the engine after each tick."""

    def __init__(self, level: Level, say: Callable[[str], None], vertical: Collection[str] = ()) -> None:
        """In the `vertical` states, by their paths, the hand's height is printed."""
        self._vertical = vertical
        self._debug = level == "debug"
        self._say = say
        self._state: dict[int, str] = {}
        self._now_s: dict[int, float] = {}
        self._reported_s: dict[int, float] = {}
        self._refused_s: dict[tuple[int, str], float] = {}

    def __call__(self, lane: int, time_s: float, notification: Happening) -> None:
        """Log a notification."""
        self._now_s[lane] = time_s
        match notification:
            case Entered():
                self._state[lane] = notification.state
                self._reported_s[lane] = time_s - _EVERY_S
                self._line(lane, time_s, f"{notification.state} …")
            case Ended():
                self._ended(lane, time_s, notification)
            case Noticed() if self._debug or not notification.detail:
                known = {name: value for name, value in notification.facts.items() if not _is_nan(value)}
                facts = ", ".join(_fact(name, value) for name, value in known.items())
                self._line(
                    lane, time_s, f"{notification.what} {notification.about}: {facts}{_shown(notification.evidence)}"
                )
            case Answered():
                self._line(lane, time_s, f"{notification.question} {notification.answer} (by {notification.by})")
            case Struck():
                self._line(lane, time_s, _injected(notification))
            case Applied() if self._debug:
                self._line(lane, time_s, f"scene: {words_of(notification.event)}")
            case Finished():
                self._state.pop(lane, None)
                for key in [key for key in self._refused_s if key[0] == lane]:
                    del self._refused_s[key]
            case _:
                pass

    def after_tick(self, engine: Engine) -> None:
        """Heights of hands that go down or up."""
        columns, dt_s = engine.layout.readings["tool_position"], engine.scene.robot.dt_s
        for lane, state in self._state.items():
            self._now_s[lane] += dt_s
            if state in self._vertical and self._now_s[lane] - self._reported_s[lane] >= _EVERY_S - 1e-9:
                self._reported_s[lane] = self._now_s[lane]
                height = float(engine.readings[lane, columns][2])
                self._line(lane, self._now_s[lane], f"{state}: height {1000 * height:.0f} mm")

    def _ended(self, lane: int, time_s: float, ended: Ended) -> None:
        missed = "; ".join(str(each) for each in failures(ended.evidence) if not each.absent)
        line = f"{ended.state}: {ended.outcome}" + (f" {ended.about}" if ended.about else "")
        if missed:
            last = self._refused_s.get((lane, line), -_REPEAT_S)
            if time_s - last < _REPEAT_S:
                return
            self._refused_s[lane, line] = time_s
            line += f" ({missed})"
        self._line(lane, time_s, f"{line} → {ended.then}")

    def _line(self, lane: int, time_s: float, text: str) -> None:
        self._say(f"lane {lane} {time_s:7.2f} s  {text}")


def _fact(name: str, value: object) -> str:
    """A named value; the unit at the end of its name becomes one that people read."""
    for ending, unit in _UNITS.items():
        if name.endswith(ending):
            return f"{name.removesuffix(ending)} {_text(value, unit)}"
    return f"{name} {_text(value, '')}"


def _text(value: object, unit: str) -> str:
    if isinstance(value, tuple | list):
        if unit == "m":
            return f"({', '.join(f'{1000 * each:z.0f}' for each in value)}) mm"
        return "(" + ", ".join(_text(each, unit) for each in value) + ")"
    return quantity(value, unit) if isinstance(value, float) else str(value)


def _shown(evidence: Evidence) -> str:
    return "".join(f"; {'✓' if each.passed else '✗'} {each}" for each in evidence if not each.absent)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _injected(struck: Struck) -> str:
    if struck.missed:
        return f"fault {struck.fault} not injected: {struck.missed}"
    return f"fault {struck.fault}" + (f" on {struck.target}" if struck.target else "") + f": {struck.effect}"
