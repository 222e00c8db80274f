"""Bad eyes: dark, frozen, noisy and late, for truth, for watched objects and for pictures."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Blind, Event, Misjudge, Place, See
from graspline.execution.executor import Executor
from graspline.execution.requests import Look, Motion, ObjectSeen, Reply, Watch
from graspline.execution.sensor_faults import Eyesight, shown_tick
from graspline.motion.guards import Slipped
from graspline.motion.joint_moves import hold
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import CUBE, cube_table
from graspline.scenes.scene import Array

from .playing import PLAIN, START, Script, executor_of, finish, play, returned, start

LAY = START[-7:-4]
MOVED = (0.15, 0.30, 0.015)


def looking(first: Reply) -> Script:
    """Looks on every tick for a quarter of a second; where the cube was seen at each."""
    seen, reply = [], first
    for _ in range(15):
        objects = cast(dict[str, ObjectSeen], (yield Look(None)).value)
        seen.append(objects[CUBE].position_m if objects else None)
        reply = yield Motion("wait", hold(SO101, reply.command, SO101.dt_s))
    return seen


def seen_with(*events: tuple[int, Event], lanes: int = 1) -> list[Array | None]:
    """What is seen in the first lane if these events strike it before these ticks; other lanes are left in peace."""
    executor = start(executor_of(lanes, allow_truth=True), *[looking] * lanes)
    for tick, event in events:
        executor.schedule(0, tick * SO101.dt_s, event)
    return returned(finish(executor))


def test_well_eyes_see_what_is_so() -> None:
    for seen in seen_with():
        assert seen == pytest.approx(LAY, abs=1e-4)


def test_in_the_dark_nothing_is_seen_until_the_light_is_back() -> None:
    seen = seen_with((4, Blind(kind="black")), (9, See()))
    assert [each is None for each in seen] == [False] * 4 + [True] * 5 + [False] * 6


def test_one_dark_camera_does_not_hide_what_the_estimator_knows() -> None:
    assert all(each is not None for each in seen_with((1, Blind(kind="black", camera="wrist"))))


def test_frozen_eyes_see_what_was_there_when_they_froze() -> None:
    seen = seen_with((3, Blind(kind="frozen")), (5, Place(body=CUBE, position_m=MOVED)), (10, See()))
    for index, each in enumerate(seen):
        assert each == pytest.approx(LAY if index < 10 else MOVED, abs=1e-3)


def test_late_eyes_see_everything_so_much_later() -> None:
    late = Misjudge(delay_s=5 / 60)
    seen = seen_with((1, late), (3, Place(body=CUBE, position_m=MOVED)))
    for index, each in enumerate(seen):
        assert each == pytest.approx(LAY if index < 3 + 5 else MOVED, abs=1e-3), index


def test_noisy_eyes_err_by_as_much_as_they_are_told_and_the_same_for_a_seed_only() -> None:
    def errors(seed: int, lanes: int = 1) -> Array:
        seen = seen_with((0, Misjudge(sigma_m=0.005, seed=seed)), lanes=lanes)
        return np.stack([each - LAY for each in seen if each is not None])

    assert errors(1).std() == pytest.approx(0.005, rel=0.4)
    np.testing.assert_array_equal(errors(1), errors(1, lanes=3))
    assert not np.array_equal(errors(1), errors(2))


def test_bad_eyes_of_one_lane_leave_others_alone() -> None:
    executor = start(executor_of(2, allow_truth=True), looking, looking)
    executor.schedule(1, 0.0, Blind(kind="black"))
    done = finish(executor)
    assert all(each is None for each in returned(done, 1))
    assert all(each is not None for each in returned(done, 0))


def test_the_next_episode_of_a_lane_begins_with_well_eyes() -> None:
    executor = start(executor_of(1, allow_truth=True), looking)
    executor.apply(0, Blind(kind="black"))
    executor.apply(0, Misjudge(delay_s=0.2))
    finish(executor)
    executor.start(0, looking, START, PLAIN)
    assert all(each is not None for each in returned(finish(executor)))


def watching(first: Reply) -> Script:
    """Holds still and ends when the cube is seen elsewhere."""
    offset = first.readings.tool_rotation.T @ (LAY - first.readings.tool_position_m)
    guard = Slipped(offset_m=(float(offset[0]), float(offset[1]), float(offset[2])), slip_m=0.03, for_s=0.0)
    path = hold(SO101, first.command, 1.0)
    return (yield Motion("hold", path, guards=(guard,), watch=Watch(target=CUBE, rate_hz=60.0)))


@pytest.mark.parametrize("event", [Blind(kind="black"), Blind(kind="frozen"), Misjudge(delay_s=0.5)])
def test_a_watched_object_that_leaves_unseen_is_noticed_when_eyes_are_well_again(event: Event) -> None:
    executor = start(executor_of(1, allow_truth=True), watching)
    executor.tick()
    executor.apply(0, event)
    executor.apply(0, Place(body=CUBE, position_m=MOVED))
    executor.schedule(0, 0.3, See())
    reply = returned(finish(executor))
    assert isinstance(reply.by, Slipped)
    assert reply.time_s == pytest.approx(0.3, abs=0.04)


def test_an_executor_without_trouble_remembers_nothing() -> None:
    engine = CpuEngine(cube_table(), 1, 1)
    eyesight = Eyesight(engine)
    start(Executor(engine, allow_truth=True, eyesight=eyesight), looking)
    assert not eyesight.late
    assert np.shares_memory(cast(Array, eyesight.truth(0)), engine.truth)


def test_events_that_are_logged_tell_what_a_camera_showed() -> None:
    events = [
        (3, Blind(kind="black", camera="wrist")),
        (5, See()),
        (6, Blind(kind="frozen")),
        (8, Place(body=CUBE, position_m=MOVED)),
        (9, See()),
    ]
    assert [shown_tick(events, tick, "wrist", 60) for tick in range(11)] == [0, 1, 2, None, None, 5, 5, 5, 5, 9, 10]
    assert [shown_tick(events, tick, "front", 60) for tick in range(11)] == [0, 1, 2, 3, 4, 5, 5, 5, 5, 9, 10]


def drawn_from_memory(events: list[tuple[int, Event]], ticks: int, camera: str) -> list[int | None]:
    """After which tick's end a camera's picture shows at the end of each tick, by the eyes that a task looks through.

    The world is one number, the tick that has ended.
    """
    engine = CpuEngine(cube_table(), 1, 1)
    eyesight, seen = Eyesight(engine), []
    engine.qpos[0, 0] = 0.0
    for tick in range(ticks):
        for when, event in events:
            if when == tick:
                eyesight.apply(0, event)
        engine.qpos[0, 0] = tick
        eyesight.remember([0])
        qpos, _ = eyesight.picture(0, camera)
        seen.append(None if qpos is None else int(qpos[0]))
    return seen


LATE = Misjudge(delay_s=3 / 60)


@pytest.mark.parametrize(
    "events, shown",
    [
        ([(4, LATE)], [0, 1, 2, 3, 3, 3, 3, 4, 5, 6, 7, 8]),
        ([(4, LATE), (8, See())], [0, 1, 2, 3, 3, 3, 3, 4, 8, 9, 10, 11]),
        ([(4, LATE), (8, Misjudge(sigma_m=0.01))], [0, 1, 2, 3, 3, 3, 3, 4, 8, 9, 10, 11]),
        ([(4, LATE), (8, LATE)], [0, 1, 2, 3, 3, 3, 3, 4, 7, 7, 7, 8]),
        ([(2, LATE), (7, Blind(kind="frozen"))], [0, 1, 1, 1, 1, 2, 3, 6, 6, 6, 6, 6]),
        ([(3, Blind(kind="frozen", camera="wrist")), (5, LATE)], [0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]),
        ([(2, LATE), (5, Blind(kind="black")), (7, Blind(kind="frozen")), (9, See())], None),
        ([(2, Blind(kind="frozen", camera="wrist")), (6, Blind(kind="frozen"))], None),
        ([(2, Blind(kind="frozen")), (6, Blind(kind="frozen", camera="front")), (8, LATE)], None),
    ],
)
@pytest.mark.parametrize("camera", ["wrist", "front"])
def test_pictures_drawn_from_a_log_show_what_was_seen_then(
    events: list[tuple[int, Event]], shown: list[int] | None, camera: str
) -> None:
    logged = [shown_tick(events, tick, camera, 60) for tick in range(12)]
    assert logged == drawn_from_memory(events, 12, camera)
    if shown is not None and camera == "wrist":
        assert logged == shown


def test_calls_come_after_their_delay_and_not_in_the_next_episode() -> None:
    calls: list[float] = []
    executor = start(executor_of(1, allow_truth=True), looking)
    executor.call(0, 0.1, lambda: calls.append(executor.time_s(0)))
    executor.call(0, 30.0, lambda: calls.append(-1.0))
    finish(executor)
    play(looking, allow_truth=True)
    assert calls == [pytest.approx(0.1)]
