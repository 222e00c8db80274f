"""Certification: episodes of a GPU played again on the CPU, from their actions, and judged by what happens there.

Physics on a GPU is in single precision and not the same from run to run. What also works in double precision, where it
gives the same bits every time, can be trusted; the certified episode has the states, the hash and the truth of the CPU.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from graspline.engine.cpu import CpuEngine
from graspline.engine.protocol import Engine
from graspline.episodes.accounts import actor_after
from graspline.episodes.episode import HUNG, INTERRUPTED, Episode
from graspline.episodes.log import EpisodeLog, Replayed, replay_logs
from graspline.episodes.snapshots import snapshot_of, truth_of
from graspline.evidence import Evidence, passes
from graspline.parameters import Parameters
from graspline.tasks.task import Draw, Task

# Verdicts of episodes that came to no end of their own.
_BREAKDOWNS = ("physics_diverged", "crashed", HUNG, INTERRUPTED)


def has_broken_down(episode: Episode) -> bool:
    """Whether an episode came to no end of its own."""
    return episode.verdict in _BREAKDOWNS


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a log that was played again ended: by truth, and held against the goal."""

    truth: dict[str, Any]
    goal: Evidence


def ended_in(engine: Engine, task: Task[Any], parameters: Parameters, log: EpisodeLog, replayed: Replayed) -> End:
    """Judge a log whose lane still stands as it ended."""
    sampled = Draw(start=log.start, variation=log.variation, refused=0)
    actor = actor_after(task, parameters, engine.scene, log, replayed.states)
    ended_s = log.ticks * engine.scene.robot.dt_s
    snapshot = snapshot_of(engine, replayed.lane, sampled, ended_s, actor, log.events)
    return End(truth=truth_of(snapshot), goal=task.goal(parameters, sampled, snapshot))


def certified(
    episodes: Iterable[Episode], engine: CpuEngine, stop: Callable[[], bool] = lambda: False
) -> Iterator[Episode]:
    """Play episodes of one scene again on this engine; each comes when it is finished, in no order.

    Certified is an episode that ends there as its verdict says: a success at its goal, anything else not; it then has
    the CPU's states and truth. What broke down or has no log comes back as it is; when `stop` turns true, so does what
    has not begun.
    """
    numbers, playing, passed = itertools.count(), dict[int, Episode](), list[Episode]()

    def logs() -> Iterator[EpisodeLog]:
        for episode in episodes:
            if stop() or not episode.log.ticks or has_broken_down(episode):
                passed.append(episode)
                continue
            playing[next(numbers)] = episode
            yield episode.log

    for replayed in replay_logs(engine, logs()):
        yield _certified(engine, playing.pop(replayed.number), replayed)
        yield from passed
        passed.clear()
    yield from passed


def _certified(engine: CpuEngine, episode: Episode, replayed: Replayed) -> Episode:
    scenario, log = episode.scenario, episode.log
    end = ended_in(engine, scenario.task, scenario.parameters, log, replayed)
    if passes(end.goal) != episode.succeeded:
        return replace(episode, certified=False)
    return replace(
        episode,
        state_hash=replayed.state_hash,
        truth=end.truth,
        goal_by_truth=end.goal,
        log=replace(log, states=replayed.states[1:] if len(log.states) else log.states),
        certified=True,
    )
