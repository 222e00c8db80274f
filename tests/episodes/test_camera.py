"""Pictures in the dark, frozen, late and with a camera that errs about its own place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Blind, Misjudge, Place, See
from graspline.episodes.camera import Camera
from graspline.execution.eyesight import Eyesight
from graspline.execution.requests import Look
from graspline.rendering.picture import Picture
from graspline.scenes.cube_table import CUBE, cube_start, cube_table
from graspline.scenes.variation import Variation


class Eye:
    """One lane that is looked at."""

    def __init__(self) -> None:
        self.engine = CpuEngine(cube_table(), 1, 1)
        self.engine.reset(0, cube_start(x_m=0.25, y_m=0.1, yaw_rad=0.0, edge_m=0.03), Variation())
        self.eyesight = Eyesight(self.engine)
        self.camera = Camera(self.engine, self.eyesight)
        self.camera.begin(0, Variation())

    def look(self, camera: str = "front") -> Picture:
        return self.camera(0, Look(camera, 48, 36))

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
        eye.eyesight.remember()
        late.append(np.array_equal(eye.look().rgb, before.rgb))
    assert late == [True, True, False]


def test_noise_moves_the_camera_in_its_own_mind_and_leaves_the_picture(eye: Eye) -> None:
    before = eye.look()
    eye.eyesight.apply(0, Misjudge(sigma_m=0.005, seed=1))
    noisy = eye.look()
    np.testing.assert_array_equal(noisy.rgb, before.rgb)
    assert 0 < np.linalg.norm(noisy.position_m - before.position_m) < 0.03
