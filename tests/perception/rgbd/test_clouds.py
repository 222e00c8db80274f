"""Points and noise of computed depth pictures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graspline.perception.rgbd.clouds import ray_parts, rays_of, view_of
from graspline.rendering.depth_errors import SIGMA_PER_M
from graspline.spatial.rotations import matrix_from_vector

from .depth_pictures import CAMERA_M, HEIGHT, R_OC, TABLE_M, WIDTH, picture_of, plane_depth, rays, table_depth

UP = np.array([0.0, 0.0, 1.0])


def test_points_are_where_the_depth_says() -> None:
    exact = plane_depth(UP, TABLE_M)
    view = view_of(picture_of(exact, noise=0.0), CAMERA_M, R_OC)
    there = np.isfinite(exact) & view.measured
    np.testing.assert_allclose(view.points_m[2][there], TABLE_M, atol=1e-5)
    expected = CAMERA_M + rays()[there] * exact[there][:, None]
    np.testing.assert_allclose(view.points_m[:, there].T, expected, atol=1e-5)


def test_rays_go_through_their_pixels_and_parts_of_them_add_up() -> None:
    lens = view_of(picture_of(table_depth()), CAMERA_M, R_OC).lens
    rows, columns = np.array([0, 100, 239]), np.array([5, 160, 319])
    found = rays_of(lens, rows, columns)
    np.testing.assert_allclose(found, rays()[rows, columns], atol=1e-12)
    np.testing.assert_allclose(lens.pixels(lens.position_m + 2 * found), np.stack([columns, rows], axis=1), atol=1e-9)
    down, across = ray_parts(lens, np.array([0.2, -0.5, 1.0]))
    np.testing.assert_allclose((down + across)[rows, columns], found @ np.array([0.2, -0.5, 1.0]), atol=1e-12)


@pytest.mark.parametrize("noise", [1.0, 3.0])
def test_the_noise_of_a_camera_is_measured(noise: float) -> None:
    assert view_of(picture_of(table_depth(), noise), CAMERA_M, R_OC).sigma == pytest.approx(
        noise * SIGMA_PER_M, rel=0.05
    )


def test_pixels_between_two_surfaces_are_dropped_and_others_are_kept() -> None:
    exact = table_depth()
    picture = picture_of(exact)
    assert picture.depth_m is not None
    flying = np.zeros((HEIGHT, WIDTH), bool)
    flying[20:220:10, 20:300:10] = True
    picture.depth_m[flying] *= np.float32(0.8)
    view = view_of(picture, CAMERA_M, R_OC)
    assert not view.measured[flying].any()
    assert view.measured[np.isfinite(exact) & ~flying].mean() > 0.97


def test_a_turned_view_is_what_a_turned_camera_sees() -> None:
    turn = matrix_from_vector(np.array([0.02, -0.01, 0.03]))
    picture = picture_of(table_depth())
    turned, other = view_of(picture, CAMERA_M, R_OC).turned(turn), view_of(picture, CAMERA_M, turn @ R_OC)
    seen = other.measured
    np.testing.assert_allclose(turned.points_m[:, seen], other.points_m[:, seen], atol=1e-5)


def test_where_nothing_is_near_enough_is_void_and_a_hole_is_not() -> None:
    exact = table_depth()
    exact[:40] = np.inf
    exact[150:153, 100:103] = np.inf
    void = view_of(picture_of(exact), CAMERA_M, R_OC).void
    assert void[:40].all()
    assert not void[60:].any()


def test_what_is_infinitely_far_away_is_as_what_was_not_measured() -> None:
    unmeasured = picture_of(np.where(np.arange(HEIGHT)[:, None] < 40, np.inf, table_depth()))
    assert unmeasured.depth_m is not None
    endless = replace(unmeasured, depth_m=np.nan_to_num(unmeasured.depth_m, nan=np.inf))
    with np.errstate(all="raise"):
        one, other = (view_of(picture, CAMERA_M, R_OC) for picture in (endless, unmeasured))
    assert not one.measured[:40].any()
    np.testing.assert_array_equal(one.inverse, other.inverse)
    np.testing.assert_array_equal(one.points_m, other.points_m)
    np.testing.assert_array_equal(one.void, other.void)


def test_the_pose_in_a_picture_is_not_used() -> None:
    picture = picture_of(table_depth())
    elsewhere = replace(picture, position_m=np.ones(3), rotation=np.eye(3))
    one, other = view_of(picture, CAMERA_M, R_OC), view_of(elsewhere, CAMERA_M, R_OC)
    np.testing.assert_array_equal(one.points_m, other.points_m)
