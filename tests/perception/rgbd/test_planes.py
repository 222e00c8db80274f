"""Level planes in computed depth pictures."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.perception.rgbd.clouds import view_of
from graspline.perception.rgbd.planes import NoPlane, Plane, SearchBox, expected_inverse, find_plane

from .depth_pictures import CAMERA_M, R_OC, TABLE_M, picture_of, plane_depth, table_depth

AROUND_TABLE = SearchBox(low_m=(0.3, -1.0, 0.6), high_m=(2.0, 1.0, 0.85))
ANYWHERE = SearchBox(low_m=(-9.0, -9.0, -1.0), high_m=(9.0, 9.0, 3.0))


def test_a_table_is_found_to_a_fraction_of_a_millimetre() -> None:
    plane = find_plane(view_of(picture_of(table_depth()), CAMERA_M, R_OC), AROUND_TABLE)
    assert isinstance(plane, Plane)
    assert plane.height_m(1.1, 0.0) == pytest.approx(TABLE_M, abs=0.0005)
    assert plane.tilt_rad < np.radians(0.1)


def test_things_on_a_table_do_not_tilt_it() -> None:
    depth = table_depth()
    depth[100:160, 60:130] *= 0.9
    plane = find_plane(view_of(picture_of(depth), CAMERA_M, R_OC), AROUND_TABLE)
    assert isinstance(plane, Plane)
    assert plane.height_m(1.1, 0.0) == pytest.approx(TABLE_M, abs=0.001)
    assert plane.tilt_rad < np.radians(0.2)


def test_bounds_choose_between_table_and_floor() -> None:
    view = view_of(picture_of(table_depth((0.15, 0.2))), CAMERA_M, R_OC)
    floor, table = find_plane(view, ANYWHERE), find_plane(view, AROUND_TABLE)
    assert isinstance(floor, Plane)
    assert isinstance(table, Plane)
    assert floor.height_m(1.1, 0.0) == pytest.approx(0.0, abs=0.003)
    assert table.height_m(1.1, 0.0) == pytest.approx(TABLE_M, abs=0.001)


@pytest.mark.parametrize("normal", [(0.5, 0.0, 1.0), (1.0, 0.0, 0.0)])
def test_what_is_not_level_is_no_plane(normal: tuple[float, float, float]) -> None:
    unit = np.array(normal) / np.linalg.norm(normal)
    depth = plane_depth(unit, float(unit @ np.array([1.1, 0.0, 0.72])))
    assert isinstance(find_plane(view_of(picture_of(depth), CAMERA_M, R_OC), ANYWHERE), NoPlane)


def test_with_too_little_in_sight_there_is_no_plane() -> None:
    found = find_plane(view_of(picture_of(table_depth((0.02, 0.02))), CAMERA_M, R_OC), AROUND_TABLE)
    assert isinstance(found, NoPlane)
    assert found.agreed < found.least


def test_a_tilted_plane_is_level_for_the_camera_turned_back() -> None:
    normal = np.array([0.02, -0.03, 1.0]) / np.linalg.norm([0.02, -0.03, 1.0])
    depth = plane_depth(normal, float(normal @ np.array([1.1, 0.0, TABLE_M])))
    view = view_of(picture_of(depth), CAMERA_M, R_OC)
    tilted = find_plane(view, AROUND_TABLE)
    assert isinstance(tilted, Plane)
    turned, level = tilted.levelled(view)
    assert level.tilt_rad == 0.0
    off = (turned.inverse - expected_inverse(turned, level))[turned.measured]
    assert np.abs(np.median(off)) < 0.2 * turned.sigma
    again = find_plane(turned, AROUND_TABLE)
    assert isinstance(again, Plane)
    assert again.tilt_rad < np.radians(0.05)
