"""When a watch over a policy calls the expert, by scripted frames."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.engine.layout import Readings, layout_of
from graspline.envs.failure_watch import ProgressWatch, TakeoverParameters, TakeoverReason
from graspline.execution.requests import Reply
from graspline.motion.path import at_rest
from graspline.parameters import Range
from graspline.robots.so101 import HOME, SO101
from graspline.scenes.cube_table import cube_table

Array = NDArray[np.float64]
FPS = 10
CUBE = np.array([0.25, 0.0, 0.015])
LAYOUT = layout_of(cube_table().model)


def readings(joints: Array, tool_m: Array, fixed_n: float = 0.0, moving_n: float = 0.0) -> Readings:
    row = np.zeros(LAYOUT.readings_size)
    row[LAYOUT.readings["joint_position"]] = joints
    row[LAYOUT.readings["pad_force"]] = (0.0, 0.0, fixed_n, 0.0, -moving_n, 0.0)
    row[LAYOUT.readings["tool_position"]] = tool_m
    return Readings(row, LAYOUT)


class Script:
    """Frames that a test paints: joints, forces, where the tool and the objects are."""

    def __init__(self, seed: int = 0, **settings: Any) -> None:
        self.seen: dict[str, Array] = {"cube": CUBE}
        random = np.random.default_rng(seed)
        self.watch = ProgressWatch(SO101, TakeoverParameters(**settings), self._see, random)
        self.frame = 0
        self.looks = 0

    def _see(self) -> Generator[Any, Any, Mapping[str, Array]]:
        self.looks += 1
        yield from ()
        return dict(self.seen)

    def play(
        self, seconds: float, *, swing: float = 0.3, apart_m: float = 0.1, nearing_m_s: float = 0.0, **sensed: Any
    ) -> TakeoverReason | None:
        """Until something is noticed or the time is over; joints swing so far about home."""
        began = self.frame
        for _ in range(round(seconds * FPS)):
            passed_s = (self.frame - began) / FPS
            joints = HOME + swing * np.sin(self.frame) * np.array([1, 0.2, 0.2, 0.2, 1, 0])
            tool = CUBE - (apart_m - nearing_m_s * passed_s, 0, 0)
            lag = sensed.get("lag_rad", 0.0)
            forces = {name: sensed[name] for name in ("fixed_n", "moving_n") if name in sensed}
            frame = Reply(
                by="completed",
                evidence=(),
                value=None,
                readings=readings(joints, tool, **forces),
                command=at_rest(joints + lag),
                time_s=self.frame / FPS,
            )
            self.frame += 1
            try:
                next(self.watch(frame))
            except StopIteration as done:
                if done.value is not None:
                    return done.value
        return None


def reason(noticed: TakeoverReason | None) -> str:
    assert noticed is not None
    assert noticed.evidence
    return noticed.reason


def test_an_arm_that_stands_still_is_noticed_after_its_time() -> None:
    script = Script()
    assert script.play(1.4, swing=0.001) is None
    assert reason(script.play(0.5, swing=0.001)) == "stood_still"


def test_an_arm_that_moves_and_comes_nearer_is_left_alone() -> None:
    assert Script().play(9, apart_m=0.3, nearing_m_s=0.03) is None


def test_a_hand_that_comes_no_nearer_is_noticed() -> None:
    script = Script()
    assert script.play(4.9) is None
    assert reason(script.play(1)) == "no_progress"


def test_something_in_the_hand_is_progress_until_it_is_lost() -> None:
    script = Script()
    assert script.play(8, fixed_n=2.0, moving_n=2.0) is None
    assert reason(script.play(1, fixed_n=2.0)) == "dropped"


def test_what_is_let_go_where_it_belongs_is_not_dropped() -> None:
    script = Script()
    assert script.play(2, fixed_n=2.0, moving_n=2.0) is None
    script.seen = {}
    assert script.play(3) is None


def test_an_object_that_moves_without_being_held_is_noticed() -> None:
    script = Script()
    assert script.play(1) is None
    script.seen = {"cube": CUBE + np.array([0.0, 0.05, 0.0])}
    assert reason(script.play(1)) == "pushed"


def test_an_object_that_was_carried_may_lie_elsewhere() -> None:
    script = Script()
    assert script.play(2, fixed_n=2.0, moving_n=2.0) is None
    script.seen = {"cube": CUBE + np.array([0.0, 0.2, 0.1])}
    assert script.play(2, fixed_n=2.0, moving_n=2.0) is None


def test_an_arm_that_cannot_follow_is_noticed_but_a_moment_is_not() -> None:
    script = Script()
    assert script.play(0.2, lag_rad=0.2) is None
    assert script.play(1) is None
    assert reason(script.play(1, lag_rad=0.2)) == "blocked"


def test_the_time_of_a_policy_is_limited() -> None:
    script = Script(limit_s=2.0)
    noticed = script.play(3, apart_m=0.5, nearing_m_s=0.03)
    assert reason(noticed) == "out_of_time"
    assert script.frame / FPS == pytest.approx(2.1)


def test_a_random_time_is_drawn_from_the_seed_and_lies_in_its_range() -> None:
    times = []
    for seed in (1, 1, 2):
        script = Script(seed, after_s=Range(1.0, 4.0))
        assert reason(script.play(5)) == "random_time"
        times.append(script.frame)
    assert times[0] == times[1] != times[2]
    assert all(10 < each <= 42 for each in times)


def test_the_eye_looks_no_more_often_than_it_is_asked_to() -> None:
    script = Script(look_s=1.0)
    script.play(4)
    assert script.looks == 4
