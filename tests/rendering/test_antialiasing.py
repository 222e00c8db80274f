"""Edges that are smoothed in a finished picture."""

from __future__ import annotations

import numpy as np

from graspline.rendering.antialiasing import antialiased
from graspline.rendering.picture import Pixels


def slope(per_row: float) -> Pixels:
    """Black beside white, the edge leaning by so many pixels per row."""
    rows, columns = np.mgrid[0:60, 0:80]
    return np.repeat((255 * (columns > 20 + per_row * rows)).astype(np.uint8)[..., None], 3, axis=2)


def coverage(per_row: float) -> np.ndarray:
    """The same as many samples of each pixel have it."""
    fine = (np.arange(16) + 0.5) / 16 - 0.5
    down, right = np.meshgrid(fine, fine, indexing="ij")
    rows, columns = (each[..., None, None] for each in np.mgrid[0:60, 0:80])
    rows, columns = rows + down, columns + right
    return 255 * (columns > 20 + per_row * rows).mean(axis=(2, 3))


def test_a_leaning_edge_comes_nearer_to_what_many_samples_show() -> None:
    for per_row in (0.2, 0.35, 0.8):
        rough, wanted = slope(per_row), coverage(per_row)
        inner = (slice(10, 50), slice(10, 75))
        before = np.abs(rough[..., 0].astype(float) - wanted)[inner].mean()
        after = np.abs(antialiased(rough)[..., 0].astype(float) - wanted)[inner].mean()
        assert after < 0.7 * before


def test_even_surfaces_and_slight_shades_stay_as_they_are() -> None:
    shades = np.repeat(np.linspace(90, 120, 80).astype(np.uint8)[None, :, None], 60, axis=0).repeat(3, axis=2)
    assert np.array_equal(antialiased(shades), shades)
    assert np.array_equal(antialiased(np.full((8, 8, 3), 7, np.uint8)), np.full((8, 8, 3), 7, np.uint8))


def test_a_straight_edge_along_the_pixels_stays_sharp() -> None:
    rough = slope(0.0)
    assert np.abs(antialiased(rough).astype(int) - rough).max() < 20
