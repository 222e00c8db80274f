"""Spots: each keeps its distances, and a plate that holds so many fruits can be filled one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.evidence import passes
from graspline.placement.packing import capacity
from graspline.placement.plate import Plate, Resting, Spot, SpotParameters
from graspline.placement.spots import spots

from .distances import spot_free

SPOTS = SpotParameters()
RINGS = SpotParameters(strategy="center_to_edge")
PLATE = Plate(x_m=0.2, y_m=-0.1, radius_m=0.105)
RADII = st.floats(0.025, 0.035)
PLACES = st.lists(st.tuples(st.floats(-0.09, 0.09), st.floats(-0.09, 0.09), RADII), max_size=6)


def from_middle(spot: Spot, plate: Plate = PLATE) -> float:
    return float(np.hypot(spot.x_m - plate.x_m, spot.y_m - plate.y_m))


def lying(places: list[tuple[float, float, float]]) -> list[Resting]:
    return [
        Resting(name=f"orange_{number}", x_m=PLATE.x_m + x, y_m=PLATE.y_m + y, radius_m=radius)
        for number, (x, y, radius) in enumerate(places)
    ]


@settings(deadline=None)
@given(PLACES, RADII, st.lists(RADII, max_size=4), st.sampled_from([SPOTS, RINGS]))
def test_every_spot_keeps_its_distances_to_rim_and_fruit(
    places: list[tuple[float, float, float]], ball: float, to_come: list[float], parameters: SpotParameters
) -> None:
    resting = lying(places)
    found = spots(PLATE, ball, resting, to_come, parameters)
    assert len(found) <= parameters.tries
    assert all(passes(spot_free(each, resting, PLATE, ball, parameters)) for each in found)
    assert all(each.slack_m > 0 for each in found)
    assert sorted(found, key=lambda each: not each.fits_all) == found or parameters is RINGS


@settings(deadline=None)
@given(PLACES, RADII, st.sampled_from([SPOTS, RINGS]))
def test_the_plate_is_full_only_where_no_point_of_a_fine_grid_is_free(
    places: list[tuple[float, float, float]], ball: float, parameters: SpotParameters
) -> None:
    resting = lying(places)
    if spots(PLATE, ball, resting, [], parameters):
        return
    steps = np.linspace(-0.08, 0.08, 81)
    for x in PLATE.x_m + steps:
        for y in PLATE.y_m + steps:
            here = Spot(x_m=x, y_m=y, slack_m=0.0, fits_all=False)
            assert not passes(spot_free(here, resting, PLATE, ball, parameters))


def fill(plate: Plate, radii: list[float], parameters: SpotParameters, random: np.random.Generator) -> list[Resting]:
    """Put each on the first spot, from which it strays by up to 3 mm; stop when the plate is full."""
    resting: list[Resting] = []
    for number, ball in enumerate(radii):
        found = spots(plate, ball, resting, radii[number + 1 :], parameters)
        if not found:
            break
        angle, astray = random.uniform(0, 2 * np.pi), 0.003 * np.sqrt(random.uniform())
        x, y = found[0].x_m + astray * np.cos(angle), found[0].y_m + astray * np.sin(angle)
        resting.append(Resting(name=f"orange_{number}", x_m=x, y_m=y, radius_m=ball))
    return resting


@settings(deadline=None, max_examples=150)
@given(st.lists(RADII, min_size=1, max_size=5), st.floats(0.06, 0.13), st.integers(0, 2**32 - 1))
def test_a_plate_can_be_filled_one_by_one_with_all_that_it_is_said_to_hold(
    radii: list[float], wide: float, seed: int
) -> None:
    plate = Plate(x_m=0.25, y_m=0.05, radius_m=wide)
    held = radii[: capacity(plate, radii, SPOTS)]
    assert len(fill(plate, held, SPOTS, np.random.default_rng(seed))) == len(held)


@pytest.mark.parametrize("ball,count", [(0.025, 8), (0.030, 7), (0.035, 5)])
def test_the_most_that_a_plate_holds_can_be_put_there(ball: float, count: int) -> None:
    for seed in range(10):
        assert len(fill(PLATE, [ball] * count, SPOTS, np.random.default_rng(seed))) == count


def test_from_the_middle_outward_three_large_oranges_do_not_fit() -> None:
    assert len(fill(PLATE, [0.035] * 3, RINGS, np.random.default_rng(0))) == 1


def test_a_lone_fruit_goes_in_the_middle() -> None:
    for parameters in (SPOTS, RINGS):
        assert from_middle(spots(PLATE, 0.03, [], [], parameters)[0]) == pytest.approx(0, abs=1e-9)


def test_three_large_oranges_lie_on_a_ring_well_clear_of_rim_and_each_other() -> None:
    first = spots(PLATE, 0.035, [], [0.035, 0.035], SPOTS)[0]
    assert 0.05 < from_middle(first) < 0.065
    assert first.slack_m > 0.01


def test_rings_go_outward_from_the_middle() -> None:
    out = [from_middle(each) for each in spots(PLATE, 0.03, [], [], RINGS)][:91]
    assert out == sorted(out, key=lambda each: round(each, 6))
    assert len(np.unique(np.round(out, 6))) == 6


@pytest.mark.parametrize("to_come", [1, 2, 3, 4])
def test_of_equally_good_spots_that_lowest_in_x_is_first(to_come: int) -> None:
    first = spots(PLATE, 0.03, [], [0.03] * to_come, SPOTS)[0]
    assert first.x_m < PLATE.x_m
    assert first.y_m == pytest.approx(PLATE.y_m, abs=1e-9)


@settings(deadline=None)
@given(PLACES, RADII, st.lists(RADII, max_size=3), st.randoms())
def test_the_order_in_which_resting_fruit_is_named_does_not_matter(places, ball, to_come, shuffler) -> None:
    resting = lying(places)
    shuffled = [*resting]
    shuffler.shuffle(shuffled)
    assert spots(PLATE, ball, resting, to_come, SPOTS) == spots(PLATE, ball, shuffled, to_come, SPOTS)


def test_spots_that_spoil_the_plan_come_after_those_that_do_not() -> None:
    found = spots(PLATE, 0.035, [], [0.035] * 4, SPOTS)
    fits = [each.fits_all for each in found]
    assert fits[0]
    assert not fits[-1]
    spoiling = [from_middle(each) for each in found if not each.fits_all]
    assert spoiling[0] == pytest.approx(0, abs=1e-9)


def test_when_not_all_fit_there_still_is_a_spot_for_this_one() -> None:
    found = spots(PLATE, 0.035, [], [0.035] * 8, SPOTS)
    assert len(found) == SPOTS.tries
    assert not any(each.fits_all for each in found)


def test_a_tight_mix_of_sizes_is_planned_with_their_own_sizes() -> None:
    mixed = [0.035, 0.025, 0.035, 0.025, 0.030, 0.025]
    assert spots(PLATE, mixed[0], [], mixed[1:], SPOTS)[0].fits_all
    for seed in range(10):
        assert len(fill(PLATE, mixed, SPOTS, np.random.default_rng(seed))) == 6


def test_spots_beyond_the_limits_are_left_out() -> None:
    limited = SpotParameters(max_x_m=0.2, max_y_m=0.12)
    found = spots(PLATE, 0.03, [], [0.03], limited)
    assert found
    assert all(each.x_m <= 0.2 and abs(each.y_m) <= 0.12 for each in found)
    assert spots(PLATE, 0.03, [], [], SpotParameters(max_x_m=0.1)) == []


def test_no_more_spots_are_offered_than_may_be_tried() -> None:
    for strategy in ("packing", "center_to_edge"):
        for tries in (1, 6, 7, 50):
            parameters = SpotParameters(strategy=strategy, tries=tries)
            assert 0 < len(spots(PLATE, 0.03, [], [0.03], parameters)) <= tries


def test_a_plate_too_small_for_the_fruit_offers_nothing() -> None:
    assert spots(Plate(x_m=0, y_m=0, radius_m=0.025), 0.035, [], [], SPOTS) == []
