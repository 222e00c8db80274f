"""One process draws for many: pictures in order, batches that are shared, and nobody who waits for ever."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
import pytest

from graspline.errors import EnvironmentProblem, InputError
from graspline.gpu import frame_server
from graspline.gpu.frame_server import Painter, Seat, Studio, render_for_others
from graspline.gpu.looks import AppearanceRows
from graspline.scenes.cube_table import cube_start, cube_table
from graspline.scenes.variation import Edit, Variation
from rendering.render_cases import SHAPES, scene_of

WIDTH, HEIGHT, WORLDS = 8, 4, 5
# Two halves of three pictures.
SEAT_BYTES = 2 * 3 * WIDTH * HEIGHT * 3
# A deadline is for what would never happen, on a machine with eight times as much to do as it can.
PATIENCE_S = 300.0
SCENE = scene_of(SHAPES)
PLAIN = Variation()


class Fake:
    """Draws a state as its first coordinate; notes how many it was given and in what order, and waits to be let."""

    worlds = WORLDS

    def __init__(self) -> None:
        self.batches = list[int]()
        self.story = list[str]()
        self.may_draw = threading.Event()
        self.may_draw.set()
        # What goes wrong when a batch is begun, and when it is waited for.
        self.problem = self.lost = ""

    def begin_looks(self, qpos, looks, camera):
        self.may_draw.wait()
        if self.problem:
            raise RuntimeError(self.problem)
        number = len(self.batches)
        self.batches.append(len(qpos))
        self.story.append(f"begun {number}")
        assert looks.shape == (len(qpos), AppearanceRows(SCENE).size)
        shade = qpos[:, 0].astype(np.uint8) + (100 if camera == "inside" else 0)

        def pictures():
            self.story.append(f"waited for {number}")
            if self.lost:
                raise RuntimeError(self.lost)
            return np.broadcast_to(shade[:, None, None, None], (len(qpos), HEIGHT, WIDTH, 3))

        return pictures


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def studio(fake: Fake) -> Iterator[Studio]:
    """A drawer in a thread."""
    ours, theirs = multiprocessing.Pipe()
    drawer = threading.Thread(target=render_for_others, args=(theirs, lambda width, height: fake))
    drawer.start()
    studio = Studio(ours, SEAT_BYTES)
    yield studio
    fake.may_draw.set()
    studio.close()
    drawer.join(PATIENCE_S)
    assert not drawer.is_alive()


def states(count: int, first: int = 0) -> np.ndarray:
    qpos = np.tile(SCENE.model.qpos0, (count, 1))
    qpos[:, 0] = np.arange(first, first + count)
    return qpos


def shades(pictures: Iterator[np.ndarray]) -> list[int]:
    """What was drawn, each looked at before the next is asked for."""
    return [int(rgb.min()) for rgb in pictures if rgb.min() == rgb.max()]


def ask(painter: Painter, qpos: np.ndarray, camera: str = "front") -> Iterator[np.ndarray]:
    return painter.pictures(qpos, [PLAIN] * len(qpos), camera, WIDTH, HEIGHT)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 17])
def test_every_state_is_drawn_in_order_however_little_memory_there_is(studio: Studio, count: int) -> None:
    painter = Painter(SCENE, studio.seat())
    assert shades(ask(painter, states(count))) == list(range(count))
    assert shades(ask(painter, states(count), "inside")) == list(range(100, 100 + count))


def test_what_several_ask_for_is_drawn_together(studio: Studio, fake: Fake) -> None:
    fake.may_draw.clear()
    painters = [Painter(SCENE, studio.seat()) for _ in range(4)]
    asked = [ask(painter, states(6, first=10 * number)) for number, painter in enumerate(painters)]
    found: list[list[int]] = [[] for _ in asked]
    threads = [
        threading.Thread(target=lambda number=number: found[number].extend(shades(asked[number])))
        for number in range(len(asked))
    ]
    for thread in threads:
        thread.start()
    time.sleep(1.0)
    fake.may_draw.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert found == [list(range(10 * number, 10 * number + 6)) for number in range(4)]
    assert sum(fake.batches) == 24
    assert max(fake.batches) == WORLDS


def test_pictures_nobody_looked_at_do_not_come_later(studio: Studio) -> None:
    painter = Painter(SCENE, studio.seat())
    unfinished = ask(painter, states(9))
    assert int(next(unfinished).min()) == 0
    unfinished.close()  # type: ignore[attr-defined]
    assert shades(ask(painter, states(7, first=40))) == list(range(40, 47))


def test_whoever_leaves_does_not_hold_up_others(studio: Studio) -> None:
    leaving, staying = (Painter(SCENE, studio.seat()) for _ in range(2))
    # The first three are drawn, three more are ordered.
    assert int(next(ask(leaving, states(9))).min()) == 0
    leaving.close()
    assert shades(ask(staying, states(4))) == [0, 1, 2, 3]


def test_what_the_renderer_cannot_do_is_told_to_whoever_asked(studio: Studio, fake: Fake) -> None:
    painter = Painter(SCENE, studio.seat())
    fake.problem = "no memory left on the device"
    with pytest.raises(EnvironmentProblem, match="RuntimeError: no memory left on the device"):
        next(ask(painter, states(2)))
    fake.problem = ""
    assert shades(ask(painter, states(2))) == [0, 1]


def test_what_goes_wrong_while_the_renderer_is_at_it_is_told_as_well(studio: Studio, fake: Fake) -> None:
    painter = Painter(SCENE, studio.seat())
    fake.lost = "the device fell off the bus"
    with pytest.raises(EnvironmentProblem, match="RuntimeError: the device fell off the bus"):
        next(ask(painter, states(7)))
    fake.lost = ""
    assert shades(ask(painter, states(7))) == list(range(7))


def test_the_next_batch_is_begun_before_the_last_one_is_waited_for(studio: Studio, fake: Fake) -> None:
    fake.may_draw.clear()
    painter = Painter(SCENE, studio.seat())
    asked = ask(painter, states(6))
    looking = threading.Thread(target=lambda: shades(asked))
    looking.start()
    time.sleep(1.0)
    fake.may_draw.set()
    looking.join(PATIENCE_S)
    assert fake.story == ["begun 0", "begun 1", "waited for 0", "waited for 1"]


def test_pictures_larger_than_the_memory_are_refused(studio: Studio) -> None:
    painter = Painter(SCENE, studio.seat())
    with pytest.raises(InputError, match="640×480 do not fit"):
        next(painter.pictures(states(1), [PLAIN], "front", 640, 480))


def test_a_machine_without_shared_memory_to_spare_says_so() -> None:
    ours, theirs = multiprocessing.Pipe()
    with pytest.raises(EnvironmentProblem, match="fewer workers"):
        Studio(ours, seat_bytes=1 << 50).seat()
    ours.close()
    theirs.close()


def test_a_closed_studio_leaves_no_memory_behind_and_is_noticed(studio: Studio) -> None:
    seat = studio.seat()
    painter = Painter(SCENE, seat)
    studio.close()
    with pytest.raises(EnvironmentProblem, match="has died"):
        next(ask(painter, states(2)))
    with pytest.raises(FileNotFoundError):
        SharedMemory(seat.memory)


def test_a_seat_still_on_its_way_when_the_studio_closes_is_noticed(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = threading.Event()

    def attach_late(*given: Any, **named: Any) -> SharedMemory:
        if threading.current_thread() is not threading.main_thread():
            closed.wait(PATIENCE_S)
        return SharedMemory(*given, **named)

    monkeypatch.setattr(frame_server, "SharedMemory", attach_late)
    painter = Painter(SCENE, studio.seat())
    studio.close()
    closed.set()
    with pytest.raises(EnvironmentProblem, match="has died"):
        next(ask(painter, states(2)))


def in_a_process(target: Callable[..., None], *arguments: object) -> tuple[BaseProcess, Studio]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()
    return process, Studio(ours)


def never_draw(studio: Connection) -> None:
    fake = Fake()
    fake.may_draw.clear()
    render_for_others(studio, lambda width, height: fake)


def draw_cubes(studio: Connection) -> None:
    from graspline.gpu.renderer import WarpRenderer

    render_for_others(studio, lambda width, height: WarpRenderer(cube_table(), width, height, 2, "cpu"))


def look(seat: Seat, answer: Connection) -> None:
    painter = Painter(SCENE, seat)
    answer.send("asking")
    try:
        next(ask(painter, states(2)))
    except EnvironmentProblem as error:
        answer.send(str(error))


@pytest.mark.slow
def test_a_drawer_that_is_killed_is_an_error_for_those_who_wait() -> None:
    drawer, studio = in_a_process(never_draw)
    context = multiprocessing.get_context("spawn")
    answer, theirs = context.Pipe()
    seat = studio.seat()
    client = context.Process(target=look, args=(seat, theirs), daemon=True)
    client.start()
    seat.connection.close()
    assert answer.poll(PATIENCE_S)
    assert answer.recv() == "asking"
    time.sleep(0.5)
    drawer.kill()
    assert answer.poll(PATIENCE_S)
    assert "has died" in answer.recv()
    client.join(PATIENCE_S)
    studio.close()


@pytest.mark.slow
def test_a_drawer_ends_when_its_studio_closes() -> None:
    drawer, studio = in_a_process(draw_cubes)
    studio.close()
    drawer.join(PATIENCE_S)
    assert drawer.exitcode == 0


@pytest.mark.slow
def test_pictures_of_another_process_are_those_of_the_renderer_here() -> None:
    from graspline.gpu.renderer import WarpRenderer

    scene = cube_table()
    qpos = np.stack([cube_start(x_m=0.2 + 0.02 * each, y_m=0.0, yaw_rad=0.0, edge_m=0.03) for each in range(5)])
    painted = Variation(edits=(Edit(field="geom_rgba", element="cube", values=(0.1, 0.9, 0.2, 1.0)),))
    variations = [PLAIN, painted, painted, PLAIN, painted]
    drawer, studio = in_a_process(draw_cubes)
    painter = Painter(scene, studio.seat())
    there = np.stack([rgb.copy() for rgb in painter.pictures(qpos, variations, "front", 64, 48)])
    studio.close()
    drawer.join(PATIENCE_S)
    here = WarpRenderer(scene, 64, 48, 3, "cpu").render_many(qpos, variations, "front")
    assert np.array_equal(there, here)
    assert not np.array_equal(here[0], here[1])
