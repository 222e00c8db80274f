"""Rectangles: never said to be farther apart than they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.spatial.rectangles import separation_m

Array = NDArray[np.float64]

YAWS = st.floats(-np.pi, np.pi)
HALVES = st.tuples(st.floats(0.005, 0.05), st.floats(0.005, 0.05))
SHARES = st.tuples(st.floats(-1, 1), st.floats(-1, 1))


def corners(half: tuple[float, float], yaw: float) -> Array:
    square = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * half
    cosine, sine = np.cos(yaw), np.sin(yaw)
    return square @ np.array([[cosine, sine], [-sine, cosine]])


def point_of(half: tuple[float, float], yaw: float, shares: tuple[float, float]) -> Array:
    """Somewhere within a rectangle: 1 is at its side."""
    along, across = shares[0] * half[0], shares[1] * half[1]
    return along * np.array([np.cos(yaw), np.sin(yaw)]) + across * np.array([-np.sin(yaw), np.cos(yaw)])


def inside(point: Array, half: tuple[float, float], yaw: float) -> bool:
    x, y = point @ np.array([np.cos(yaw), np.sin(yaw)]), point @ np.array([-np.sin(yaw), np.cos(yaw)])
    return bool(abs(x) <= half[0] and abs(y) <= half[1])


@settings(max_examples=200, deadline=None)
@given(HALVES, YAWS, HALVES, YAWS, SHARES, SHARES)
def test_rectangles_with_a_common_point_are_never_said_to_be_apart(
    first: tuple[float, float],
    turn: float,
    second: tuple[float, float],
    other: float,
    one: tuple[float, float],
    two: tuple[float, float],
) -> None:
    # A point of either, put upon each other.
    here, there = point_of(first, turn, one), point_of(second, other, two)
    assert inside(here, (first[0] + 1e-9, first[1] + 1e-9), turn)
    assert separation_m(first, turn, second, other, here - there) <= 1e-9


@settings(max_examples=200, deadline=None)
@given(HALVES, YAWS, HALVES, YAWS, st.floats(-0.15, 0.15), st.floats(-0.15, 0.15))
def test_a_separation_is_a_true_distance_at_most_and_the_same_from_either_side(
    first: tuple[float, float], turn: float, second: tuple[float, float], other: float, x: float, y: float
) -> None:
    apart = np.array([x, y])
    told = separation_m(first, turn, second, other, apart)
    assert told == pytest.approx(separation_m(second, other, first, turn, -apart), abs=1e-12)
    nearest = np.linalg.norm(corners(first, turn)[:, None] - corners(second, other) - apart, axis=2).min()
    assert told <= nearest + 1e-12
    if told < 0:
        # As much as one would have to move for them to part.
        assert any(
            separation_m(first, turn, second, other, apart - told * way) >= -1e-9
            for heading in (turn, turn + np.pi / 2, other, other + np.pi / 2)
            for way in (np.array([np.cos(heading), np.sin(heading)]), -np.array([np.cos(heading), np.sin(heading)]))
        )


def test_squares_side_by_side_are_as_far_apart_as_their_sides() -> None:
    square = (0.02, 0.02)
    assert separation_m(square, 0.0, square, np.pi / 2, np.array([0.05, 0.0])) == pytest.approx(0.01)
    assert separation_m(square, 0.0, square, 0.0, np.array([0.03, 0.0])) == pytest.approx(-0.01)
    diamond = 0.02 + 0.02 * np.sqrt(2)
    assert separation_m(square, 0.0, square, np.pi / 4, np.array([diamond, 0.0])) == pytest.approx(0.0, abs=1e-12)
