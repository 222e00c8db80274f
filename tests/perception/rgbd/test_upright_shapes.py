"""What a camera sees of boxes, cylinders and balls, held against their surfaces and their silhouettes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.perception.core.outlines import Array, Lens
from graspline.perception.core.silhouettes import beyond_px, silhouette_px
from graspline.perception.rgbd.upright_shapes import (
    footprint_m,
    half_extents_m,
    inverse_depths,
    reaches_px,
    with_numbers,
)
from graspline.scenes.scene import ObjectShape
from graspline.spatial.rotations import rotation_x, rotation_z

LENS = Lens(
    position_m=np.array([0.0, 0.0, 0.4]),
    rotation=rotation_z(-np.pi / 2) @ rotation_x(np.pi / 2 - 0.4),
    focal_px=580.0,
    width=640,
    height=480,
)
SHAPES: tuple[ObjectShape, ...] = ("box", "cylinder", "ball")
UPRIGHTS = st.tuples(
    st.floats(0.7, 1.3), st.floats(-0.3, 0.3), st.floats(-3, 3), st.floats(0.02, 0.06), st.floats(0.02, 0.06),
    st.floats(0.04, 0.3),
).map(np.array)  # fmt: skip


def made(shape: ObjectShape, numbers: Array) -> Array:
    return with_numbers(shape, numbers, (), np.zeros((1, 0)))


def outside_m(shape: ObjectShape, upright: Array, points: Array) -> Array:
    """How far points (N, 3) are from the surface of a shape."""
    half = half_extents_m(upright)
    off = (points - np.array([upright[0], upright[1], half[2]])) @ rotation_z(upright[2])
    if shape == "ball":
        return np.abs(np.linalg.norm(off, axis=1) - half[0])
    beyond = np.abs(off) - half
    if shape == "cylinder":
        beyond = np.stack([np.hypot(off[:, 0], off[:, 1]) - half[0], np.abs(off[:, 2]) - half[2]], axis=1)
    return np.abs(beyond.max(axis=1))


@pytest.mark.parametrize("shape", SHAPES)
@given(numbers=UPRIGHTS)
@settings(max_examples=40)
def test_rays_end_on_the_surface(shape: ObjectShape, numbers: Array) -> None:
    upright = made(shape, numbers)
    middle = LENS.pixels(np.array([upright[0, 0], upright[0, 1], upright[0, 5] / 2]))
    around = middle + np.random.default_rng(0).uniform(-8, 8, (20, 2))
    rays = LENS.rays(around)
    rays = rays / -(rays @ LENS.rotation)[:, 2:]
    found, hit = inverse_depths(shape, upright, LENS.position_m, rays)
    assert hit.any()
    points = LENS.position_m + rays[hit[0]] / found[0, hit[0], None]
    assert outside_m(shape, upright[0], points).max() < 1e-9


@pytest.mark.parametrize("shape", SHAPES)
@given(numbers=UPRIGHTS)
@settings(max_examples=40)
def test_outlines_of_many_are_those_of_one(shape: ObjectShape, numbers: Array) -> None:
    uprights = np.concatenate([made(shape, numbers), made(shape, numbers + 0.001)])
    for upright, reach in zip(uprights, reaches_px(LENS, shape, uprights, _near(uprights[0])), strict=True):
        half = half_extents_m(upright)
        place = np.array([upright[0], upright[1], half[2]])
        expected = beyond_px(silhouette_px(LENS, shape, half, place, rotation_z(upright[2])), _near(uprights[0]))
        # Circles are made of so many corners here and of others there, which matters far outside.
        near = np.abs(expected) < 5
        assert np.abs(reach - expected)[near].max(initial=0.0) < (0.01 if shape == "box" else 0.3)


def _near(upright: Array) -> Array:
    middle = LENS.pixels(np.array([upright[0], upright[1], upright[5] / 2]))
    return middle + np.random.default_rng(1).normal(0, 15, (30, 2))


def test_a_ray_that_passes_by_meets_nothing() -> None:
    upright = made("box", np.array([1.0, 0.0, 0.0, 0.03, 0.03, 0.1]))
    _, hit = inverse_depths("box", upright, LENS.position_m, np.array([[1.0, 0.5, 0.0], [1.0, 0.0, 0.2]]))
    assert not hit.any()


@pytest.mark.parametrize("shape", SHAPES)
def test_footprints_are_as_wide_as_the_shape(shape: ObjectShape) -> None:
    print_m = footprint_m(shape, made(shape, np.array([1.0, 0.2, 0.0, 0.03, 0.05, 0.1]))[0])
    wide = 0.05 if shape == "box" else 0.03
    np.testing.assert_allclose(np.ptp(print_m, axis=0), (0.06, 2 * wide), rtol=0.01)
    np.testing.assert_allclose(print_m.mean(axis=0), (1.0, 0.2), atol=1e-9)
