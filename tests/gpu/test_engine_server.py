"""A hub and the processes that share its engine; they are threads here, and the engine only notes what it is asked."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.worlds import PLAIN, START, varied
from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Change, Event, Place, Push
from graspline.engine.protocol import EngineKind
from graspline.errors import EnvironmentProblem, WiringError
from graspline.gpu.engine_server import Hub, Shard, conduct
from graspline.gpu.lane_models import LaneModels, Singles
from graspline.robots.so101 import PAD_GEOMS, SO101
from graspline.scenes.cube_table import CUBE, cube_table
from graspline.scenes.scene import Array
from graspline.scenes.variation import friction_of

LANES = 3
PUSH = Push(body=CUBE, force_n=(0.0, 0.0, 1.0))
PLACE = Place(body=CUBE, position_m=(0.2, 0.1, 0.3))


class Notebook(CpuEngine):
    """Notes what it is asked, and steps nothing."""

    kind: EngineKind = "cpu"
    stepped = True
    worked_s = 0.0, 0.0

    def __init__(self, count: int, *, breaks_after: float = float("inf")) -> None:
        super().__init__(cube_table(), count, 1)
        self.notes: list[tuple[object, ...]] = []
        self.models: dict[int, Singles] = {}
        self.ticks, self._breaks_after = 0, breaks_after

    def share(self, qpos: Array, sensors: Array, diverged: NDArray[np.bool_]) -> None:
        pass

    def begin(self, lanes: NDArray[np.intp], starts: Array) -> None:
        self.notes += [("begin", lane, tuple(start)) for lane, start in zip(lanes.tolist(), starts, strict=True)]

    def change(self, lanes: NDArray[np.intp], models: Singles) -> None:
        self.models.update(zip(lanes.tolist(), models.copy(), strict=True))

    def apply(self, lane: int, event: Event) -> None:
        self.notes.append(("apply", lane, event))

    def begin_step(self, controls: Array, lanes: NDArray[np.intp]) -> None:
        self.notes.append(("step", *lanes.tolist()))
        assert len(controls) == len(lanes)

    def end_step(self) -> bool:
        self.ticks += 1
        if self.ticks > self._breaks_after:
            raise WiringError("no room")
        return False


@dataclass(frozen=True, slots=True)
class Mate:
    connection: Connection
    first: int


@contextmanager
def seated(hub: Hub, *plays: Callable[[Shard], None]) -> Iterator[None]:
    """Let somebody play a share of the hub's lanes each, and then end."""
    count = hub.engine.count // len(plays)
    threads, ours = list[threading.Thread](), list[Connection]()

    def live(play: Callable[[Shard], None], shard: Shard, theirs: Connection) -> None:
        try:
            play(shard)
            shard.close()
        except (EOFError, OSError):
            pass
        finally:
            theirs.close()

    for number, play in enumerate(plays):
        here, there = Pipe()
        shard = Shard(hub.engine.scene, there, hub.board, number * count, count)
        hub.seat(Mate(here, number * count))
        ours.append(here)
        threads.append(threading.Thread(target=live, args=(play, shard, there)))
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for connection in ours:
            connection.close()
        for thread in threads:
            thread.join()
        hub.close()


def step(shard: Shard, lanes: list[int] | None = None) -> None:
    chosen = np.array(range(shard.count) if lanes is None else lanes, np.intp)
    shard.step(np.tile(SO101.home, (len(chosen), 1)), chosen)


def test_what_happens_to_lanes_of_all_processes_happens_before_they_move_together() -> None:
    other = varied(1)[0]

    def first(shard: Shard) -> None:
        shard.reset(1, START, PLAIN)
        shard.apply(1, PLACE)
        step(shard, [0, 1])

    def second(shard: Shard) -> None:
        shard.reset(0, other, PLAIN)
        shard.apply(2, PUSH)
        step(shard)

    hub = Hub(engine := Notebook(2 * LANES))
    with seated(hub, first, second):
        assert list(conduct([hub])) == []
    assert engine.notes == [
        ("begin", 1, tuple(START)),
        ("begin", 3, tuple(other)),
        ("apply", 1, PLACE),
        ("apply", 5, PUSH),
        ("step", 0, 1, 3, 4, 5),
    ]


def test_a_reset_undoes_what_was_to_happen_before_and_not_what_comes_after() -> None:
    def play(shard: Shard) -> None:
        shard.apply(0, PUSH)
        shard.apply(1, PUSH)
        shard.reset(0, START, PLAIN)
        shard.apply(0, PLACE)
        step(shard)
        step(shard)

    hub = Hub(engine := Notebook(LANES))
    with seated(hub, play):
        list(conduct([hub]))
    assert engine.notes == [
        ("begin", 0, tuple(START)),
        ("apply", 1, PUSH),
        ("apply", 0, PLACE),
        ("step", 0, 1, 2),
        ("step", 0, 1, 2),
    ]


