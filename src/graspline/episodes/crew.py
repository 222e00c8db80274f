"""Episodes of many lanes, played by several processes on one engine.

Machines, guards and planning are Python and fill one core for a few hundred lanes; a GPU steps thousands. So each
process plays a share of the scenarios in a share of the lanes, and a hub steps all of them together.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from graspline.engine.choose import open_engine
from graspline.engine.protocol import EngineKind
from graspline.engine.shards import Board, Hub, Shard
from graspline.episodes.run import Episode, run_scenarios, shared_scene
from graspline.episodes.scenario import Scenario
from graspline.errors import GrasplineError

# One thread for each: the processes fill the cores.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MUJOCO_GL": "disable"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Share:
    """What one process plays, and in which lanes."""

    scenarios: tuple[Scenario, ...]
    board: Board
    first: int
    lanes: int
    record_states: bool
    limit_s: float


@dataclass(slots=True)
class Spent:
    """Where the time went, in seconds of wall clock since the first tick: stepping the engine, and all."""

    stepping_s: float = 0.0
    all_s: float = 0.0
    ticks: int = 0


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
    engine: EngineKind = "gpu",
    record_states: bool = False,
    limit_s: float = float("inf"),
    stop: Callable[[], bool] = lambda: False,
    spent: Spent | None = None,
) -> Iterator[Episode]:
    """Play scenarios of one task in so many lanes and processes, and yield each when it is finished.

    When `stop` turns true, what is under way is given up.
    """
    if not scenarios:
        return
    spent = spent if spent is not None else Spent()
    processes = max(1, min(processes, lanes, len(scenarios)))
    each = max(1, min(lanes, len(scenarios)) // processes)
    done = list[Episode]()
    hub = Hub(open_engine(engine, shared_scene(scenarios), each * processes))
    mates = list[_Mate]()
    try:
        for number in range(processes):
            share = _Share(
                scenarios=tuple(scenarios[number::processes]),
                board=hub.board,
                first=number * each,
                lanes=each,
                record_states=record_states,
                limit_s=limit_s,
            )
            mates.append(_start(share))
        left, began = mates, time.perf_counter()
        while left and not stop():
            left = hub.tick(left, lambda result: done.append(_episode(result)))
            spent.ticks, spent.stepping_s = spent.ticks + 1, hub.stepping_s
            spent.all_s = time.perf_counter() - began
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
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    os.environ.update(_ENVIRONMENT)
    try:
        process.start()
    finally:
        theirs.close()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return _Mate(process=process, connection=ours, first=share.first)


def _play(connection: Connection, share: _Share) -> None:
    """In a process of its own: play a share, and say so as each ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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
            shard.finished.append(episode)
    except Exception as error:
        shard.finished.append(_Failed(f"{type(error).__name__}: {error}"))
    shard.close()
