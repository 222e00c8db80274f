"""An episode's log: its start, its reference and its events are enough to play it again, bit for bit."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Event
from graspline.engine.protocol import Engine
from graspline.execution.track import Track
from graspline.motion.path import controls_of
from graspline.scenes.variation import Variation

Array = NDArray[np.float64]


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

    @property
    def ticks(self) -> int:
        return max(len(self.positions) - 1, 0)


def log_of(track: Track) -> EpisodeLog:
    positions, velocities = track.reference()
    return EpisodeLog(
        start=track.start,
        variation=track.variation,
        positions=positions,
        velocities=velocities,
        events=tuple(track.events),
        states=track.states,
    )


def state_hash(log: EpisodeLog, final_state: Array) -> str:
    """A fingerprint of the whole episode: what was commanded, and the full integration state it led to."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (log.start, log.positions, log.velocities, final_state):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def replay_log(engine: Engine, log: EpisodeLog) -> str:
    """Play a log again in lane 0 of an engine, without machine, picture or person; returns its hash."""
    controls = controls_of(engine.scene.robot, log.positions[:-1], log.velocities[:-1])
    lanes = np.zeros(1, np.intp)
    engine.reset(0, log.start, log.variation)
    for tick in range(log.ticks):
        for when, event in log.events:
            if when == tick:
                engine.apply(0, event)
        engine.step(controls[tick : tick + 1], lanes)
    return state_hash(log, engine.state(0))
