"""Certification of a policy's episodes: played again on the CPU from their logs, and judged there frame by frame.

A GPU's physics is in single precision and not the same from run to run. The CPU plays the same actions and events with
the same bits every time; success is what the referee finds there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Event
from graspline.envs.interface import Array, Interface
from graspline.episodes.episode import POLICY_ERROR, Episode
from graspline.episodes.log import EpisodeLog, Replayed, replay_logs
from graspline.episodes.replay_outcome import Bookkeeper, ended_in
from graspline.episodes.snapshots import snapshot_of
from graspline.episodes.success_by_truth import Referee
from graspline.gpu.certify import has_broken_down


def certified_by_frames(
    episodes: Iterable[Episode], engine: CpuEngine, interface: Interface, stop: Callable[[], bool] = lambda: False
) -> Iterator[Episode]:
    """Play a policy's episodes of one scene again on this engine; each comes when it is finished, in no order.

    Certified is an episode that succeeds there as well, or fails there as well; it then has the CPU's hash, states and
    truth. What broke down comes back as it is; when `stop` turns true, so does what has not begun.
    """
    numbers, playing, passed = itertools.count(), dict[int, tuple[Episode, _Judged]](), list[Episode]()

    def logs() -> Iterator[EpisodeLog]:
        for episode in episodes:
            if stop() or not episode.log.ticks or episode.verdict == POLICY_ERROR or has_broken_down(episode):
                passed.append(episode)
                continue
            playing[next(numbers)] = episode, _Judged(episode, engine, interface.ticks_per_frame)
            yield episode.log

    for replayed in replay_logs(engine, logs(), lambda number: playing[number][1]):
        episode, judged = playing.pop(replayed.number)
        yield _certified(engine, episode, judged, replayed)
        yield from passed
        passed.clear()
    yield from passed


class _Judged:
    """Judges one episode as it is played again, at the end of every frame."""

    def __init__(self, episode: Episode, engine: CpuEngine, ticks_per_frame: int) -> None:
        scenario, sampled = episode.scenario, episode.sampled
        self._engine, self._sampled, self._ticks_per_frame = engine, sampled, ticks_per_frame
        self._referee = Referee(scenario, sampled)
        # Its accounts follow from events, which come from the log: it does not act.
        self._actor = scenario.task.actor(scenario.parameters, sampled, scenario.stream("world"))
        self._events: list[tuple[int, Event]] = []
        self.succeeded = False

    def before(self, lane: int, tick: int, event: Event) -> None:
        self._events.append((tick, event))
        engine = self._engine
        if isinstance(self._actor, Bookkeeper):

            def position_m(name: str) -> Array:
                at = engine.scene.joint_address(name)
                return engine.qpos[lane, at : at + 3]

            self._actor.note(event, tick * engine.scene.robot.dt_s, position_m)

    def after(self, lane: int, ticks: int) -> None:
        if self.succeeded or ticks % self._ticks_per_frame:
            return
        time_s = ticks * self._engine.scene.robot.dt_s
        snapshot = snapshot_of(self._engine, lane, self._sampled, time_s, self._actor, self._events)
        self.succeeded = self._referee.succeeded(snapshot)


def _certified(engine: CpuEngine, episode: Episode, judged: _Judged, replayed: Replayed) -> Episode:
    if judged.succeeded != episode.succeeded:
        return replace(episode, certified=False)
    scenario, log = episode.scenario, episode.log
    end = ended_in(engine, scenario.task, scenario.parameters, log, replayed)
    return replace(
        episode,
        state_hash=replayed.state_hash,
        truth=end.truth,
        goal_by_truth=end.goal,
        log=replace(log, states=replayed.states[1:] if len(log.states) else log.states),
        certified=True,
    )
