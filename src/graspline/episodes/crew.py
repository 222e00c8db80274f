"""Episodes of many lanes, played by several processes on one engine.

Machines, guards and planning are Python and fill one core for a few hundred lanes; a GPU steps thousands. So each
process plays a share of the scenarios in a share of the lanes, and a hub steps all of them together.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import numpy as np

from graspline.engine.choose import GPU, open_gpu_engine
from graspline.engine.shards import Board, Hub, Shard, Spent
from graspline.episodes.log import log_of
from graspline.episodes.processes import deaf_to_interrupts, environment
from graspline.episodes.run import Episode, run_scenarios, shared_scene
from graspline.episodes.scenario import Scenario
from graspline.errors import GrasplineError
from graspline.execution.track import Track
from graspline.scenes.variation import Variation

_NO_LOG = log_of(Track(start=np.zeros(0), variation=Variation()))
# One thread for each: the processes fill the cores.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MUJOCO_GL": "disable"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Share:
    """What one process plays, and in which lanes."""

    scenarios: tuple[Scenario, ...]
    board: Board
    first: int
    lanes: int
    keep_logs: bool
    record_states: bool
    limit_s: float


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
    device: str = GPU,
    keep_logs: bool = True,
    record_states: bool = False,
    limit_s: float = float("inf"),
    stop: Callable[[], bool] = lambda: False,
    spent: Spent | None = None,
    clock: Callable[[], float] = lambda: 0.0,
) -> Iterator[Episode]:
    """Play scenarios of one task on a GPU, in so many lanes and processes, and yield each when it is finished.

    Logs are most of what an episode is made of; without them it comes sooner. When `stop` turns true, what is under way
    is given up. By a clock it is told where the time went.
    """
    if not scenarios:
        return
    processes = max(1, min(processes, lanes, len(scenarios)))
    each = max(1, min(lanes, len(scenarios)) // processes)
    done = list[Episode]()
    hub = Hub(open_gpu_engine(shared_scene(scenarios), each * processes, device), clock)
    mates = list[_Mate]()
    try:
        for number in range(processes):
            share = _Share(
                scenarios=tuple(scenarios[number::processes]),
                board=hub.board,
                first=number * each,
                lanes=each,
                keep_logs=keep_logs,
                record_states=record_states,
                limit_s=limit_s,
            )
            mates.append(_start(share))
        left, hub.spent = mates, spent or hub.spent
        while left and not stop():
            left = hub.tick(left, lambda result: done.append(_episode(result)))
            yield from done
            done.clear()
    finally:
        for mate in mates:
            mate.connection.close()
            mate.process.kill()
            mate.process.join()
        hub.close()


def _episode(result: Episode | _Failed) -> Episode:
    if isinstance(result, _Failed):
        raise GrasplineError(f"a process that played episodes failed: {result.why}")
    return result


def _start(share: _Share) -> _Mate:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_play, args=(theirs, share), daemon=True)
    try:
        with environment(_ENVIRONMENT), deaf_to_interrupts():
            process.start()
    finally:
        theirs.close()
    return _Mate(process=process, connection=ours, first=share.first)


def _play(connection: Connection, share: _Share) -> None:
    """In a process of its own: play a share, and say so as each ends."""
    scene = shared_scene(share.scenarios)
    shard = Shard(scene, connection, share.board, share.first, share.lanes)
    try:
        for episode in run_scenarios(
            share.scenarios,
            lanes=share.lanes,
            threads=1,
            record_states=share.record_states,
            limit_s=share.limit_s,
            make_engine=lambda scene, count, threads: shard,
        ):
            shard.finished.append(episode if share.keep_logs else replace(episode, log=_NO_LOG))
    except Exception as error:
        shard.finished.append(_Failed(f"{type(error).__name__}: {error}"))
    shard.close()
