"""Paths: what is checked before a motion is played, and what a command in the middle of one is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.motion.joint_moves import joint_move
from graspline.motion.path import SLACK, Path, at_rest, check_corners, check_path, controls_of, load_factor, seal_kept
from graspline.refusal import Refusal
from graspline.robots.so101 import HOME, JOINTS, LOWER, SO101, UPPER

Array = NDArray[np.float64]
DT_S = SO101.dt_s


def standing(ticks: int = 4) -> Path:
    positions = np.tile(HOME, (ticks + 1, 1))
    return Path(positions=positions, velocities=np.zeros_like(positions), dt_s=DT_S)


def refused(path: Path) -> Refusal:
    found = check_path(path, SO101)
    assert found is not None
    return found


def test_a_path_within_limits_is_not_refused() -> None:
    assert check_path(standing(), SO101) is None
    assert check_path(joint_move(SO101, at_rest(HOME), np.zeros(6)), SO101) is None


@settings(deadline=None)
@given(st.sampled_from(JOINTS), st.floats(1e-6, 1.0), st.booleans(), st.integers(0, 4))
def test_a_sample_out_of_range_names_joint_value_and_limit(name: str, beyond: float, over: bool, tick: int) -> None:
    path, joint = standing(), JOINTS.index(name)
    path.positions[tick, joint] = UPPER[joint] + beyond if over else LOWER[joint] - beyond
    (found,) = refused(path).evidence
    assert found.name == f"{name} position"
    assert found.value == path.positions[tick, joint]
    assert found.limit == (UPPER if over else LOWER)[joint]
    assert found.relation == ("<=" if over else ">=")
    assert found.unit == "rad"


@settings(deadline=None)
@given(st.sampled_from(JOINTS), st.integers(1, 4), st.sampled_from([-1.0, 1.0]))
def test_a_sample_that_is_too_fast_names_joint_value_and_limit(name: str, tick: int, sign: float) -> None:
    path, joint = standing(), JOINTS.index(name)
    path.velocities[:, joint] = 2.9 * sign
    path.velocities[tick, joint] = 3.1 * sign
    (found,) = refused(path).evidence
    assert found.name == f"{name} velocity"
    assert found.value == 3.1
    assert found.limit == pytest.approx(SO101.limits.velocity[joint])


@settings(deadline=None)
@given(st.sampled_from(JOINTS), st.integers(0, 3))
def test_a_jump_in_speed_names_joint_value_and_limit(name: str, tick: int) -> None:
    path, joint = standing(), JOINTS.index(name)
    path.velocities[tick + 1 :, joint] = 21 * DT_S
    (found,) = refused(path).evidence
    assert found.name == f"{name} acceleration"
    assert found.value == pytest.approx(21.0)
    assert found.limit == pytest.approx(SO101.limits.acceleration[joint])
    assert found.unit == "rad/s²"


def test_every_broken_limit_is_named_at_once() -> None:
    path = standing()
    path.positions[1, 0] = 2.5
    path.velocities[2, 3] = -4.0
    message = str(refused(path))
    for word in ("shoulder_pan position 143°", "wrist_flex velocity 229°/s", "wrist_flex acceleration 13751°/s²"):
        assert word in message


def test_standing_still_out_of_range_is_refused_too() -> None:
    path = standing()
    path.positions[:, 4] = 3.0
    (found,) = refused(path).evidence
    assert found.name == "wrist_roll position"


def test_not_a_number_is_refused() -> None:
    for field in ("positions", "velocities"):
        path = standing()
        getattr(path, field)[2, 1] = np.nan
        assert check_path(path, SO101) is not None


def test_rounding_is_forgiven_but_no_more() -> None:
    path = standing()
    path.positions[:, 0] = -0.5 + 3.0 * path.dt_s * np.arange(path.ticks + 1)
    path.velocities[:, 0] = 3.0 * (1 + 2 * SLACK)
    assert check_path(path, SO101) is not None
    path.velocities[:, 0] = 3.0 * (1 + SLACK / 2)
    assert check_path(path, SO101) is None


def test_a_path_that_passed_is_sealed_and_a_changed_copy_is_checked_again() -> None:
    path = standing()
    assert not path.keeps_limits_of(SO101)
    assert check_path(path, SO101) is None
    assert path.keeps_limits_of(SO101)
    with pytest.raises(ValueError, match="read-only"):
        path.positions[1, 0] = 9.0
    slower = dataclasses.replace(SO101, limits=SO101.limits)
    assert not path.keeps_limits_of(slower)
    copied = dataclasses.replace(path, positions=path.positions + 9.0)
    assert not copied.keeps_limits_of(SO101)
    assert check_path(copied, SO101) is not None


def test_paths_checked_together_are_sealed_whatever_lies_between_them() -> None:
    there = joint_move(SO101, at_rest(HOME), np.zeros(6))
    paths = (standing(), there, joint_move(SO101, at_rest(HOME), 0.5 * HOME))
    seal_kept(paths, SO101)
    assert all(path.keeps_limits_of(SO101) for path in paths)


def test_of_paths_checked_together_one_that_breaks_a_limit_is_refused_alone() -> None:
    broken = [standing() for _ in range(4)]
    broken[0].positions[2, 0] = UPPER[0] + 0.1
    broken[1].velocities[2, 1] = 100.0
    broken[2].positions[3:, 2] += 0.1
    broken[3].positions[1, 3] = np.nan
    for each in broken:
        before, behind = standing(), joint_move(SO101, at_rest(HOME), np.zeros(6))
        seal_kept((before, each, behind), SO101)
        assert not each.keeps_limits_of(SO101)
        assert before.keeps_limits_of(SO101)
        assert behind.keeps_limits_of(SO101)
        assert check_path(each, SO101) is not None


def test_positions_that_jump_away_from_their_velocities_are_refused() -> None:
    path = standing()
    path.positions[2:, 0] += 0.1
    refused = check_path(path, SO101)
    assert refused is not None
    (found,) = refused.evidence
    assert found.name == "shoulder_pan jump"
    assert found.value == pytest.approx(0.1)


def test_corners_are_let_pass_where_they_are_asked_for() -> None:
    path = standing()
    path.positions[2:, 0] += 2.9 * DT_S
    path.velocities[:2, 0] = 2.9
    assert check_path(path, SO101) is not None
    assert check_corners(path, SO101) is None


@pytest.mark.parametrize("value, name", [(2.5, "shoulder_pan position"), (3.1 * DT_S, "shoulder_pan velocity")])
def test_a_path_with_corners_keeps_range_and_speed(value: float, name: str) -> None:
    path = standing()
    path.positions[2:, 0] = value
    found = check_corners(path, SO101)
    assert found is not None
    assert name in [each.name for each in found.evidence]
    assert not any("acceleration" in each.name for each in found.evidence)


def test_a_path_with_corners_may_hold_nothing_that_is_not_a_number() -> None:
    path = standing()
    path.positions[2, 1] = np.nan
    assert check_corners(path, SO101) is not None


def test_ticks_duration_and_end_are_those_of_the_samples() -> None:
    path = joint_move(SO101, at_rest(HOME), np.zeros(6))
    assert path.ticks == len(path.positions) - 1
    assert path.duration_s == pytest.approx(path.ticks / 60)
    np.testing.assert_array_equal(path.end, np.zeros(6))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_a_command_in_a_path_has_its_position_velocity_and_acceleration(seed: int, share: float) -> None:
    random = np.random.default_rng(seed)
    path = joint_move(SO101, at_rest(random.uniform(LOWER, UPPER)), random.uniform(LOWER, UPPER))
    tick = round(share * path.ticks)
    command = path.command_at(tick)
    np.testing.assert_array_equal(command.position, path.positions[tick])
    np.testing.assert_array_equal(command.velocity, path.velocities[tick])
    if 0 < tick < path.ticks:
        ahead, behind = path.velocities[tick + 1], path.velocities[tick - 1]
        np.testing.assert_allclose(command.acceleration, (ahead - behind) * 30, atol=1e-9)
    else:
        assert not command.acceleration.any()


def test_a_command_is_a_copy_that_outlives_its_path() -> None:
    path = standing()
    command = path.command_at(1)
    path.positions[:] = 0.0
    np.testing.assert_array_equal(command.position, HOME)


def test_controls_lead_by_what_the_servos_trail_and_by_half_a_tick() -> None:
    positions = np.tile(HOME, (3, 1))
    velocities = np.array([np.zeros(6), np.full(6, 1.0), np.full(6, -2.0)])
    lead = (controls_of(SO101, positions, velocities) - positions[:-1]) / (SO101.servo.lag_s + DT_S / 2)
    np.testing.assert_allclose(lead, velocities[:-1], atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(1.1, 5.0))
def test_the_load_factor_says_how_far_time_must_be_stretched(seed: int, hurry: float) -> None:
    random = np.random.default_rng(seed)
    fit = joint_move(SO101, at_rest(random.uniform(LOWER, UPPER)), random.uniform(LOWER, UPPER))
    assert load_factor(fit, SO101.limits) <= 1
    hurried = Path(positions=fit.positions, velocities=fit.velocities * hurry, dt_s=fit.dt_s / hurry)
    factor = load_factor(hurried, SO101.limits)
    assert factor == pytest.approx(hurry * load_factor(fit, SO101.limits), rel=1e-9)
    slowed = Path(positions=hurried.positions, velocities=hurried.velocities / factor, dt_s=hurried.dt_s * factor)
    assert load_factor(slowed, SO101.limits) <= 1 + 1e-9


def test_a_path_of_one_sample_is_loaded_by_its_speed_alone() -> None:
    path = Path(positions=HOME[None], velocities=np.full((1, 6), 1.5), dt_s=DT_S)
    assert load_factor(path, SO101.limits) == pytest.approx(0.5)
    assert check_path(path, SO101) is None
