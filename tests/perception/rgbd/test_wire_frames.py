"""Solids drawn into a picture."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.perception.core.beliefs import Belief, Shape
from graspline.perception.rgbd.wire_frames import overlay_solids

from .depth_pictures import CAMERA_M, FOVY_RAD, R_OC


def solid(shape: Shape, x_m: float = 1.0) -> Belief:
    return Belief(
        name="mug",
        shape=shape,
        position_m=np.array([x_m, 0.0, 0.75]),
        quaternion=np.array([1.0, 0.0, 0.0, 0.0]),
        half_extents_m=np.full(3, 0.04),
        position_sigma_m=0.001,
        yaw_sigma_rad=0.0,
    )


@pytest.mark.parametrize("shape", ["box", "cylinder", "ball"])
def test_lines_are_drawn_where_a_solid_is_seen_and_only_there(shape: Shape) -> None:
    blank = np.zeros((240, 320, 3), np.uint8)
    drawn = overlay_solids(blank, CAMERA_M, R_OC, FOVY_RAD, [solid(shape)])
    rows, columns = np.nonzero(drawn.any(axis=-1))
    assert not blank.any()
    # Straight ahead, a little above the middle: 8 cm at a metre, and a word above.
    assert abs(columns.mean() - 159.5) < 4
    assert np.ptp(columns) < 92
    assert 20 < rows.min() < rows.max() < 180


def test_what_is_behind_the_camera_is_not_drawn() -> None:
    blank = np.zeros((240, 320, 3), np.uint8)
    assert not overlay_solids(blank, CAMERA_M, R_OC, FOVY_RAD, [solid("box", -1.0), solid("ball", -1.0)]).any()


def test_names_are_dark_on_a_bright_plate_however_dark_the_picture() -> None:
    drawn = overlay_solids(np.zeros((480, 640, 3), np.uint8), CAMERA_M, R_OC, FOVY_RAD, [solid("box")])
    rows, columns = np.nonzero((drawn == (40, 230, 90)).all(axis=-1))
    plate = drawn[rows.min() : rows.min() + 36, columns.min() : columns.max()]
    assert (plate.max(axis=-1) > 200).mean() > 0.5
    # As high as it can be read in 0.6 of the size.
    written, _ = np.nonzero(plate.max(axis=-1) < 60)
    assert np.ptp(written) >= 15


def test_names_of_things_behind_each_other_do_not_cover_each_other() -> None:
    blank = np.zeros((480, 640, 3), np.uint8)
    one, two = (overlay_solids(blank, CAMERA_M, R_OC, FOVY_RAD, [solid("box", x)]) for x in (1.0, 1.03))
    both = overlay_solids(blank, CAMERA_M, R_OC, FOVY_RAD, [solid("box", 1.0), solid("box", 1.03)])
    bright = [int((drawn == (40, 230, 90)).all(axis=-1).sum()) for drawn in (one, two, both)]
    assert bright[2] > 1.5 * min(bright[:2])
