"""What a depth camera makes of walls, floors and edges."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.rendering.depth_errors import LOST_SHARE, SIGMA_PER_M, DepthErrors, measured_depth
from graspline.rendering.picture import Depths, pixel_rays

HEIGHT, WIDTH, FOVY_RAD = 120, 160, 0.8


def wall(depth_m: float) -> Depths:
    return np.full((HEIGHT, WIDTH), depth_m, np.float32)


def floor(below_m: float, pitch_rad: float) -> Depths:
    """A floor so far below a camera that looks down by an angle; infinite above the horizon."""
    _, y, _ = np.moveaxis(pixel_rays(WIDTH, HEIGHT, FOVY_RAD), -1, 0)
    down = np.sin(pitch_rad) - y * np.cos(pitch_rad)
    return np.where(down > 1e-6, below_m / np.maximum(down, 1e-6), np.inf).astype(np.float32)


def measure(exact: Depths, errors: DepthErrors | None = None, seed: int = 0) -> Depths:
    return measured_depth(exact, FOVY_RAD, errors or DepthErrors(), np.random.default_rng(seed))


@pytest.mark.parametrize("depth_m", [0.5, 1.0, 2.0])
def test_noise_grows_with_the_square_of_depth(depth_m: float) -> None:
    found = measure(wall(depth_m))
    assert np.nanstd(found) == pytest.approx(SIGMA_PER_M * depth_m**2, rel=0.05)
    assert np.nanmean(found) == pytest.approx(depth_m, abs=0.1 * SIGMA_PER_M * depth_m**2)


def test_noise_and_holes_are_as_many_times_worse_as_asked_for() -> None:
    found = measure(wall(1.0), DepthErrors(sigma_factor=3.0, lost_share=0.2))
    assert np.nanstd(found) == pytest.approx(3 * SIGMA_PER_M, rel=0.05)
    assert np.isnan(found).mean() == pytest.approx(0.19, abs=0.03)
    assert np.isnan(measure(wall(1.0))).mean() == pytest.approx(LOST_SHARE, abs=0.015)


def test_a_seed_decides_all() -> None:
    np.testing.assert_array_equal(measure(wall(1.0), seed=5), measure(wall(1.0), seed=5))
    assert not np.array_equal(measure(wall(1.0), seed=5), measure(wall(1.0), seed=6), equal_nan=True)


def test_surfaces_seen_from_too_flat_an_angle_are_lost_and_others_are_not() -> None:
    found = np.isnan(measure(floor(0.3, 0.4)))
    exact = floor(0.3, 0.4)
    steep, flat = exact < 1.0, (exact > 5.0) & np.isfinite(exact)
    assert found[steep].mean() < 0.06
    assert found[flat].mean() > 0.6
    assert found[~np.isfinite(exact)].all()


def test_edges_are_ragged_and_some_of_their_pixels_fly() -> None:
    exact = wall(2.0)
    exact[:, :80] = 1.0
    found = measure(exact)
    edge = found[:, 79:81]
    assert 0.3 < np.isnan(edge).mean() < 0.7
    between = (edge > 1.05) & (edge < 1.9)
    assert 0.02 < between.mean() < 0.25
    assert np.isnan(found[:, :70]).mean() < 0.06


def test_what_is_too_near_or_too_far_is_not_measured() -> None:
    assert np.isnan(measure(wall(0.1))).all()
    assert np.isnan(measure(wall(8.0))).all()
