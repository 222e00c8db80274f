"""Resting: what counts as placed, what does not, and what an uncertain eye may conclude."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.evidence import failures, passes
from graspline.placement.plate import Array, Plate
from graspline.placement.resting import (
    FruitSighting,
    RestParameters,
    at_rest_for_s,
    has_been_still,
    is_still_now,
    not_displaced,
    plate_not_shifted,
    rests_on,
)

REST = RestParameters()
PLATE = Plate(x_m=0.0, y_m=0.0, radius_m=0.105)
PLATE_AT_M = np.array([0.25, 0.05, 0.0])
BALL_M = 0.03


def window(
    *, offset: tuple[float, float, float] = (0.04, 0.0, 0.034), velocity: float = 0.0, count: int = 5
) -> list[FruitSighting]:
    """Sightings 0.05 s apart of a ball that far from the plate's frame when first seen, moving along y."""
    return [
        FruitSighting(
            time_s=0.05 * number,
            position_m=PLATE_AT_M + offset + np.array([0.0, velocity * 0.05 * number, 0.0]),
            plate_m=PLATE_AT_M,
        )
        for number in range(count)
    ]


def failed(sightings: list[FruitSighting], error_m: float = 0.0) -> list[str]:
    return [each.name for each in failures(rests_on(sightings, BALL_M, PLATE, REST, error_m))]


def test_a_ball_that_lies_still_on_the_floor_of_the_plate_rests() -> None:
    evidence = rests_on(window(), BALL_M, PLATE, REST)
    assert passes(evidence)
    assert [each.name for each in evidence] == ["from_middle", "off_floor", "speed"]


@pytest.mark.parametrize(
    "offset,why",
    [
        ((0.09, 0.0, 0.034), ["from_middle"]),
        ((0.14, 0.0, 0.030), ["from_middle"]),
        ((0.04, 0.0, 0.054), ["off_floor"]),
        ((0.04, 0.0, 0.075), ["off_floor"]),
        ((0.04, 0.0, 0.010), ["off_floor"]),
    ],
    ids=["too near the rim", "beside the plate", "hanging", "on other balls", "sunk"],
)
def test_a_ball_elsewhere_does_not_rest(offset: tuple[float, float, float], why: list[str]) -> None:
    assert failed(window(offset=offset)) == why


@given(st.floats(0.0, 0.08))
def test_the_speed_is_fitted_through_the_sightings(speed: float) -> None:
    measured = rests_on(window(velocity=speed), BALL_M, PLATE, REST)[2]
    assert measured.value == pytest.approx(speed, abs=1e-9)
    if abs(speed - REST.speed_m_s) > 1e-6:
        assert measured.passed == (speed < REST.speed_m_s)


def test_a_pushed_plate_takes_its_middle_along() -> None:
    moved = [
        FruitSighting(time_s=each.time_s, position_m=each.position_m + 0.3, plate_m=each.plate_m + 0.3)
        for each in window()
    ]
    assert passes(rests_on(moved, BALL_M, PLATE, REST))


@pytest.mark.parametrize("speed,rests", [(0.001, True), (0.05, False), (float("nan"), False)])
def test_a_single_witness_must_know_the_speed(speed: float, rests: bool) -> None:
    position = PLATE_AT_M + np.array([0.04, 0.0, 0.034])
    witness = FruitSighting(time_s=3.0, position_m=position, plate_m=PLATE_AT_M, speed_m_s=speed)
    assert passes(rests_on([witness], BALL_M, PLATE, REST)) is rests


def test_sightings_of_one_instant_show_no_speed() -> None:
    assert failed([window()[0], window()[0]]) == ["speed"]


def test_nothing_seen_proves_nothing() -> None:
    assert failed([]) == ["sightings"]
    assert not passes(has_been_still([], REST))


def test_an_uncertain_eye_has_tighter_limits_on_place_and_wider_on_speed() -> None:
    sure, unsure = (rests_on(window(), BALL_M, PLATE, REST, error) for error in (0.0, 0.002))
    for index in (0, 1):
        assert unsure[index].limit == pytest.approx(sure[index].limit - 2 * 0.002 * np.sqrt(2 / 5))
    assert unsure[2].limit > sure[2].limit


def test_an_eye_that_cannot_tell_accepts_nothing() -> None:
    assert "off_floor" in failed(window(), error_m=0.02)


def test_noisy_sightings_of_a_ball_out_of_place_are_hardly_ever_accepted() -> None:
    random, accepted = np.random.default_rng(5), 0
    for _ in range(500):
        seen = [
            FruitSighting(
                time_s=each.time_s,
                position_m=each.position_m + random.normal(0, 0.003, 3),
                plate_m=each.plate_m + random.normal(0, 0.003, 3),
            )
            for each in window(offset=(0.0875, 0.0, 0.034))
        ]
        accepted += passes(rests_on(seen, BALL_M, PLATE, REST, 0.003))
    assert accepted < 15


