"""Silhouettes: as large as they should look, and how far they reach beyond points in the picture."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.perception.core.outlines import Lens
from graspline.perception.core.silhouettes import beyond_px, length_px, pixels_inside, silhouette_px
from graspline.scenes.scene import ObjectShape

# Looks straight down from a metre above.
LENS = Lens(position_m=np.array([0.0, 0.0, 1.0]), rotation=np.eye(3), focal_px=800.0, width=640, height=480)


def test_points_inside_are_reached_beyond_by_their_distance_from_the_nearest_side() -> None:
    silhouette = silhouette_px(LENS, "box", np.array([0.025, 0.025, 0.0]), np.zeros(3), np.eye(3))
    middle = np.array([319.5, 239.5])
    np.testing.assert_allclose(
        beyond_px(silhouette, middle + np.array([[0.0, 0.0], [15.0, 0.0], [20.0, 5.0], [0.0, -23.0]])),
        [20.0, 5.0, 0.0, -3.0],
        atol=1e-3,
    )
    assert length_px(silhouette) == pytest.approx(160.0, abs=1e-3)


@pytest.mark.parametrize("shape", ["cylinder", "ball"])
def test_something_round_looks_round(shape: ObjectShape) -> None:
    half = np.full(3, 0.02) if shape == "ball" else np.array([0.02, 0.02, 0.0])
    silhouette = silhouette_px(LENS, shape, half, np.zeros(3), np.eye(3))
    radius = np.hypot(*(silhouette - np.array([319.5, 239.5])).T)
    assert np.ptp(radius) < 0.01
    assert radius.mean() == pytest.approx(16.0, rel=0.004)


def test_pixels_inside_are_those_a_silhouette_covers() -> None:
    silhouette = silhouette_px(LENS, "box", np.array([0.025, 0.0125, 0.0]), np.zeros(3), np.eye(3))
    inside = pixels_inside(silhouette, LENS.width, LENS.height)
    assert len(inside) == 40 * 20
    np.testing.assert_array_equal(inside.min(axis=0), (300, 230))


@given(st.floats(-0.1, 0.1), st.floats(-0.1, 0.1), st.floats(-3.2, 3.2))
def test_every_corner_of_a_box_is_within_its_silhouette(x: float, y: float, yaw: float) -> None:
    cosine, sine = np.cos(yaw), np.sin(yaw)
    rotation = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    half, at = np.array([0.03, 0.01, 0.02]), np.array([x, y, 0.02])
    corners = at + np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]) * half @ rotation.T
    assert beyond_px(silhouette_px(LENS, "box", half, at, rotation), LENS.pixels(corners)).min() > -1e-3
