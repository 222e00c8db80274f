"""Joint moves: from any command to rest where asked, every sample inside every limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from graspline.motion.joint_moves import brake, hold, jaw_move, join, joint_move, ramp, with_jaw
from graspline.motion.path import Command, Path, at_rest, check_corners, check_path
from graspline.robots.so101 import HOME, LOWER, SO101, UPPER

Array = NDArray[np.float64]

# Poses anywhere within limits, and on the limits themselves.
SHARES = st.floats(0, 1) | st.sampled_from([0.0, 1.0])
POSES = arrays(float, 6, elements=SHARES).map(lambda share: np.clip(LOWER + share * (UPPER - LOWER), LOWER, UPPER))
SPEEDS = st.floats(0.05, 1.0)
# Distance between positions and the trapezoids under their velocities: a tick of full jerk, and of a start that jerk
# could not have made.
TRAPEZOID_RAD = 1e-3


def assert_proper(path: Path) -> None:
    """Within limits, at rest at the end, velocities those of the positions."""
    refused = check_path(path, SO101)
    assert refused is None, str(refused)
    assert not path.velocities[-1].any()
    assert path.ticks >= 1
    steps = (path.velocities[1:] + path.velocities[:-1]) / 2 * path.dt_s
    assert np.abs(np.diff(path.positions, axis=0) - steps).max() < TRAPEZOID_RAD


def assert_starts_from(path: Path, command: Command) -> None:
    np.testing.assert_array_equal(path.positions[0], command.position)
    np.testing.assert_array_equal(path.velocities[0], command.velocity)


@st.composite
def commands(draw: st.DrawFn) -> Command:
    """The command in force at some tick of some joint move."""
    path = joint_move(SO101, at_rest(draw(POSES)), draw(POSES), speed=draw(SPEEDS))
    # Ends are where jerk-limited moves are delicate.
    tick = draw(st.integers(0, path.ticks) | st.integers(max(0, path.ticks - 12), path.ticks))
    return path.command_at(tick)


@settings(max_examples=200, deadline=None)
@given(POSES, POSES, SPEEDS)
def test_a_move_from_rest_ends_at_rest_at_its_target_within_limits(start: Array, target: Array, speed: float) -> None:
    path = joint_move(SO101, at_rest(start), target, speed=speed)
    assert_starts_from(path, at_rest(start))
    np.testing.assert_array_equal(path.end, target)
    assert np.abs(path.velocities).max() <= speed * SO101.limits.velocity[0] + 1e-9
    assert_proper(path)


@settings(max_examples=200, deadline=None)
@given(commands(), POSES, SPEEDS)
def test_a_move_that_takes_over_from_another_keeps_limits_and_ends_where_asked(
    command: Command, target: Array, speed: float
) -> None:
    path = joint_move(SO101, command, target, speed=speed)
    assert_starts_from(path, command)
    np.testing.assert_array_equal(path.end, target)
    assert_proper(path)


@settings(max_examples=300, deadline=None)
@given(commands())
def test_a_brake_from_any_sample_of_any_move_stays_within_limits(command: Command) -> None:
    path = brake(SO101, command)
    assert_starts_from(path, command)
    assert_proper(path)
    # From full speed at the gentlest: a third of a second.
    assert path.duration_s < 0.34


def test_a_brake_with_less_than_a_tick_left_is_found() -> None:
    """The last tick of a jerk-limited move leaves a tick of braking to rounding, on which ruckig may fail."""
    start = [
        -1.91986,
        0.4808953970885925,
        -0.5934047372008224,
        -0.31732811935337124,
        -1.0031405797402633,
        1.54965896952345,
    ]
    target = [0.47402081812720365, 1.15075254004552, 1.69, 1.0980638550960131, -2.74385, 0.6823083052870849]
    path = joint_move(SO101, at_rest(np.array(start)), np.array(target), speed=0.5)
    assert path.ticks == 105
    assert_proper(brake(SO101, path.command_at(104)))


def test_a_move_towards_a_limit_can_be_stopped_at_every_tick() -> None:
    for target in (LOWER, UPPER):
        path = joint_move(SO101, at_rest(HOME), target)
        for tick in range(path.ticks + 1):
            assert_proper(brake(SO101, path.command_at(tick)))


def test_a_joint_that_waits_for_slower_ones_does_not_swing_out_beyond_its_limit() -> None:
    start = [
        0.4537262498036987,
        0.12243340907956934,
        1.1601304795002,
        0.07414664306283991,
        -2.74385,
        0.8490000589034215,
    ]
    towards = [-1.6324691277690735, -1.455514684730616, -1.69, -0.29385510610739174, -1.5604831350375044, 1.74533]
    onward = [
        1.3653103264328061,
        1.4750150498194112,
        -1.69,
        -1.2944189722033053,
        -0.29040327607903693,
        1.1624342412071715,
    ]
    path = joint_move(SO101, at_rest(np.array(start)), np.array(towards), speed=0.2)
    moved_on = joint_move(SO101, path.command_at(287), np.array(onward), speed=0.1)
    np.testing.assert_array_equal(moved_on.end, onward)
    assert_proper(moved_on)


def test_a_joint_about_to_arrive_where_it_is_asked_to_go_finds_its_way() -> None:
    start = [
        -1.5931076273466123,
        1.74533,
        -0.9269465833786059,
        0.7799751990868968,
        1.396828260547423,
        1.1628889402061702,
    ]
    towards = [1.722791789653956, 0.8180664985469703, 1.69, 0.4477502250595464, -2.342320511774878, 1.3969465014704925]
    onward = [1.9155981370631738, -1.6379916626165243, 1.69, -1.65806, -1.4093051081394246, 1.5329701617659037]
    path = joint_move(SO101, at_rest(np.array(start)), np.array(towards))
    moved_on = joint_move(SO101, path.command_at(86), np.array(onward), speed=0.3)
    np.testing.assert_array_equal(moved_on.end, onward)
    assert_proper(moved_on)


def test_a_target_out_of_range_is_left_to_the_check_of_paths() -> None:
    path = joint_move(SO101, at_rest(HOME), UPPER + 0.1)
    assert check_path(path, SO101) is not None


@given(commands())
@settings(deadline=None)
def test_braking_at_rest_is_one_tick_of_standing_still(command: Command) -> None:
    path = brake(SO101, at_rest(command.position))
    assert path.ticks == 1
    np.testing.assert_array_equal(path.positions, np.stack([command.position] * 2))


@settings(deadline=None)
@given(POSES, st.floats(0.02, 3.0))
def test_a_hold_stands_still_for_its_time(start: Array, duration: float) -> None:
    path = hold(SO101, at_rest(start), duration)
    np.testing.assert_array_equal(path.positions, np.broadcast_to(start, path.positions.shape))
    assert not path.velocities.any()
    assert path.duration_s == pytest.approx(duration, abs=0.5 / 60 + 1e-9)


def test_a_hold_outside_limits_is_refused() -> None:
    assert check_path(hold(SO101, at_rest(HOME), 0.2), SO101) is None
    for beyond in (UPPER[2] + 0.01, LOWER[2] - 0.01, np.nan):
        away = HOME.copy()
        away[2] = beyond
        assert check_path(hold(SO101, at_rest(away), 0.2), SO101) is not None


@settings(max_examples=100, deadline=None)
@given(commands(), st.floats(0.1, 1.0))
def test_a_hold_from_speed_comes_to_rest_first(command: Command, duration: float) -> None:
    path = hold(SO101, command, duration)
    assert_starts_from(path, command)
    assert_proper(path)
    ticks = round(duration * 60)
    still = path.positions[-ticks - 1 :]
    np.testing.assert_array_equal(still, np.broadcast_to(path.end, still.shape))


@settings(max_examples=150, deadline=None)
@given(POSES, st.floats(-1.0, 3.0), st.floats(0.05, 5.0))
def test_a_jaw_move_moves_only_the_jaw_and_no_further_than_it_goes(start: Array, jaw: float, speed: float) -> None:
    path = jaw_move(SO101, at_rest(start), jaw, speed_rad_s=speed)
    np.testing.assert_array_equal(path.positions[:, :5], np.broadcast_to(start[:5], (path.ticks + 1, 5)))
    assert path.end[5] == np.clip(jaw, LOWER[5], UPPER[5])
    assert np.abs(path.velocities[:, 5]).max() <= min(speed, 3.0) + 1e-9
    assert_proper(path)


@settings(max_examples=150, deadline=None)
@given(commands(), st.floats(-0.2, 1.8), st.floats(0.1, 3.0))
def test_a_jaw_move_from_speed_brings_the_arm_to_rest_where_its_command_was(
    command: Command, jaw: float, speed: float
) -> None:
    path = jaw_move(SO101, command, jaw, speed_rad_s=speed)
    assert_starts_from(path, command)
    np.testing.assert_array_equal(path.end[:5], command.position[:5])
    assert_proper(path)


@settings(max_examples=50, deadline=None)
@given(POSES, POSES, POSES)
def test_joined_paths_are_one_path(first: Array, second: Array, third: Array) -> None:
    here, there = joint_move(SO101, at_rest(first), second), joint_move(SO101, at_rest(second), third)
    path = join(here, there)
    assert path.ticks == here.ticks + there.ticks
    np.testing.assert_array_equal(path.positions[here.ticks], second)
    np.testing.assert_array_equal(path.end, third)
    assert_proper(path)


@settings(max_examples=50, deadline=None)
@given(POSES, POSES)
def test_a_slower_move_takes_longer(start: Array, target: Array) -> None:
    assume(np.abs(target - start).max() > 0.1)
    fast, slow = (joint_move(SO101, at_rest(start), target, speed=speed) for speed in (1.0, 0.2))
    assert slow.duration_s > fast.duration_s


@settings(max_examples=50, deadline=None)
@given(commands(), POSES)
def test_planning_a_move_twice_gives_the_same_bits(command: Command, target: Array) -> None:
    one, two = (joint_move(SO101, command, target) for _ in range(2))
    assert one.positions.tobytes() == two.positions.tobytes()
    assert one.velocities.tobytes() == two.velocities.tobytes()


@settings(max_examples=100, deadline=None)
@given(POSES, arrays(float, 6, elements=st.floats(-9, 9)), st.integers(1, 60))
def test_a_ramp_to_anywhere_keeps_range_and_speed_and_goes_straight(start: Array, target: Array, ticks: int) -> None:
    path = ramp(SO101, start, target, ticks)
    assert path.ticks == ticks
    assert check_corners(path, SO101) is None
    np.testing.assert_array_equal(path.positions[0], start)
    np.testing.assert_allclose(np.diff(path.positions, axis=0) / path.dt_s, path.velocities[:-1], atol=1e-9)
    assert not path.velocities[-1].any()
    # Each joint comes as close as it can.
    inside = np.clip(target, LOWER, UPPER)
    reach = SO101.limits.velocity * path.duration_s
    np.testing.assert_allclose(np.abs(inside - path.end), np.maximum(np.abs(inside - start) - reach, 0), atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(POSES, arrays(float, 6, elements=st.floats(-0.04, 0.04)))
def test_a_ramp_ends_exactly_where_it_can(start: Array, step: Array) -> None:
    target = np.clip(start + step, LOWER, UPPER)
    np.testing.assert_array_equal(ramp(SO101, start, target, 1).end, target)


# An arm's path with a jaw that goes through phases


def swung(ticks: int = 90) -> tuple[Array, Array]:
    """Positions and velocities (T + 1, 5) of an arm that swings to and fro."""
    times = np.arange(ticks + 1.0)[:, None] / 60
    return HOME[:5] + 0.1 * np.sin(2 * times), 0.2 * np.cos(2 * times) * np.ones(5)


def with_phases(*phases: tuple[int, float], start: Command | None = None, speed: float = 2.0) -> Path:
    start = at_rest(HOME) if start is None else start
    return with_jaw(SO101, start, *swung(), phases, speed_rad_s=speed)


ANGLES = st.floats(-0.1, 1.7)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 90), ANGLES), max_size=4), st.floats(0.2, 3.0))
def test_a_jaw_goes_through_its_phases_within_limits_while_the_arm_keeps_its_way(
    phases: list[tuple[int, float]], speed: float
) -> None:
    path = with_phases(*sorted(phases), speed=speed)
    positions, velocities = swung()
    np.testing.assert_array_equal(path.positions[:, :5], positions)
    np.testing.assert_array_equal(path.velocities[:, :5], velocities)
    assert check_path(path, SO101) is None
    assert np.abs(path.velocities[:, 5]).max() <= speed + 1e-9
    assert path.positions[0, 5] == HOME[5]


def test_each_phase_begins_at_its_tick_and_ends_at_its_angle() -> None:
    path = with_phases((10, 1.0), (55, 0.6))
    jaw = path.positions[:, 5]
    np.testing.assert_array_equal(jaw[:11], HOME[5])
    assert jaw[11] != HOME[5]
    assert jaw[54] == pytest.approx(1.0)
    assert not path.velocities[54, 5]
    assert jaw[-1] == pytest.approx(0.6, abs=1e-9)


def test_a_phase_that_is_cut_short_hands_its_speed_on() -> None:
    cut, whole = with_phases((0, 1.6), (20, 0.0)), with_phases((0, 1.6))
    np.testing.assert_array_equal(cut.positions[:21], whole.positions[:21])
    assert whole.velocities[20, 5] > 0.5
    assert cut.velocities[20, 5] == pytest.approx(whole.velocities[20, 5])
    assert cut.positions[:, 5].max() < 1.5
    assert cut.positions[-1, 5] == pytest.approx(0.0, abs=1e-9)


def test_a_jaw_that_moves_already_is_taken_over() -> None:
    opening = jaw_move(SO101, at_rest(HOME), 1.6, speed_rad_s=2.0)
    command = opening.command_at(12)
    path = with_phases((0, 0.2), start=command)
    assert (path.positions[0, 5], path.velocities[0, 5]) == (command.position[5], command.velocity[5])
    assert path.positions[-1, 5] == pytest.approx(0.2, abs=1e-9)
    assert check_path(path, SO101) is None


def test_what_a_jaw_does_not_reach_before_the_path_ends_it_does_not_reach() -> None:
    late, never = with_phases((80, 1.6)), with_phases((91, 1.6))
    assert HOME[5] < late.positions[-1, 5] < 1.6
    np.testing.assert_array_equal(never.positions[:, 5], HOME[5])


def test_without_phases_a_jaw_stays() -> None:
    np.testing.assert_array_equal(with_phases().positions[:, 5], HOME[5])
