"""A person that takes what is held out: an actor of the world that pulls by force alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graspline.engine.actors import Account, LaneView, Manner
from graspline.engine.events import Change, Event, Place, Push
from graspline.scenes.person import PERSON, PERSON_PARKED_M
from graspline.scenes.variation import weight_of

Array = NDArray[np.float64]

# Where things are taken: around this point in W.
TAKEN_AT_M = (0.08, -0.85, 0.95)
_NEAR_M = 0.35
# A thing this slow, m/s, is held out.
_STILL_M_S = 0.02
_RAMP_S, _KEEP_S = 0.25, 1.5
# A thing that has come so far along is in the person's hand.
_FREE_M = 0.04
# One that is so far from where it was held out is in no hand.
_LOST_M = 0.6
# How firmly a taken thing is held, and where it is kept afterwards: out of the robot's way, in W.
_STIFF_N_M, _DAMP_N_S_M, _MOST_N = 120.0, 12.0, 40.0
_PULLED_AWAY_M = 0.18
_KEPT_M = (0.6, -2.4, 0.8)
_KEPT_APART_M = 0.25
_GRAVITY = 9.81


@dataclass(slots=True)
class Person:
    """Waits for something to be held out, reaches for it, pulls until it comes, and keeps it."""

    names: tuple[str, ...]
    masses_kg: dict[str, float]
    # For each thing in turn: how long after it is held out, how hard, and along which way from the robot.
    waits_s: tuple[float, ...]
    pulls_n: tuple[float, ...]
    period_s: float = 1 / 60
    # Of taking the next thing; the others are taken as usual.
    manner: Manner = field(default_factory=Manner)
    kept: list[str] = field(default_factory=list)
    _last: dict[str, Array] = field(default_factory=dict)
    _last_s: float = 0.0
    _target: str = ""
    _since_s: float = 0.0
    _from_m: Array = field(default_factory=lambda: np.zeros(3))
    _free_s: float = np.inf

    def act(self, world: LaneView) -> Sequence[Event]:
        """Events of the next moment: the pull of the person's hand."""
        at = {name: world.position_m(name) for name in self.names}
        lasted_s = world.time_s - self._last_s
        speeds = {name: (at[name] - self._last.get(name, at[name])) / max(lasted_s, 1e-6) for name in at}
        self._last, self._last_s = at, world.time_s
        if self._target and (self._turns_away(world.time_s) or self._apart_m(at) > _LOST_M):
            return self._leave()
        if self._target:
            return self._take(world.time_s, at[self._target], speeds[self._target])
        for name, place in at.items() if not self.manner.away else ():
            near = np.linalg.norm(place - TAKEN_AT_M) < _NEAR_M
            if near and np.linalg.norm(speeds[name]) < _STILL_M_S and len(self.kept) < len(self.waits_s):
                self._target, self._since_s, self._from_m, self._free_s = name, world.time_s, place, np.inf
                break
        return ()

    def _turns_away(self, time_s: float) -> bool:
        """Whether the person leaves before touching the thing."""
        return self.manner.away and time_s - self._since_s < self.waits_s[len(self.kept)]

    def _apart_m(self, at_m: dict[str, Array]) -> float:
        """How far the thing has come from where it was held out."""
        return float(np.linalg.norm(at_m[self._target] - self._from_m))

    def _take(self, time_s: float, at_m: Array, speed_m_s: Array) -> Sequence[Event]:
        """One moment of taking the thing that is held out."""
        number = len(self.kept)
        waited_s = time_s - self._since_s
        begins_s = self.waits_s[number]
        if waited_s < begins_s:
            if np.linalg.norm(at_m - self._from_m) > _FREE_M:
                # It was not offered to a person yet.
                self._target = ""
            return self._hand(at_m, waited_s / max(begins_s, 1e-6))
        if not np.isfinite(self._free_s):
            if np.linalg.norm(at_m - self._from_m) <= _FREE_M:
                pull = self._pull_n(self.pulls_n[number], waited_s - begins_s)
                return (*self._hand(at_m, 1.0), self._push(pull * self._away()))
            self._free_s = time_s
        if time_s - self._free_s > _KEEP_S:
            return self._keep()
        goal = self._from_m + _PULLED_AWAY_M * self._away()
        force = _STIFF_N_M * (goal - at_m) - _DAMP_N_S_M * speed_m_s
        force[2] += self.masses_kg[self._target] * _GRAVITY
        strong = float(np.linalg.norm(force))
        return (*self._hand(at_m, 1.0), self._push(force * min(1.0, _MOST_N / max(strong, 1e-9))))

    def _pull_n(self, usual_n: float, for_s: float) -> float:
        """How hard a thing is pulled by now."""
        first = for_s < self.manner.first_s
        begun_s = for_s if first else for_s - self.manner.first_s
        return (self.manner.first_n if first else usual_n) * min(begun_s / _RAMP_S, 1.0)

    def _away(self) -> Array:
        """From the robot, which stands at y = -0.2 and looks along -y."""
        return np.array([0.0, -1.0, 0.0])

    def _push(self, force_n: Array) -> Push:
        x, y, z = force_n.tolist()
        return Push(body=self._target, force_n=(x, y, z))

    def _hand(self, thing_m: Array, share: float) -> tuple[Event, ...]:
        """The hand comes up from behind the thing and stays with it."""
        away = 0.09 + 0.35 * (1 - min(share, 1.0))
        x, y, z = (thing_m + np.array([0.0, -away, -0.02])).tolist()
        # Fingers towards the robot, the palm to the side.
        return (Place(body=PERSON, position_m=(x, y, z), quaternion=(0.5, 0.5, 0.5, 0.5)),)

    def _keep(self) -> Sequence[Event]:
        name, (x, y, z) = self._target, _KEPT_M
        place = Place(body=name, position_m=(x + _KEPT_APART_M * len(self.kept), y, z))
        self.kept.append(name)
        self.manner = Manner(away=self.manner.away)
        let, gone = self._leave()
        return (let, Change(edits=(weight_of(name, weightless=True),)), place, gone)

    def _leave(self) -> tuple[Event, Event]:
        """Let go, and take the hand away."""
        let = Push(body=self._target, force_n=(0.0, 0.0, 0.0))
        self._target = ""
        return (let, Place(body=PERSON, position_m=PERSON_PARKED_M))

    def accounts(self, world: LaneView) -> tuple[Account, ...]:
        """No accounts."""
        return ()


def is_with_person(position_m: Array) -> bool:
    """Whether a thing at a place in W has been taken: kept, or in the person's hand."""
    kept = position_m[1] < _KEPT_M[1] + 0.2 and position_m[2] > 0.5
    return bool(kept or np.linalg.norm(position_m - (np.array(TAKEN_AT_M) - [0.0, _PULLED_AWAY_M, 0.0])) < _NEAR_M)
