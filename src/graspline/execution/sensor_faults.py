"""What is wrong with the eyes of each lane: dark, frozen, noisy, rough or late.

Nothing is, and it costs nothing, unless an event says so. Everything that answers a look asks here first: the executor
for the `truth` estimator and for watched objects, a camera for its pictures.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Blind, Event, Misjudge, Roughen, See
from graspline.engine.protocol import Engine

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Glimpse:
    """One instant as eyes may see it: truth, the coordinates a picture is rendered from, and when that was."""

    truth: Array
    qpos: Array
    time_s: float


_SOUND = Roughen()


@dataclass(slots=True)
class _Trouble:
    # By camera; the empty name stands for all eyes.
    black: set[str] = field(default_factory=set)
    frozen: dict[str, Glimpse] = field(default_factory=dict)
    rough: dict[str, Roughen] = field(default_factory=dict)
    sigma_m: float = 0.0
    random: np.random.Generator | None = None
    # Instants from the oldest that may still be asked for to now; empty unless late.
    past: deque[Glimpse] = field(default_factory=deque)


class Eyesight:
    """The eyes of every lane of an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._troubles: dict[int, _Trouble] = {}
        columns = engine.layout.truth
        self._positions = [columns[name] for name in columns if name.endswith(".position")]
        # Lanes whose past has to be remembered tick by tick.
        self.late: set[int] = set()

    def heal(self, lane: int) -> None:
        """End all faults of a lane's cameras."""
        self._troubles.pop(lane, None)
        self.late.discard(lane)

    def apply(self, lane: int, event: Event) -> None:
        """Apply an event that affects cameras."""
        match event:
            case See():
                self.heal(lane)
            case Blind(kind="black"):
                self._trouble(lane).black.add(event.camera)
            case Blind():
                self._trouble(lane).frozen[event.camera] = self._now(lane)
            case Misjudge():
                self._misjudge(lane, event)
            case Roughen():
                self._trouble(lane).rough[event.camera] = event
            case _:
                pass

    def remember(self, moved: Container[int]) -> None:
        """Keep this tick, of the lanes that it moved, where it will be seen late."""
        for lane in self.late:
            if lane in moved:
                self._troubles[lane].past.append(self._now(lane))

    def truth(self, lane: int) -> Array | None:
        """This lane's row of truth as its estimator has it, not to be written to; None if it sees nothing."""
        trouble = self._troubles.get(lane)
        if trouble is None:
            return self._engine.truth[lane]
        glimpse = self._glimpse(lane, trouble, "")
        if glimpse is None or not trouble.sigma_m:
            return None if glimpse is None else glimpse.truth
        row = glimpse.truth.copy()
        for columns in self._positions:
            row[columns] += self._error_m(trouble)
        return row

    def picture(self, lane: int, camera: str) -> tuple[Array | None, Array]:
        """What a camera's image is rendered from, None if it is black, and the error of the camera's own place (m)."""
        trouble = self._troubles.get(lane)
        if trouble is None:
            return self._engine.qpos[lane], np.zeros(3)
        glimpse = self._glimpse(lane, trouble, camera)
        return None if glimpse is None else glimpse.qpos, self._error_m(trouble)

    def roughness(self, lane: int, camera: str) -> Roughen:
        """How much worse than usual a camera measures depth."""
        trouble = self._troubles.get(lane)
        return _SOUND if trouble is None else trouble.rough.get(camera) or trouble.rough.get("") or _SOUND

    def seen_s(self, lane: int, camera: str) -> float:
        """When it was as a camera shows it now, in simulated time since the lane's start."""
        trouble = self._troubles.get(lane)
        glimpse = None if trouble is None else self._glimpse(lane, trouble, camera)
        return self._time_s(lane) if glimpse is None else glimpse.time_s

    def _glimpse(self, lane: int, trouble: _Trouble, camera: str) -> Glimpse | None:
        if trouble.black & {"", camera}:
            return None
        frozen = trouble.frozen.get(camera) or trouble.frozen.get("")
        if frozen is not None:
            return frozen
        return trouble.past[0] if trouble.past else self._now(lane)

    def _misjudge(self, lane: int, event: Misjudge) -> None:
        trouble = self._trouble(lane)
        trouble.sigma_m, trouble.random = event.sigma_m, np.random.default_rng(event.seed)
        ticks = _delay_ticks(event, self._engine.scene.robot.control_hz)
        trouble.past.clear()
        self.late.discard(lane)
        if ticks:
            # Before the delay has passed once, what is seen is the moment it began.
            trouble.past = deque([self._now(lane)], maxlen=ticks + 1)
            self.late.add(lane)

    def _trouble(self, lane: int) -> _Trouble:
        return self._troubles.setdefault(lane, _Trouble())

    def _now(self, lane: int) -> Glimpse:
        engine = self._engine
        return Glimpse(truth=engine.truth[lane].copy(), qpos=engine.qpos[lane].copy(), time_s=self._time_s(lane))

    def _time_s(self, lane: int) -> float:
        # Time comes first in MuJoCo's integration state.
        return float(self._engine.state(lane)[0])

    @staticmethod
    def _error_m(trouble: _Trouble) -> Array:
        if trouble.random is None or not trouble.sigma_m:
            return np.zeros(3)
        return trouble.random.normal(0.0, trouble.sigma_m, 3)


def shown_tick(events: Sequence[tuple[int, Event]], tick: int, camera: str, control_hz: int) -> int | None:
    """For images rendered from a log: after which tick's end a camera's image at `tick` shows; None if it is black."""
    black = False
    # Since when this camera, and all, are frozen; since when all are late, and by how many ticks.
    frozen: dict[str, int] = {}
    late = 0, 0
    for when, event in events:
        if when > tick:
            break
        # What could be seen as the event struck is the end of the tick before.
        before = max(when - 1, 0)
        match event:
            case See():
                black, frozen, late = False, {}, (0, 0)
            case Blind(kind="black"):
                black |= event.camera in ("", camera)
            case Blind():
                frozen[event.camera] = before
            case Misjudge():
                late = before, _delay_ticks(event, control_hz)
            case _:
                pass
    if black:
        return None
    since, delay_ticks = late
    # As in `_glimpse`: eyes that freeze do so at once, however late they are.
    return frozen.get(camera, frozen.get("", max(tick - delay_ticks, since) if delay_ticks else tick))


def _delay_ticks(event: Misjudge, control_hz: int) -> int:
    return round(event.delay_s * control_hz)
