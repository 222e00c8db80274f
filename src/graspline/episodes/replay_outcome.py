"""How a log that was played again ended, and what the world did by itself in it: nothing acts in a replay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graspline.engine.actors import Actor
from graspline.engine.events import Event, Place
from graspline.engine.protocol import Engine
from graspline.episodes.log import EpisodeLog, Replayed
from graspline.episodes.snapshots import snapshot_of, truth_of
from graspline.evidence import Evidence
from graspline.parameters import Parameters
from graspline.scenes.scene import Scene
from graspline.tasks.task import Draw, Task

Array = NDArray[np.float64]


@runtime_checkable
class Bookkeeper(Protocol):
    """An actor whose accounts follow from events, whether it acts itself or is given them."""

    def note(self, event: Event, time_s: float, position_m: Callable[[str], Array]) -> None:
        """Enter an event into the books; `position_m` says where a body is right before it, in W."""
        ...


def actor_after(task: Task[Any], parameters: Parameters, scene: Scene, log: EpisodeLog, states: Array) -> Actor | None:
    """What acted in an episode, with the accounts it had at the end; None where nothing did.

    `states` (T + 1, nq) is where everything was at the start of each tick and at the end.
    """
    sampled = Draw(start=log.start, variation=log.variation, refused=0)
    # It has acted already: its randomness is not asked for any more.
    actor = task.actor(parameters, sampled, np.random.default_rng(0))
    if isinstance(actor, Bookkeeper):
        _reconstruct(actor, scene, log, states)
    return actor


def _reconstruct(actor: Bookkeeper, scene: Scene, log: EpisodeLog, states: Array) -> None:
    # Bodies that earlier events of the same tick have put elsewhere.
    placed: dict[tuple[int, str], Array] = {}
    for tick, event in log.events:

        def position_m(name: str, tick: int = tick) -> Array:
            at = scene.joint_address(name)
            return placed.get((tick, name), states[tick, at : at + 3])

        actor.note(event, tick * scene.robot.dt_s, position_m)
        if isinstance(event, Place):
            placed[tick, event.body] = np.array(event.position_m)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayEnd:
    """How a log that was played again ended: by truth, and held against the goal."""

    truth: dict[str, Any]
    goal: Evidence


def ended_in(engine: Engine, task: Task[Any], parameters: Parameters, log: EpisodeLog, replayed: Replayed) -> ReplayEnd:
    """Judge a log whose lane still stands as it ended."""
    sampled = Draw(start=log.start, variation=log.variation, refused=0)
    actor = actor_after(task, parameters, engine.scene, log, replayed.states)
    ended_s = log.ticks * engine.scene.robot.dt_s
    snapshot = snapshot_of(engine, replayed.lane, sampled, ended_s, actor, log.events)
    return ReplayEnd(truth=truth_of(snapshot), goal=task.goal(parameters, sampled, snapshot))