def test_the_last_model_of_a_lane_counts() -> None:
    friction = Change(edits=friction_of(PAD_GEOMS, (0.3, 0.001, 0.0001)))

    def play(shard: Shard) -> None:
        shard.apply(0, friction)
        shard.reset(0, *varied(0))
        shard.reset(1, *varied(0))
        shard.reset(1, *varied(1))
        shard.apply(1, friction)
        step(shard)

    hub = Hub(engine := Notebook(LANES))
    with seated(hub, play):
        list(conduct([hub]))
    wanted = LaneModels(engine.scene, LANES)
    for lane in (0, 1):
        wanted.set(lane, {(edit.field, edit.element): edit for edit in varied(lane)[1].edits})
    wanted.set(1, {**wanted.of(1), **{(edit.field, edit.element): edit for edit in friction.edits}})
    assert sorted(engine.models) == [0, 1]
    for lane, row in engine.models.items():
        np.testing.assert_array_equal(row, wanted.rows[lane])


def finishing(name: str, ticks: int) -> Callable[[Shard], None]:
    """Finishes something on every tick, and something more at the end."""

    def play(shard: Shard) -> None:
        for tick in range(ticks):
            shard.finish((name, tick))
            step(shard)
        shard.finish((name, "end"))

    return play


def everything(*shares: tuple[str, int]) -> set[tuple[str, object]]:
    return {(name, each) for name, ticks in shares for each in (*range(ticks), "end")}


def test_everything_that_is_finished_is_told_once() -> None:
    hubs = [Hub(Notebook(2 * LANES)), Hub(Notebook(2 * LANES))]
    shares = [("a", 5), ("b", 9), ("c", 2), ("d", 400)]
    plays = [finishing(*share) for share in shares]
    with seated(hubs[0], *plays[:2]), seated(hubs[1], *plays[2:]):
        told = list(conduct(hubs))
    assert len(told) == len(set(told))
    assert set(told) == everything(*shares)


def test_hubs_go_on_while_what_is_finished_is_taken() -> None:
    def play(shard: Shard) -> None:
        for each in range(50):
            shard.finish(each)
        step(shard)

    hub = Hub(engine := Notebook(LANES))
    with seated(hub, play):
        results = conduct([hub])
        taken = [next(results)]
        assert engine.notes == [("step", *range(LANES))]
        taken.append(next(results))
        assert engine.ticks == 1
        assert [*taken, *results] == list(range(50))


def test_what_waits_to_be_taken_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graspline.gpu.engine_server._MOST_PACKED", 4)

    def play(shard: Shard) -> None:
        for tick in range(30):
            for each in range(3):
                shard.finish((tick, each))
            step(shard)

    hub = Hub(engine := Notebook(LANES))
    with seated(hub, play):
        waiting = [3 * (engine.ticks + 2) - number for number, _ in enumerate(conduct([hub]), 1)]
    assert len(waiting) == 90
    assert max(waiting) <= 4 + 3 * 3


def test_what_was_finished_before_an_engine_failed_is_told() -> None:
    hub, told = Hub(Notebook(LANES, breaks_after=3)), list[object]()
    with seated(hub, finishing("a", 9)), pytest.raises(WiringError, match="no room"):
        told.extend(conduct([hub]))
    assert told == [("a", tick) for tick in range(4)]


def test_what_was_finished_before_a_process_died_is_told() -> None:
    def die(shard: Shard) -> None:
        for tick in range(3):
            shard.finish(tick)
            shard.finish(10 + tick)
            step(shard)
        raise EOFError

    hub, told = Hub(Notebook(LANES)), list[object]()
    with seated(hub, die), pytest.raises(EnvironmentProblem, match="died"):
        told.extend(conduct([hub]))
    assert told == [0, 10, 1, 11, 2, 12]


def test_what_happens_to_a_lane_that_stands_still_happens_when_it_moves() -> None:
    def play(shard: Shard) -> None:
        shard.apply(1, PUSH)
        step(shard, [0])
        shard.apply(0, PUSH)
        step(shard, [0])
        step(shard, [0, 1])

    hub = Hub(engine := Notebook(LANES))
    with seated(hub, play):
        list(conduct([hub]))
    assert engine.notes == [
        ("step", 0),
        ("apply", 0, PUSH),
        ("step", 0),
        ("apply", 1, PUSH),
        ("step", 0, 1),
    ]


class Patient(Notebook):
    """One whose tick lasts until somebody says so."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.over = threading.Event()

    @property
    def stepped(self) -> bool:
        return self.over.is_set()


@pytest.mark.parametrize("says_why", [True, False])
def test_a_process_that_ends_during_a_tick_is_heard(says_why: bool) -> None:
    hub, told = Hub(engine := Patient(LANES)), list[object]()

    def fail(on_its_way: Callable[[], bool]) -> None:
        raise ZeroDivisionError

    def play(shard: Shard) -> None:
        shard.meanwhile = fail
        shard.finish("before")
        with contextlib.suppress(ZeroDivisionError):
            step(shard)
        if says_why:
            shard.finish("why")
            shard.close()
        shard._connection.close()
        engine.over.set()
        raise EOFError

    died = contextlib.nullcontext() if says_why else pytest.raises(EnvironmentProblem, match="died")
    with seated(hub, play), died:
        told.extend(conduct([hub]))
    assert told == (["before", "why"] if says_why else ["before"])
