"""Estimates: noise has the size it says, and no noise is no change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.errors import InputError
from graspline.parameters import build
from graspline.perception.core.beliefs import Belief, Perception, noisy
from graspline.spatial.rotations import matrix_from_quaternion, wrap, yaw_of


def sighting(yaw_rad: float = 0.7) -> Belief:
    return Belief(
        name="cube",
        position_m=np.array([0.25, -0.1, 0.015]),
        quaternion=np.array([np.cos(yaw_rad / 2), 0.0, 0.0, np.sin(yaw_rad / 2)]),
        half_extents_m=np.array([0.015, 0.015, 0.015]),
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
        time_s=1.5,
    )


def test_without_noise_a_sighting_is_exact_and_draws_nothing() -> None:
    exact, random = sighting(), np.random.default_rng(1)
    assert noisy(exact, Perception(), random) is exact
    assert random.bit_generator.state == np.random.default_rng(1).bit_generator.state


def test_noise_has_the_spread_it_is_said_to_have_and_no_bias() -> None:
    perception = Perception(position_sigma_m=0.003, yaw_sigma_rad=0.1)
    random = np.random.default_rng(2)
    exact = sighting()
    seen = [noisy(exact, perception, random) for _ in range(4000)]
    shifts = np.array([each.position_m - exact.position_m for each in seen])
    turns = np.array([float(wrap(yaw_of(each.quaternion) - 0.7)) for each in seen])
    # Within five standard errors of mean and spread.
    np.testing.assert_allclose(shifts.mean(axis=0), 0, atol=5 * 0.003 / np.sqrt(4000))
    np.testing.assert_allclose(shifts.std(axis=0), 0.003, rtol=5 / np.sqrt(8000))
    assert turns.mean() == pytest.approx(0, abs=5 * 0.1 / np.sqrt(4000))
    assert turns.std() == pytest.approx(0.1, rel=5 / np.sqrt(8000))
    correlation = np.corrcoef(np.column_stack([shifts, turns]).T)
    assert np.abs(correlation - np.eye(4)).max() < 0.08


@settings(deadline=None)
@given(st.floats(-3, 3), st.floats(0, 0.02), st.floats(0, 0.5), st.integers(0, 2**32 - 1))
def test_a_noisy_sighting_says_how_wrong_it_may_be_and_keeps_the_rest(
    yaw: float, position_sigma: float, yaw_sigma: float, seed: int
) -> None:
    exact = sighting(yaw)
    perception = Perception(position_sigma_m=position_sigma, yaw_sigma_rad=yaw_sigma)
    seen = noisy(exact, perception, np.random.default_rng(seed))
    assert (seen.position_sigma_m, seen.yaw_sigma_rad) == (position_sigma, yaw_sigma)
    assert (seen.name, seen.time_s) == (exact.name, exact.time_s)
    np.testing.assert_array_equal(seen.half_extents_m, exact.half_extents_m)
    assert np.linalg.norm(seen.quaternion) == pytest.approx(1)
    # It lies as flat as it did.
    assert seen.rotation[2, 2] == pytest.approx(1)


def test_the_same_randomness_gives_the_same_bits() -> None:
    perception = Perception(position_sigma_m=0.003, yaw_sigma_rad=0.1)
    one, two = (noisy(sighting(), perception, np.random.default_rng(7)) for _ in range(2))
    assert one.position_m.tobytes() == two.position_m.tobytes()
    assert one.quaternion.tobytes() == two.quaternion.tobytes()


def test_only_what_is_said_to_be_noisy_is() -> None:
    exact = sighting()
    only_place = noisy(exact, Perception(position_sigma_m=0.003), np.random.default_rng(3))
    assert float(yaw_of(only_place.quaternion)) == pytest.approx(0.7)
    only_heading = noisy(exact, Perception(yaw_sigma_rad=0.1), np.random.default_rng(3))
    np.testing.assert_array_equal(only_heading.position_m, exact.position_m)


def test_the_rotation_of_an_estimate_is_that_of_its_quaternion() -> None:
    np.testing.assert_array_equal(sighting().rotation, matrix_from_quaternion(sighting().quaternion))


@pytest.mark.parametrize("wrong", ["position_sigma_m=-0.001", "position_sigma_m=0.05", "source=guess"])
def test_impossible_noise_is_refused(wrong: str) -> None:
    with pytest.raises(InputError, match=wrong.split("=")[0]):
        build(Perception, assignments=[wrong])
