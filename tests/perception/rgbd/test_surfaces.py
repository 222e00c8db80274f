"""Rectangles of table tops in computed depth pictures."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.perception.rgbd.clouds import view_of
from graspline.perception.rgbd.planes import Plane, SearchBox
from graspline.perception.rgbd.surfaces import Surface, surface_of

from .depth_pictures import CAMERA_M, HEIGHT, R_OC, TABLE_M, WIDTH, Array, picture_of, plane_depth, rays, table_depth

AROUND_TABLE = SearchBox(low_m=(0.3, -1.0, 0.6), high_m=(2.0, 1.0, 1.5))
LEVEL = Plane(normal=np.array([0.0, 0.0, 1.0]), offset_m=TABLE_M)


def seen(depth: Array) -> Surface:
    return surface_of(view_of(picture_of(depth), CAMERA_M, R_OC), LEVEL, AROUND_TABLE)


def test_a_table_ends_where_it_drops() -> None:
    surface = seen(table_depth((0.25, 0.35), (1.05, 0.02)))
    np.testing.assert_allclose(surface.middle_m, (1.05, 0.02, TABLE_M), atol=0.012)
    np.testing.assert_allclose(surface.half_m, (0.25, 0.35), atol=0.012)
    assert (surface.near, surface.far, surface.right, surface.left) == ("drop",) * 4
    assert surface.yaw_rad == pytest.approx(0.0, abs=0.01)


def test_a_side_beyond_the_picture_is_not_seen() -> None:
    surface = seen(table_depth((0.25, 2.0)))
    assert (surface.near, surface.far) == ("drop", "drop")
    assert (surface.right, surface.left) == ("unseen", "unseen")


def test_a_wall_behind_a_board_is_found_exactly_though_something_hides_its_foot() -> None:
    back = plane_depth(np.array([1.0, 0.0, 0.0]), 1.3)
    depth = np.minimum(table_depth((0.4, 0.35), (1.0, 0.0)), back)
    there = CAMERA_M + rays() * depth[..., None]
    hides = (np.abs(there[..., 1]) < 0.15) & (there[..., 0] > 1.2) & (there[..., 2] < 0.9)
    depth = np.where(hides, np.minimum(depth, plane_depth(np.array([1.0, 0.0, 0.0]), 1.2)), depth)
    surface = seen(depth)
    assert depth.shape == (HEIGHT, WIDTH)
    assert surface.far == "rise"
    assert surface.middle_m[0] + surface.half_m[0] == pytest.approx(1.3, abs=0.003)


def test_as_a_solid_it_has_the_surface_on_top() -> None:
    surface = seen(table_depth())
    slab = surface.as_solid(0.03, "table")
    assert slab.name == "table"
    assert slab.top_m == pytest.approx(surface.middle_m[2])
    assert slab.bottom_m == pytest.approx(surface.middle_m[2] - 0.03)
    np.testing.assert_allclose(surface.in_own_frame(surface.middle_m), (0.0, 0.0), atol=1e-12)
