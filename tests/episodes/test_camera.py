"""Pictures in the dark, frozen, late, with depth, and with a camera that errs about its own place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Blind, Misjudge, Place, Roughen, See
from graspline.episodes.camera import Camera
from graspline.execution.requests import Look
from graspline.execution.sensor_faults import Eyesight
from graspline.rendering.picture import Depths, Picture
from graspline.scenes.cube_table import CUBE, cube_start, cube_table
from graspline.scenes.variation import Variation


class Eye:
    """One lane that is looked at."""

    def __init__(self, lanes: int = 1) -> None:
        self.engine = CpuEngine(cube_table(), lanes, 1)
        self.eyesight = Eyesight(self.engine)
        self.camera = Camera(self.engine, self.eyesight)
        for lane in range(lanes):
            self.begin(lane, Variation())

    def begin(self, lane: int, variation: Variation, seed: int = 0) -> None:
        self.engine.reset(lane, cube_start(x_m=0.25, y_m=0.1, yaw_rad=0.0, edge_m=0.03), variation)
        self.camera.begin(lane, variation, seed=seed)

    def look(self, camera: str = "front") -> Picture:
        return self.camera(0, Look(camera, 48, 36))

    def depth(self, lane: int = 0, camera: str = "front") -> Depths:
        found = self.camera(lane, Look(camera, 48, 36, depth=True)).depth_m
        assert found is not None
        return found

    def wait(self) -> None:
        controls = np.tile(self.engine.scene.robot.home, (self.engine.count, 1))
        self.engine.step(controls, np.arange(self.engine.count))

    def move(self) -> None:
        self.engine.apply(0, Place(body=CUBE, position_m=(0.25, -0.15, 0.015)))


@pytest.fixture
def eye() -> Iterator[Eye]:
    found = Eye()
    yield found
    found.camera.close()


def test_a_blackout_is_black_and_ends(eye: Eye) -> None:
    before = eye.look()
    eye.eyesight.apply(0, Blind(kind="black"))
    dark = eye.look()
    assert not dark.rgb.any()
    np.testing.assert_array_equal(dark.position_m, before.position_m)
    eye.eyesight.apply(0, See())
    np.testing.assert_array_equal(eye.look().rgb, before.rgb)


def test_one_camera_may_be_dark_alone(eye: Eye) -> None:
    eye.eyesight.apply(0, Blind(kind="black", camera="wrist"))
    assert not eye.look("wrist").rgb.any()
    assert eye.look("front").rgb.any()


def test_a_frozen_picture_stays_as_it_was_until_it_moves_on(eye: Eye) -> None:
    before = eye.look()
    eye.eyesight.apply(0, Blind(kind="frozen"))
    eye.move()
    np.testing.assert_array_equal(eye.look().rgb, before.rgb)
    eye.eyesight.apply(0, See())
    assert not np.array_equal(eye.look().rgb, before.rgb)


def test_late_pictures_show_what_was(eye: Eye) -> None:
    before = eye.look()
    eye.eyesight.apply(0, Misjudge(delay_s=2 / 60))
    eye.move()
    late = []
    for _ in range(3):
        eye.eyesight.remember([0])
        late.append(np.array_equal(eye.look().rgb, before.rgb))
    assert late == [True, True, False]


def test_noise_moves_the_camera_in_its_own_mind_and_leaves_the_picture(eye: Eye) -> None:
    before = eye.look()
    eye.eyesight.apply(0, Misjudge(sigma_m=0.005, seed=1))
    noisy = eye.look()
    np.testing.assert_array_equal(noisy.rgb, before.rgb)
    assert 0 < np.linalg.norm(noisy.position_m - before.position_m) < 0.03


def test_depth_is_given_to_those_who_ask_for_it_and_changes_nothing_else(eye: Eye) -> None:
    plain, deep = eye.look(), eye.camera(0, Look("front", 48, 36, depth=True))
    assert plain.depth_m is None
    np.testing.assert_array_equal(plain.rgb, deep.rgb)
    assert deep.depth_m is not None
    assert deep.depth_m.dtype == np.float32
    assert 0.5 < np.nanmedian(deep.depth_m) < 1.5


def test_errors_of_depth_are_those_of_seed_camera_and_time_whatever_the_lane() -> None:
    eye = Eye(lanes=3)
    try:
        eye.begin(0, Variation(), seed=7)
        eye.begin(2, Variation(), seed=7)
        np.testing.assert_array_equal(eye.depth(0), eye.depth(2))
        np.testing.assert_array_equal(eye.depth(0), eye.depth(0))
        assert not np.array_equal(eye.depth(0), eye.depth(1), equal_nan=True)
        before = eye.depth(0)
        eye.wait()
        assert not np.array_equal(eye.depth(0), before, equal_nan=True)
        np.testing.assert_array_equal(eye.depth(0), eye.depth(2))
    finally:
        eye.camera.close()


def test_in_a_blackout_there_is_no_depth_and_a_frozen_one_has_its_old_errors(eye: Eye) -> None:
    before = eye.depth()
    eye.eyesight.apply(0, Blind(kind="frozen"))
    eye.wait()
    np.testing.assert_array_equal(eye.depth(), before)
    eye.eyesight.apply(0, Blind(kind="black"))
    assert np.isnan(eye.depth()).all()


def test_depth_may_be_rough_for_a_while_or_for_a_whole_episode(eye: Eye) -> None:
    holes, wrist = np.isnan(eye.depth()).mean(), eye.depth(camera="wrist")
    eye.eyesight.apply(0, Roughen(hole_share=0.4, camera="front"))
    rough = np.isnan(eye.depth()).mean()
    assert rough > holes + 0.2
    np.testing.assert_array_equal(eye.depth(camera="wrist"), wrist)
    eye.eyesight.apply(0, See())
    assert np.isnan(eye.depth()).mean() == holes
    eye.begin(0, Variation(depth_hole_share=0.4))
    assert np.isnan(eye.depth()).mean() == rough
