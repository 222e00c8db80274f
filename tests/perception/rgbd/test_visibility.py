"""Shapes fitted to computed depth pictures of a table: where they are, where they are not, and behind a screen."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.perception.rgbd.above_surface import Ground, ground_of
from graspline.perception.rgbd.clouds import view_of
from graspline.perception.rgbd.objects import Fit
from graspline.perception.rgbd.planes import Plane
from graspline.perception.rgbd.visibility import seen_through

from .depth_pictures import CAMERA_M, R_OC, TABLE_M, box_depth, picture_of, table_depth

UP = np.array([0.0, 0.0, 1.0])
HALF_M = np.array([0.04, 0.06, 0.08])
AT_M = np.array([1.1, 0.05, TABLE_M + HALF_M[2]])
SCREEN_M, SCREEN_HALF_M = np.array([0.8, 0.05, TABLE_M]), np.array([0.01, 0.2, 0.3])


def ground(*boxes: tuple[np.ndarray, np.ndarray]) -> Ground:
    """A table with boxes, each by its middle and half its size."""
    depth = table_depth()
    for middle_m, half_m in boxes:
        depth = np.minimum(depth, box_depth(middle_m, half_m))
    return ground_of(view_of(picture_of(depth), CAMERA_M, R_OC), Plane(normal=UP, offset_m=TABLE_M))


def fit(y_m: float = 0.05) -> Fit:
    upright = np.array([AT_M[0] - CAMERA_M[0], y_m - CAMERA_M[1], 0.0, HALF_M[0], HALF_M[1], 2 * HALF_M[2]])
    return Fit(shape="box", upright=upright, chosen=(0, 1, 2), covariance=np.eye(3), misfit=1.0)


def test_nothing_is_seen_through_what_is_there() -> None:
    assert seen_through(ground((AT_M, HALF_M)), fit()) < 0.02


def test_an_empty_place_is_seen_through() -> None:
    assert seen_through(ground(), fit()) > 0.9


def test_a_shape_half_beside_what_is_there_is_seen_through_by_half() -> None:
    assert seen_through(ground((AT_M, HALF_M)), fit(y_m=0.05 + HALF_M[1])) == pytest.approx(0.5, abs=0.1)


def test_nobody_sees_through_what_hides_it() -> None:
    assert seen_through(ground((SCREEN_M, SCREEN_HALF_M)), fit()) == 0.0


def test_nothing_is_known_of_what_is_outside_of_the_picture() -> None:
    assert seen_through(ground(), fit(y_m=3.0)) == 0.0
