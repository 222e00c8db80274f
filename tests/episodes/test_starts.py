"""Which scenarios start when, and what is computed meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from graspline.engine.cpu import CpuEngine
from graspline.episodes.starts import ScenarioQueue
from graspline.execution.executor import Executor
from graspline.execution.requests import Solve
from graspline.scenes.cube_table import cube_table

from .playing import scenario

SEEDS = range(20, 26)


class Remote(CpuEngine):
    """An engine whose ticks leave time for something else."""

    meanwhile: Callable[[Callable[[], bool]], object] = staticmethod(lambda stepping: None)


@dataclass
class Free:
    """An executor of which these lanes are idle."""

    idle: list[int]
    on_beat: bool = True

    def idle_lanes(self) -> list[int]:
        return self.idle


def _queue(engine: CpuEngine | None = None, spread_ticks: int = 0) -> ScenarioQueue:
    found = engine or CpuEngine(cube_table(), 3, 1)
    return ScenarioQueue([scenario(seed) for seed in SEEDS], found, spread_ticks=spread_ticks)


def _taken(queue: ScenarioQueue, free: Free, tick: int = 0) -> list[tuple[int, int]]:
    started = queue.take(cast(Executor, free), tick, lambda: False)
    return [(lane, each.seed) for lane, each, _ in started]


def test_free_lanes_take_scenarios_in_their_order_until_there_are_none() -> None:
    queue = _queue()
    assert _taken(queue, Free([0, 1, 2])) == [(0, 20), (1, 21), (2, 22)]
    assert _taken(queue, Free([1])) == [(1, 23)]
    assert _taken(queue, Free([])) == []
    assert _taken(queue, Free([0, 1, 2])) == [(0, 24), (1, 25)]
    assert _taken(queue, Free([2])) == []


def test_nothing_starts_off_the_beat_or_once_the_queue_is_closed() -> None:
    queue = _queue()
    assert _taken(queue, Free([0], on_beat=False)) == []
    queue.close()
    assert _taken(queue, Free([0])) == []


def test_first_starts_are_spread_over_the_lanes() -> None:
    queue = _queue(spread_ticks=30)
    assert _taken(queue, Free([0, 1, 2])) == [(0, 20)]
    assert _taken(queue, Free([1, 2]), tick=9) == []
    assert _taken(queue, Free([1, 2]), tick=10) == [(1, 21)]
    assert _taken(queue, Free([2]), tick=20) == [(2, 22)]


def test_lanes_are_paused_only_where_ticks_leave_time_for_their_plans() -> None:
    assert _queue().thinking is None
    engine = Remote(cube_table(), 3, 1)
    thinking = _queue(engine).thinking
    assert thinking is not None
    thinking.begin(0, Solve(abs, (-3,)))
    # Even where the tick is over at once.
    engine.meanwhile(lambda: False)
    assert thinking.take() == {0: 3}