def test_still_time_counts_from_the_last_movement() -> None:
    rolling = window(velocity=0.2, count=10)
    end = rolling[-1]
    lying = [
        FruitSighting(time_s=end.time_s + 0.1 * number, position_m=end.position_m, plate_m=PLATE_AT_M)
        for number in range(1, 5)
    ]
    assert at_rest_for_s(rolling, REST) == 0.0
    assert at_rest_for_s([*rolling, *lying], REST) == pytest.approx(0.4)
    assert passes(has_been_still([*rolling, *lying], REST))
    assert not passes(has_been_still([*rolling, *lying[:2]], REST))


def test_a_ball_that_rolled_between_two_sightings_was_not_still_before_the_second() -> None:
    # 4.6 mm in 0.15 s, 31 mm/s, and then nothing: over both together it came no farther than 20 mm/s would take it.
    seen = [
        FruitSighting(time_s=0.15 * number, position_m=np.array([0.2 + shift, 0.0, 0.034]), plate_m=PLATE_AT_M)
        for number, shift in enumerate((0.0, 0.0046, 0.0047, 0.0047))
    ]
    spans = [at_rest_for_s(seen[: number + 1], REST) for number in range(4)]
    assert spans == pytest.approx([0.0, 0.0, 0.15, 0.30])


def test_a_ball_pushed_at_the_last_moment_is_not_still_now() -> None:
    lying = window()
    end = lying[-1]
    # A sixtieth of a second later it has been pushed to 0.04 m/s, and has come half as far as that speed says.
    moved = np.array([0.04 / 60 / 2, 0.0, 0.0])
    pushed = FruitSighting(time_s=end.time_s + 1 / 60, position_m=end.position_m + moved, plate_m=PLATE_AT_M)
    assert passes(rests_on([*lying, pushed], BALL_M, PLATE, REST))
    assert not passes(is_still_now([*lying, pushed], REST))
    assert passes(is_still_now(lying, REST))
    # Who sees no better than that cannot tell.
    assert passes(is_still_now([*lying, pushed], REST, error_m=0.002))
    assert not passes(is_still_now(lying[:1], REST))


def test_a_plate_pulled_at_the_last_moment_is_not_still_now() -> None:
    lying = window()
    end = lying[-1]
    moved = np.array([0.0, 0.045 / 60 / 2, 0.0])
    pulled = FruitSighting(time_s=end.time_s + 1 / 60, position_m=end.position_m, plate_m=end.plate_m + moved)
    fruit, plate = is_still_now([*lying, pulled], REST)
    assert fruit.passed
    assert (plate.name, plate.passed) == ("plate_speed_now", False)
    assert passes(is_still_now(lying, REST))


def test_a_ball_that_rocks_to_and_fro_is_not_still() -> None:
    rocking = [
        FruitSighting(time_s=each.time_s, position_m=each.position_m + 0.003 * (n % 2), plate_m=PLATE_AT_M)
        for n, each in enumerate(window(count=20))
    ]
    assert at_rest_for_s(rocking, REST) < 0.1


def test_a_ball_known_to_be_fast_is_not_still_wherever_it_is_seen() -> None:
    fast = [
        FruitSighting(time_s=each.time_s, position_m=each.position_m, plate_m=PLATE_AT_M, speed_m_s=0.1)
        for each in window(count=10)
    ]
    assert at_rest_for_s(fast, REST) == 0.0


def test_noise_alone_does_not_end_the_still_time() -> None:
    random = np.random.default_rng(2)
    noisy = [
        FruitSighting(time_s=each.time_s, position_m=each.position_m + random.normal(0, 0.001, 3), plate_m=PLATE_AT_M)
        for each in window(count=10)
    ]
    assert at_rest_for_s(noisy, REST, 0.001) == pytest.approx(0.45)
    assert at_rest_for_s(noisy, REST) < 0.45


def places(**shift_m: float) -> dict[str, Array]:
    return {name: np.array([0.2 + shift, 0.0, 0.034]) for name, shift in shift_m.items()}


def test_a_neighbour_that_was_pushed_is_named_with_how_far() -> None:
    before, after = places(orange_2=0.0, orange_1=0.0), places(orange_1=0.004, orange_2=0.02, orange_3=0.5)
    evidence = not_displaced(before, after, REST)
    assert [each.name for each in evidence] == ["displaced_orange_1", "displaced_orange_2"]
    (pushed,) = failures(evidence)
    assert (pushed.name, pushed.value) == ("displaced_orange_2", pytest.approx(0.02))
    assert not passes(not_displaced(before, after, REST.model_copy(update={"displaced_m": 0.021}), error_m=0.001))


def test_a_neighbour_that_is_gone_is_absent_and_fails() -> None:
    (gone,) = not_displaced(places(orange_1=0.0), {}, REST)
    assert gone.absent
    assert not gone.passed


def pushed(along_m: float) -> Array:
    return np.array([along_m, 0.0, 0.0])


def test_a_plate_that_was_pushed_or_lost_is_refused() -> None:
    assert passes(plate_not_shifted(PLATE_AT_M, PLATE_AT_M + pushed(0.005), REST))
    assert not passes(plate_not_shifted(PLATE_AT_M, PLATE_AT_M + pushed(0.012), REST))
    assert not passes(plate_not_shifted(PLATE_AT_M, PLATE_AT_M + pushed(0.009), REST, error_m=0.001))
    assert not passes(plate_not_shifted(PLATE_AT_M, None, REST))
