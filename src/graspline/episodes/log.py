"""An episode's log: its start, its reference and its events are enough to play it again, bit for bit."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Change, Event
from graspline.engine.protocol import Engine
from graspline.execution.lane_recording import LaneRecording
from graspline.motion.path import controls_of
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation

Array = NDArray[np.float64]

_SPEED = "geom_surfacevel"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeLog:
    """The reference at the start of each tick and at the end, (T + 1, nu); events with the tick they struck before."""

    start: Array
    variation: Variation
    positions: Array
    velocities: Array
    events: tuple[tuple[int, Event], ...]
    # qpos after each tick, for pictures; empty unless recorded.
    states: Array
    # Where the arm was pushed off its path, positions are what was executed. This is what was intended meanwhile,
    # (T + 1, nu), and at which rows the arm was off its path, (T + 1,); both empty if it never was.
    intended: Array = field(default_factory=lambda: np.zeros((0, 0)))
    off: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))

    @property
    def ticks(self) -> int:
        """The number of control steps."""
        return max(len(self.positions) - 1, 0)

    @property
    def intention(self) -> Array:
        """What was intended at each row, (T + 1, nu): the reference, unless the arm was pushed off its path."""
        return self.intended if len(self.intended) else self.positions

    def seen_at(self, tick: int) -> Variation:
        """The variation as cameras have it after this tick: lights may have been changed."""
        changes = (event for when, event in self.events if when <= tick and isinstance(event, Change))
        return self.variation.seen_after(edit for change in changes for edit in change.edits)

    def travelled_m(self, tick: int, scene: Scene) -> dict[str, tuple[float, float, float]]:
        """How far each surface that moves by itself has gone from the start to the end of this tick.

        By the geom's name, in its own frame.
        """
        moving = {edit.element for edit in self.variation.edits if edit.field == _SPEED}
        speeds = {name: self.variation.values(scene.model, _SPEED, name)[:3] for name in moving}
        gone, since = {name: np.zeros(3) for name in moving}, 0

        def go_on(until: int) -> None:
            for name in moving:
                gone[name] += np.array(speeds[name]) * (until - since) * scene.robot.dt_s

        for when, event in self.events:
            if when > tick:
                break
            changed = [edit for edit in event.edits if edit.field == _SPEED] if isinstance(event, Change) else []
            if changed:
                go_on(when)
                since = when
                speeds |= {edit.element: edit.values[:3] for edit in changed if edit.element in moving}
        go_on(tick + 1)
        return {name: (float(x), float(y), float(z)) for name, (x, y, z) in gone.items()}


def log_of(track: LaneRecording) -> EpisodeLog:
    """The log of what a lane played."""
    positions, velocities = track.reference()
    intended, off = track.intention()
    return EpisodeLog(
        start=track.start,
        variation=track.variation,
        positions=positions,
        velocities=velocities,
        events=tuple(track.events),
        states=track.states,
        intended=intended,
        off=off,
    )


def state_hash(log: EpisodeLog, final_state: Array) -> str:
    """A fingerprint of the whole episode: what was commanded, and the full integration state it led to."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (log.start, log.positions, log.velocities, final_state):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A log that was played again, and where that led."""

    # Which of the logs it is, and the lane it was played in.
    number: int
    lane: int
    state_hash: str
    # qpos at the start of each tick and at the end, (T + 1, nq).
    states: Array


class Follower(Protocol):
    """Follows one log as it is played again in a lane."""

    def before(self, lane: int, tick: int, event: Event) -> None:
        """An event is about to strike, before this tick."""
        ...

    def after(self, lane: int, ticks: int) -> None:
        """This many ticks have been played; none after the first events."""
        ...


def replay_log(engine: Engine, log: EpisodeLog) -> str:
    """Play a log again; returns its hash."""
    (replayed,) = replay_logs(engine, [log])
    return replayed.state_hash


def replay_logs(
    engine: Engine, logs: Iterable[EpisodeLog], follower: Callable[[int], Follower] | None = None
) -> Iterator[Replayed]:
    """Play logs again, without machine, picture or person, as many at once as there are lanes.

    Yields each when it ends; until the next is asked for, its lane stays as it ended. `follower` gives what follows a
    log, by its number.
    """
    waiting = iter(enumerate(logs))
    playing: dict[int, _Rerun] = {}
    while True:
        for lane in (lane for lane in range(engine.count) if lane not in playing):
            for number, log in itertools.islice(waiting, 1):
                playing[lane] = _Rerun(engine, lane, number, log, None if follower is None else follower(number))
        ended = [rerun for rerun in playing.values() if rerun.ended]
        for rerun in ended:
            del playing[rerun.lane]
            yield rerun.result()
        if playing and not ended:
            lanes = np.array(sorted(playing), np.intp)
            controls = np.stack([playing[lane].next_control() for lane in lanes.tolist()])
            engine.step(controls, lanes)
            for rerun in playing.values():
                rerun.note()
        elif not ended:
            return


class _Rerun:
    """One log on its way through a lane."""

    def __init__(self, engine: Engine, lane: int, number: int, log: EpisodeLog, follower: Follower | None) -> None:
        self.lane, self._number, self._log, self._engine = lane, number, log, engine
        self._controls = controls_of(engine.scene.robot, log.positions, log.velocities)
        self._events: dict[int, list[Event]] = {}
        for tick, event in log.events:
            self._events.setdefault(tick, []).append(event)
        self._states = np.empty((log.ticks + 1, len(log.start)))
        self._tick, self._follower = 0, follower
        engine.reset(lane, log.start, log.variation)
        self._states[0] = log.start

    @property
    def ended(self) -> bool:
        return self._tick == self._log.ticks

    def next_control(self) -> Array:
        """Let strike what struck before this tick; returns the tick's control."""
        for event in self._events.get(self._tick, ()):
            if self._follower is not None:
                self._follower.before(self.lane, self._tick, event)
            self._engine.apply(self.lane, event)
        if self._follower is not None and not self._tick:
            self._follower.after(self.lane, 0)
        return self._controls[self._tick]

    def note(self) -> None:
        self._tick += 1
        self._states[self._tick] = self._engine.qpos[self.lane]
        if self._follower is not None:
            self._follower.after(self.lane, self._tick)

    def result(self) -> Replayed:
        final = self._engine.state(self.lane)
        return Replayed(
            number=self._number, lane=self.lane, state_hash=state_hash(self._log, final), states=self._states
        )
