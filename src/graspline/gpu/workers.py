"""Episodes of many lanes, played by several processes on one engine.

Machines, guards and planning are Python and fill one core for a few hundred lanes; a GPU steps thousands. So each
process plays a share of the scenarios in a share of the lanes, and a hub steps all of them together. Teams of processes
take turns: while one's lanes are stepped, the others plan.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, cast

import numpy as np

from graspline.episodes.episode import Episode
from graspline.episodes.log import log_of
from graspline.episodes.observers import NotingObserver
from graspline.episodes.processes import deaf_to_interrupts, environment
from graspline.episodes.run import run_scenarios, shared_scene
from graspline.episodes.scenario import Scenario
from graspline.errors import GrasplineError
from graspline.execution.lane_recording import LaneRecording
from graspline.gpu.choose import GPU, open_gpu_engine
from graspline.gpu.engine_server import Hub, Shard, SharedBuffers, Spent, conduct
from graspline.scenes.variation import Variation

_NO_LOG = log_of(LaneRecording(start=np.zeros(0), variation=Variation()))
# Over how long first starts are spread, about as long as a short episode: what all lanes do at once, neither the device
# nor the cores do all the time. It pays where lanes play several episodes each.
_SPREAD_S, _EPISODES_EACH = 4.0, 2
# A team waits for the slowest of its processes, and a device does more at once the larger a team is.
TEAMS = 4
# The process that feeds the device goes before those that play.
_NICENESS = 5
# One thread for each: the processes fill the cores.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MUJOCO_GL": "disable"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Share:
    """What one process plays, and in which lanes."""

    scenarios: tuple[Scenario, ...]
    board: SharedBuffers
    first: int
    lanes: int
    keep_logs: bool
    record_states: bool
    limit_s: float
    witness: NotingObserver | None


@dataclass(frozen=True, slots=True)
class _EndedEpisode:
    """An episode, which process played it, and which of its scenarios it is."""

    process: int
    index: int
    episode: Episode


@dataclass(frozen=True, slots=True)
class _Failed:
    """A process that could not go on, in its own words."""

    why: str


@dataclass(slots=True)
class _Mate:
    process: BaseProcess
    connection: Connection
    first: int


def play_together(
    scenarios: Sequence[Scenario],
    *,
    lanes: int,
    processes: int,
    teams: int = TEAMS,
    device: str = GPU,
    keep_logs: bool = True,
    record_states: bool = False,
    limit_s: float = float("inf"),
    witness: NotingObserver | None = None,
    stop: Callable[[], bool] = lambda: False,
    spent: Spent | None = None,
    clock: Callable[[], float] = lambda: 0.0,
) -> Iterator[Episode]:
    """Play scenarios of one task on a GPU, in `lanes` lanes, and yield each when it is finished.

    About as many processes play as there are cores, in `teams` teams. Logs are most of what an episode
    is made of; without them it comes sooner. When `stop` turns true, what is under way is preempted. `spent` adds up
    where the time went.
    """
    if not scenarios:
        return
    lanes = min(lanes, len(scenarios))
    teams = max(1, min(teams, lanes, processes))
    of_team = min(processes, lanes) // teams
    each, all_processes = lanes // (teams * of_team), teams * of_team
    scene = shared_scene(scenarios)
    hubs, mates = list[Hub](), list[_Mate]()
    try:
        for _ in range(teams):
            hubs.append(Hub(open_gpu_engine(scene, each * of_team, device)))
        for number in range(all_processes):
            hub = hubs[number % teams]
            share = _Share(
                scenarios=tuple(scenarios[number::all_processes]),
                board=hub.board,
                first=number // teams * each,
                lanes=each,
                keep_logs=keep_logs,
                record_states=record_states,
                limit_s=limit_s,
                witness=witness,
            )
            mates.append(_start(share, number))
            hub.seat(mates[-1])
        for result in conduct(hubs, stop=stop, spent=spent, clock=clock):
            if isinstance(result, _Failed):
                raise GrasplineError(f"a process that played episodes failed: {result.why}")
            # The very scenario that was given, not a copy that came back.
            scenario = scenarios[result.index * all_processes + result.process]
            yield replace(result.episode, scenario=scenario, log=result.episode.log if keep_logs else _NO_LOG)
    finally:
        for mate in mates:
            mate.connection.close()
            mate.process.kill()
            mate.process.join()
        for hub in hubs:
            hub.close()


def _start(share: _Share, number: int) -> _Mate:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_play, args=(theirs, share, number), daemon=True)
    try:
        with environment(_ENVIRONMENT), deaf_to_interrupts():
            process.start()
    finally:
        theirs.close()
    return _Mate(process=process, connection=ours, first=share.first)


def _play(connection: Connection, share: _Share, number: int) -> None:
    """In a process of its own: play a share, and say so as each ends."""
    os.nice(_NICENESS)
    scene = shared_scene(share.scenarios)
    indices = {scenario: index for index, scenario in enumerate(share.scenarios)}
    shard = Shard(scene, connection, share.board, share.first, share.lanes)
    spread_s = _SPREAD_S if len(share.scenarios) > _EPISODES_EACH * share.lanes else 0.0
    # What there is now stays: to look through all of it for garbage takes 50 ms, for which all others would wait.
    gc.collect()
    gc.freeze()
    try:
        for episode in run_scenarios(
            share.scenarios,
            lanes=share.lanes,
            threads=1,
            record_states=share.record_states,
            limit_s=share.limit_s,
            witness=share.witness,
            stop=lambda: shard.stopped,
            spread_ticks=round(spread_s * scene.robot.control_hz),
            make_engine=lambda scene, count, threads: shard,
        ):
            index = indices[episode.scenario]
            # The other end has the scenario, and a log without anything.
            log = episode.log if share.keep_logs else cast(Any, None)
            shard.finish(_EndedEpisode(number, index, replace(episode, scenario=cast(Any, None), log=log)))
    except (EOFError, OSError):
        # The caller that wanted them is gone.
        return
    except Exception as error:
        shard.finish(_Failed(f"{type(error).__name__}: {error}"))
    shard.close()
    # At once: libraries complain when an interpreter that has used them is taken apart.
    os._exit(0)
