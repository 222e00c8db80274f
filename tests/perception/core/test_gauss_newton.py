"""Settling: a shape is moved until it reaches as far as it is seen to, and no less where it is hidden."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.perception.core.gauss_newton import Settling, settle

Array = NDArray[np.float64]

TURN = np.arange(12) * (np.pi / 6)
DIRECTIONS = np.stack([np.cos(TURN), np.sin(TURN)])
ROUNDS_PX = (np.inf, np.inf, np.inf)


def reaches(circles: Array) -> Array:
    """(B, 12): how far circles (x, y, radius) reach in each direction."""
    return circles[:, :2] @ DIRECTIONS + circles[:, 2:]


def settling(radius_sigma: float = 100.0) -> Settling:
    return Settling(
        believed=np.array([0.0, 0.0, 8.0]),
        doubt=np.array([100.0, 100.0, radius_sigma]),
        steps=np.full(3, 1e-3),
        low=np.array([-np.inf, -np.inf, 1.0]),
        high=np.full(3, np.inf),
        edge_sigma_px=1.0,
    )


CIRCLE = np.array([3.0, -2.0, 10.0])
SEEN = reaches(CIRCLE[None])[0]
ALL = np.ones(12, bool)


def test_a_shape_that_is_seen_all_around_is_found() -> None:
    found = settle(reaches, SEEN, ALL, settling(), np.array([0.0, 0.0, 8.0]), ROUNDS_PX)
    np.testing.assert_allclose(found.parameters, CIRCLE, atol=0.01)
    assert found.misfit_px == pytest.approx(0.0, abs=0.01)


def test_where_it_is_hidden_a_shape_may_reach_farther_but_not_less_far() -> None:
    cut_off = SEEN - np.where(TURN < 2.0, 4.0, 0.0)
    found = settle(reaches, cut_off, TURN >= 2.0, settling(), np.array([0.0, 0.0, 8.0]), ROUNDS_PX)
    np.testing.assert_allclose(found.parameters, CIRCLE, atol=0.01)


def test_what_is_too_far_off_does_not_count() -> None:
    stray = SEEN + np.where(TURN == 0.0, 30.0, 0.0)
    found = settle(reaches, stray, ALL, settling(), CIRCLE, (8.0, 8.0))
    np.testing.assert_allclose(found.parameters, CIRCLE, atol=0.01)
    assert found.counted.sum() == 11


def test_a_firm_belief_stands_against_what_is_seen() -> None:
    found = settle(reaches, SEEN, ALL, settling(radius_sigma=0.01), np.array([0.0, 0.0, 8.0]), (np.inf,) * 40)
    assert found.parameters[2] == pytest.approx(8.0, abs=0.1)
