"""The plate: how far out a ball may lie, and a spot's distances beside their limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.placement.plate import (
    Plate,
    SpotParameters,
    apart_m,
    farthest_m,
    inside_m,
)
from graspline.scenes.fruit_table import FLOOR_M, RIM_RADIUS_M, RIM_TOP_M

from .distances import rim_gap_m

SPOTS = SpotParameters()
PLATE = Plate(x_m=0.2, y_m=-0.1, radius_m=0.105)


def test_a_plate_is_shaped_like_that_of_the_scene() -> None:
    assert (PLATE.floor_m, PLATE.rim_tube_m, PLATE.rim_height_m) == (FLOOR_M, RIM_RADIUS_M, RIM_TOP_M)


@given(st.floats(0.02, 0.04), st.floats(0.06, 0.2))
def test_the_farthest_ball_is_inside_and_clears_the_rim_and_a_farther_one_does_not(ball: float, wide: float) -> None:
    plate = Plate(x_m=0, y_m=0, radius_m=wide)
    farthest = farthest_m(plate, ball, SPOTS)
    limits = rim_gap_m(plate, ball, farthest) - SPOTS.rim_gap_m, inside_m(plate, SPOTS.edge_margin_m) - farthest
    assert min(limits) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("ball", [0.025, 0.030, 0.035])
def test_the_farthest_ball_clears_a_rim_that_is_built_from_twenty_straight_pieces(ball: float) -> None:
    # Pieces end on the ring; halfway between, they are nearest to the ball.
    inward = (PLATE.radius_m - PLATE.rim_tube_m) * np.cos(np.pi / 20) - farthest_m(PLATE, ball, SPOTS)
    up = PLATE.floor_m + ball - (PLATE.rim_height_m - PLATE.rim_tube_m)
    assert np.hypot(inward, up) > ball + PLATE.rim_tube_m


def test_a_ball_overhangs_the_rim_but_its_centre_stays_well_inside() -> None:
    farthest = farthest_m(PLATE, 0.03, SPOTS)
    assert farthest + 0.03 > PLATE.radius_m
    assert farthest < inside_m(PLATE, SPOTS.edge_margin_m) == pytest.approx(0.087)


def test_a_ball_too_large_for_the_plate_may_lie_nowhere() -> None:
    assert farthest_m(Plate(x_m=0, y_m=0, radius_m=0.025), 0.035, SPOTS) < 0


def test_small_fruits_keep_the_least_distance_and_large_ones_the_margin() -> None:
    assert apart_m(0.02, 0.02, SPOTS) == 0.06
    assert apart_m(0.035, 0.03, SPOTS) == pytest.approx(0.079)
