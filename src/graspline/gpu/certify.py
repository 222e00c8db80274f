"""Certification: episodes of a GPU played again on the CPU, from their actions, and judged by what happens there.

Physics on a GPU is in single precision and not the same from run to run. What also works in double precision, where it
gives the same bits every time, can be trusted; the certified episode has the states, the hash and the truth of the CPU.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from graspline.engine.cpu import CpuEngine
from graspline.episodes.episode import HUNG, INTERRUPTED, Episode
from graspline.episodes.log import EpisodeLog, Replayed, replay_logs
from graspline.episodes.replay_outcome import ended_in
from graspline.evidence import passes

# Verdicts of episodes that came to no end of their own.
_BREAKDOWNS = ("physics_diverged", "crashed", HUNG, INTERRUPTED)


def has_broken_down(episode: Episode) -> bool:
    """Whether an episode came to no end of its own."""
    return episode.verdict in _BREAKDOWNS


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
