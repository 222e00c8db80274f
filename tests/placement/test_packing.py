"""Packing: how many fruits a plate holds together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.placement.packing import alike_fit, capacity, plans
from graspline.placement.plate import Plate, SpotParameters, apart_m, farthest_m

SPOTS = SpotParameters()
PLATE = Plate(x_m=0.2, y_m=-0.1, radius_m=0.105)
NOTHING = np.zeros((0, 2)), np.zeros(0)
RADII = st.floats(0.025, 0.035)


@pytest.mark.parametrize("ball,held", [(0.025, 8), (0.030, 7), (0.035, 5)])
def test_a_plate_of_21_cm_holds_so_many_alike(ball: float, held: int) -> None:
    assert capacity(PLATE, [ball] * 12, SPOTS) == held


def test_six_fit_up_to_a_radius_of_30_mm() -> None:
    assert capacity(PLATE, [0.030] * 6, SPOTS) == 6
    assert capacity(PLATE, [0.031] * 6, SPOTS) == 5


@settings(deadline=None)
@given(st.lists(RADII, max_size=5))
def test_a_plate_of_21_cm_holds_any_five_oranges(radii: list[float]) -> None:
    assert capacity(PLATE, radii, SPOTS) == len(radii)


def test_a_plate_too_small_for_one_holds_none() -> None:
    assert capacity(Plate(x_m=0, y_m=0, radius_m=0.025), [0.035], SPOTS) == 0


@settings(deadline=None)
@given(st.lists(RADII, min_size=1, max_size=6), st.floats(0.06, 0.13), st.floats(0, 6.28), RADII)
def test_every_plan_keeps_all_distances(radii: list[float], wide: float, heading: float, other: float) -> None:
    plate = Plate(x_m=0, y_m=0, radius_m=wide)
    place = farthest_m(plate, other, SPOTS) * np.array([[np.cos(heading), np.sin(heading)]])
    for plan in plans(plate, radii, place, np.array([other]), SPOTS):
        for index, (here, ball) in enumerate(zip(plan, radii, strict=True)):
            assert np.hypot(*here) <= farthest_m(plate, ball, SPOTS)
            assert np.hypot(*(here - place[0])) >= apart_m(ball, other, SPOTS)
            for there, another in zip(plan[:index], radii[:index], strict=True):
                assert np.hypot(*(here - there)) >= apart_m(ball, another, SPOTS) + SPOTS.off_spot_m - 1e-7


def test_fruits_of_several_sizes_fit_where_as_many_of_the_largest_do_not() -> None:
    mixed = [0.035, 0.025, 0.035, 0.025, 0.030, 0.025]
    assert capacity(PLATE, [0.035] * 6, SPOTS) == 5
    assert capacity(PLATE, mixed, SPOTS) == 6


def test_nothing_fits_beside_a_ball_in_the_middle_that_reaches_too_far() -> None:
    middle, ball = np.zeros((1, 1, 2)), 0.035
    apart = np.array([[float(apart_m(ball, ball, SPOTS))]])
    assert not alike_fit(PLATE, ball, 1, middle, apart, np.zeros(1), SPOTS).any()
    wider = Plate(x_m=0, y_m=0, radius_m=0.12)
    assert alike_fit(wider, ball, 6, middle, apart, np.zeros(1), SPOTS).all()


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-0.07, 0.07), st.floats(-0.07, 0.07)), min_size=1, max_size=4), st.integers(1, 4))
def test_fruits_alike_fit_exactly_where_a_plan_for_them_is_found(lies: list[tuple[float, float]], count: int) -> None:
    resting, ball = np.array(lies), 0.028
    apart = np.full((1, len(lies)), float(apart_m(ball, 0.03, SPOTS)))
    fits = alike_fit(PLATE, ball, count, resting[None], apart, np.full(1, 1e-7), SPOTS)[0]
    planned = len(plans(PLATE, [ball] * count, resting, np.full(len(lies), 0.03), SPOTS)) > 0
    if fits != planned:  # the two leave a hair of different width
        assert fits != alike_fit(PLATE, ball, count, resting[None], apart + 1e-6, np.full(1, 1e-6), SPOTS)[0]


def test_rows_do_not_influence_each_other() -> None:
    random = np.random.default_rng(3)
    lies = random.uniform(-0.07, 0.07, (40, 2, 2))
    apart = np.full((40, 2), float(apart_m(0.03, 0.03, SPOTS)))
    extra = random.uniform(0, 0.01, 40)
    together = alike_fit(PLATE, 0.03, 3, lies, apart, extra, SPOTS)
    alone = [
        alike_fit(PLATE, 0.03, 3, lies[i : i + 1], apart[i : i + 1], extra[i : i + 1], SPOTS)[0] for i in range(40)
    ]
    assert together.tolist() == alone
    assert 0 < together.sum() < 40
