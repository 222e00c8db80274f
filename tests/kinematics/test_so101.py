"""Closed-form kinematics: what it claims is so, what is reachable it finds, what it refuses it explains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from graspline.kinematics.arm import Solutions
from graspline.kinematics.so101 import (
    ARM,
    LIFT_HEIGHT_M,
    LIFT_RADIUS_M,
    LOWER_LINK_M,
    PAN_X_M,
    STRAIGHT_DOWN_RAD,
    TOLERANCE_M,
    UPPER_LINK_M,
    forward,
    solve,
)
from graspline.kinematics.tilts import steepest_pitch
from graspline.robots.so101 import ARM_JOINTS, FIXED_TIP_M, LOWER, UPPER
from graspline.spatial.rotations import wrap

Array = NDArray[np.float64]

TIP = np.array(FIXED_TIP_M)
ARM_LOWER, ARM_UPPER = LOWER[:5], UPPER[:5]
# Straight ahead and straight back the jaws open up or down, and have no heading.
NEARLY_LEVEL_RAD = 0.2

POSITIONS = st.tuples(st.floats(-0.45, 0.5), st.floats(-0.45, 0.45), st.floats(-0.1, 0.45))
PITCHES = st.floats(NEARLY_LEVEL_RAD, np.pi - NEARLY_LEVEL_RAD) | st.just(STRAIGHT_DOWN_RAD)
YAWS = st.floats(-np.pi, np.pi)
TOOLS = st.tuples(st.floats(0.06, 0.11), st.floats(-0.01, 0.01), st.floats(-0.01, 0.03)).map(np.array)


def heading_of(rotation: Array) -> Array:
    """Heading, seen from above, of the opening direction."""
    return np.arctan2(rotation[..., 1, 2], rotation[..., 0, 2])


def pitch_of(joints: Array) -> Array:
    return joints[..., 1] + joints[..., 2] + joints[..., 3]


def assert_claims_hold(solutions: Solutions, position: Array, pitch: Array, yaw: Array | None, tool: Array) -> None:
    """Every branch claimed reaches position, pitch and heading within limits."""
    for branch in range(4):
        claimed = solutions.reached[:, branch]
        joints = solutions.joints_rad[claimed, branch]
        there, rotation = forward(joints, tool)
        assert np.abs(there - position[claimed]).max(initial=0) <= 2 * TOLERANCE_M
        assert np.abs(wrap(pitch_of(joints) - pitch[claimed])).max(initial=0) < 1e-12
        if yaw is not None:
            assert np.abs(wrap(heading_of(rotation) - yaw[claimed])).max(initial=0) < 1e-12
        assert (joints >= ARM_LOWER).all()
        assert (joints <= ARM_UPPER).all()


def reachable_poses(count: int, seed: int, tool: Array, pitches: tuple[float, float]) -> tuple[Array, ...]:
    """Poses made by forward kinematics from random joints within limits: joints, position, pitch, yaw."""
    random = np.random.default_rng(seed)
    joints = random.uniform(ARM_LOWER, ARM_UPPER, (20 * count, 5))
    position, rotation = forward(joints, tool)
    pitch = pitch_of(joints)
    off_axis = np.hypot(position[:, 0] - PAN_X_M, position[:, 1]) > 0.02
    fit = np.flatnonzero((pitch > pitches[0]) & (pitch < pitches[1]) & off_axis)[:count]
    assert len(fit) == count
    return joints[fit], position[fit], pitch[fit], heading_of(rotation[fit])


def test_the_published_lengths_follow_from_the_chain() -> None:
    assert pytest.approx(0.0388, abs=5e-5) == PAN_X_M
    assert pytest.approx(0.0304, abs=5e-5) == LIFT_RADIUS_M
    assert pytest.approx(0.1166, abs=5e-5) == LIFT_HEIGHT_M
    assert pytest.approx(0.1160, abs=5e-5) == UPPER_LINK_M
    assert pytest.approx(0.1350, abs=5e-5) == LOWER_LINK_M


@settings(max_examples=300, deadline=None)
@given(POSITIONS, PITCHES, YAWS, TOOLS)
def test_what_is_claimed_is_reached(
    position: tuple[float, float, float], pitch: float, yaw: float, tool: Array
) -> None:
    target = np.array([position])
    solutions = solve(target, pitch, yaw, tool)
    assert np.isfinite(solutions.joints_rad).all()
    assert_claims_hold(solutions, target, np.array([pitch]), np.array([yaw]), tool)


@settings(max_examples=300, deadline=None)
@given(arrays(float, 5, elements=st.floats(0, 1)))
def test_a_pose_the_arm_has_is_a_pose_it_finds(share: Array) -> None:
    joints = (ARM_LOWER + share * (ARM_UPPER - ARM_LOWER))[None]
    position, rotation = forward(joints, TIP)
    pitch, yaw = pitch_of(joints), heading_of(rotation)
    if not NEARLY_LEVEL_RAD < pitch[0] < np.pi - NEARLY_LEVEL_RAD:
        return
    if np.hypot(position[0, 0] - PAN_X_M, position[0, 1]) < 0.02:
        return
    # At the very end of its range a joint may come out a rounding beyond it.
    assert solve(position, pitch, yaw, TIP, margin_rad=-1e-5).best()[1][0]


def test_every_one_of_5000_reachable_poses_is_solved() -> None:
    _, position, pitch, yaw = reachable_poses(5000, 3, TIP, (NEARLY_LEVEL_RAD, np.pi - NEARLY_LEVEL_RAD))
    solutions = solve(position, pitch, yaw, TIP)
    assert solutions.best()[1].all()
    assert_claims_hold(solutions, position, pitch, yaw, TIP)


def test_a_tool_as_wide_as_a_grasp_is_solved_wherever_the_gripper_does_not_lean_backwards() -> None:
    tool = np.array([0.098, 0.0, 0.025])
    _, position, pitch, yaw = reachable_poses(5000, 4, tool, (NEARLY_LEVEL_RAD, STRAIGHT_DOWN_RAD))
    solutions = solve(position, pitch, yaw, tool)
    assert solutions.best()[1].all()
    assert_claims_hold(solutions, position, pitch, yaw, tool)


def test_one_of_the_solutions_is_the_pose_one_started_from() -> None:
    joints, position, pitch, yaw = reachable_poses(2000, 5, TIP, (NEARLY_LEVEL_RAD, STRAIGHT_DOWN_RAD))
    solutions = solve(position, pitch, yaw, TIP)
    apart = np.where(solutions.reached, np.abs(solutions.joints_rad - joints[:, None]).max(axis=-1), np.inf)
    assert (apart.min(axis=1) < 1e-3).mean() > 0.999


def test_all_branches_occur_and_the_two_elbows_bend_opposite_ways() -> None:
    _, position, pitch, yaw = reachable_poses(20000, 6, TIP, (NEARLY_LEVEL_RAD, np.pi - NEARLY_LEVEL_RAD))
    solutions = solve(position, pitch, yaw, TIP)
    assert (solutions.reached.sum(axis=0) > 0).all()
    both = solutions.reached[:, 0] & solutions.reached[:, 1]
    assert both.any()
    up, down = solutions.joints_rad[both, 0], solutions.joints_rad[both, 1]
    elbow_heights = [LIFT_HEIGHT_M + UPPER_LINK_M * np.sin(np.arctan2(0.11257, 0.028) - q[:, 1]) for q in (up, down)]
    # With the wrist ahead of the shoulder, elbow up is the higher elbow.
    ahead = forward(up, np.zeros(3))[0]
    assert (elbow_heights[0] >= elbow_heights[1])[np.hypot(ahead[:, 0] - PAN_X_M, ahead[:, 1]) > 0.2].all()


def test_the_back_branches_turn_the_pan_away_from_the_target() -> None:
    _, position, pitch, yaw = reachable_poses(20000, 7, TIP, (NEARLY_LEVEL_RAD, np.pi - NEARLY_LEVEL_RAD))
    solutions = solve(position, pitch, yaw, TIP)
    far = np.hypot(position[:, 0] - PAN_X_M, position[:, 1]) > 0.05
    azimuth = np.arctan2(position[:, 1], position[:, 0] - PAN_X_M)
    for branch, facing in ((0, True), (1, True), (2, False), (3, False)):
        chosen = solutions.reached[:, branch] & far
        off = np.abs(wrap(-solutions.joints_rad[chosen, branch, 0] - azimuth[chosen]))
        assert ((off < np.pi / 2) == facing).all()


def test_beyond_reach_is_refused_with_how_far() -> None:
    (found,) = solve(np.array([[0.6, 0.0, 0.05]]), STRAIGHT_DOWN_RAD, 0.0, TIP).explain(0)
    assert found.name == "wrist_beyond_reach"
    assert found.limit == 0.0
    # Straight down the wrist stands over the roll axis: what it lacks is plain geometry.
    wrist = np.hypot(0.6 - PAN_X_M - LIFT_RADIUS_M + 0.0079, 0.05 + 0.0611 + 0.0981274 - LIFT_HEIGHT_M)
    assert found.value == pytest.approx(wrist - UPPER_LINK_M - LOWER_LINK_M, abs=1e-9)
    assert not found.passed


def test_straight_down_from_high_up_is_refused_for_the_wrist() -> None:
    (found,) = solve(np.array([[0.25, 0.0, 0.10]]), STRAIGHT_DOWN_RAD, np.pi / 2, TIP).explain(0)
    assert found.name == "wrist_flex"
    assert found.relation == "<="
    assert found.limit == pytest.approx(UPPER[3])
    assert found.value > found.limit


def test_a_heading_beyond_the_wrists_turn_is_refused_for_the_roll() -> None:
    (found,) = solve(np.array([[0.25, 0.0, 0.02]]), STRAIGHT_DOWN_RAD, 3.0, TIP).explain(0)
    assert found.name == "wrist_roll"
    assert found.limit == pytest.approx(UPPER[4])
    assert found.value > found.limit


def test_a_lower_limit_is_named_as_one() -> None:
    behind = solve(np.array([[PAN_X_M - 0.1, 0.2, 0.02]]), STRAIGHT_DOWN_RAD, 2.2, TIP)
    (pan,) = behind.explain(0)
    assert pan.name == "shoulder_pan"
    assert pan.relation == ">="
    assert pan.limit == pytest.approx(LOWER[0])
    assert pan.value < pan.limit


@settings(max_examples=300, deadline=None)
@given(POSITIONS, PITCHES, YAWS)
def test_a_refusal_always_says_why(position: tuple[float, float, float], pitch: float, yaw: float) -> None:
    solutions = solve(np.array([position]), pitch, yaw, TIP)
    evidence = solutions.explain(0)
    if solutions.reached.any():
        assert evidence == ()
    else:
        assert evidence
        assert not any(measurement.passed for measurement in evidence)
        assert {each.name for each in evidence} <= {"wrist_beyond_reach", *ARM_JOINTS}


@settings(deadline=None)
@given(POSITIONS, PITCHES, YAWS, st.floats(0.0, 0.3))
def test_a_margin_is_kept_from_every_limit(
    position: tuple[float, float, float], pitch: float, yaw: float, margin: float
) -> None:
    target = np.array([position])
    free, held = solve(target, pitch, yaw, TIP), solve(target, pitch, yaw, TIP, margin)
    np.testing.assert_array_equal(free.joints_rad, held.joints_rad)
    joints = held.joints_rad[held.reached]
    assert (joints >= ARM_LOWER + margin - 1e-12).all()
    assert (joints <= ARM_UPPER - margin + 1e-12).all()
    assert (held.reached <= free.reached).all()
    for measurement in held.explain(0):
        if measurement.unit == "rad":
            joint = ARM_JOINTS.index(measurement.name)
            limit = ARM_UPPER[joint] - margin if measurement.relation == "<=" else ARM_LOWER[joint] + margin
            assert measurement.limit == pytest.approx(limit)


@settings(deadline=None)
@given(POSITIONS, PITCHES, st.floats(-0.01, 0.01))
def test_without_a_heading_the_jaws_open_in_the_arms_plane(
    position: tuple[float, float, float], pitch: float, lateral: float
) -> None:
    target, tool = np.array([position]), np.array([0.098, lateral, 0.005])
    solutions = solve(target, pitch, None, tool)
    assert_claims_hold(solutions, target, np.array([pitch]), None, tool)
    for joints in solutions.joints_rad[solutions.reached]:
        _, rotation = forward(joints[None], tool)
        arm_plane = np.array([np.cos(-joints[0]), np.sin(-joints[0]), 0.0])
        # Opening direction, approach and the vertical lie in one plane.
        assert abs(np.linalg.det(np.stack([rotation[0, :, 2], arm_plane, [0.0, 0.0, 1.0]]))) < 1e-12


def test_a_target_nearer_to_the_pan_axis_than_the_tools_own_offset_is_refused() -> None:
    tool = np.array([0.098, 0.03, 0.0])
    solutions = solve(np.array([[PAN_X_M + 0.01, 0.0, 0.05]]), 1.2, None, tool)
    assert not solutions.reached.any()
    (found,) = solutions.explain(0)
    assert found.value == pytest.approx(0.02, abs=1e-3)


def test_pitch_yaw_and_tool_may_differ_from_row_to_row() -> None:
    position = np.array([[0.25, 0.0, 0.03], [0.2, 0.1, 0.05], [0.3, -0.05, 0.08]])
    pitch, yaw = np.array([STRAIGHT_DOWN_RAD, 1.3, 1.0]), np.array([0.1, 0.5, -0.7])
    tool = np.array([[0.098, 0.0, -0.0079], [0.09, 0.002, 0.01], [0.1, 0.0, 0.02]])
    together = solve(position, pitch, yaw, tool)
    for row in range(3):
        alone = solve(position[row : row + 1], float(pitch[row]), float(yaw[row]), tool[row])
        assert alone.joints_rad.tobytes() == together.joints_rad[row : row + 1].tobytes()
        assert alone.excess.tobytes() == together.excess[row : row + 1].tobytes()


def ring(height_m: float) -> Array:
    radii = np.arange(0.05, 0.40, 0.002)
    return np.stack([PAN_X_M + radii, np.zeros_like(radii), np.full_like(radii, height_m)], axis=-1)


def test_a_target_among_twenty_thousand_gets_the_bits_it_gets_among_a_hundred() -> None:
    # From 256 KiB of numbers on, numpy multiplies in place, which must not show.
    random, count = np.random.default_rng(0), 20_000
    position = random.uniform((0.1, -0.3, 0.0), (0.4, 0.3, 0.1), (count, 3))
    pitch, yaw = random.uniform(0.6, np.pi / 2, count), random.uniform(-np.pi, np.pi, count)
    tool = random.uniform((0.08, 0.0, 0.01), (0.1, 0.0, 0.04), (count, 3))
    found = solve(position, pitch, yaw, tool)
    points, _ = forward(found.joints_rad[:, 0], tool)
    for begin in range(0, count, 100):
        rows = slice(begin, begin + 100)
        few = solve(position[rows], pitch[rows], yaw[rows], tool[rows])
        assert few.joints_rad.tobytes() == found.joints_rad[rows].tobytes()
        assert few.excess.tobytes() == found.excess[rows].tobytes()
        assert forward(few.joints_rad[:, 0], tool[rows])[0].tobytes() == points[rows].tobytes()


def test_straight_down_reaches_up_to_nine_centimetres_as_published() -> None:
    for height, reaches in ((0.0, True), (0.05, True), (0.09, True), (0.10, False), (0.12, False)):
        straight = solve(ring(height), STRAIGHT_DOWN_RAD, None, TIP).reached[:, :2]
        assert straight.any() == reaches


def test_the_steepest_pitch_is_straight_down_wherever_that_reaches() -> None:
    for height in (0.0, 0.04, 0.08, 0.12):
        straight = solve(ring(height), STRAIGHT_DOWN_RAD, None, TIP).best()[1]
        pitch, reached = steepest_pitch(ARM, ring(height), None, TIP, 1.05)
        np.testing.assert_array_equal(pitch[reached] == STRAIGHT_DOWN_RAD, straight[reached])
        assert reached[straight].all()


def test_above_nine_centimetres_the_gripper_leans_as_little_as_it_can() -> None:
    pitch, reached = steepest_pitch(ARM, ring(0.12), None, TIP, 1.05)
    assert reached.any()
    assert (pitch[reached] < STRAIGHT_DOWN_RAD).all()
    steeper = solve(ring(0.12)[reached], pitch[reached] + np.pi / 180, None, TIP)
    assert not steeper.best()[1].any()
    assert solve(ring(0.12)[reached], pitch[reached], None, TIP).best()[1].all()


def test_what_no_tilt_reaches_is_reported() -> None:
    far = np.array([[0.6, 0.0, 0.05], [0.25, 0.0, 0.03]])
    _, reached = steepest_pitch(ARM, far, 0.3, TIP, 1.05)
    assert reached.tolist() == [False, True]


def test_a_smaller_allowed_tilt_reaches_no_more() -> None:
    heights = ring(0.12)
    reached = [steepest_pitch(ARM, heights, None, TIP, tilt)[1] for tilt in (0.0, 0.3, 0.8)]
    assert reached[0].sum() < reached[1].sum() < reached[2].sum()
    assert (reached[0] <= reached[1]).all()
    assert (reached[1] <= reached[2]).all()
