"""Closed form of the UR5e: eight branches, each exact where it claims to be; paths hold together or say where not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.kinematics.ur5e import (
    ARM_LOWER,
    ARM_UPPER,
    ASIDE_M,
    BASE_HEIGHT_M,
    BRANCHES,
    FLANGE_M,
    LOWER_LINK_M,
    TOOL_M,
    UPPER_LINK_M,
    WRIST_M,
    Following,
    Solutions,
    continuous,
    forward,
    nearest_branch,
    solve,
    straight_down,
)
from graspline.robots.ur5e import UR5E
from graspline.scenes.scene import new_spec
from graspline.spatial.rotations import (
    matrix_from_quaternion,
    multiply,
    rotation_x,
    rotation_z,
    wrap,
)

Array = NDArray[np.float64]

EXACT = 1e-9
QUARTER = np.pi / 2
# Reaches along +x, pointing straight down.
READY = np.array([0.0, -QUARTER, QUARTER, -QUARTER, -QUARTER, 0.0])
# Singular poses lie where joints are at whole quarters of a turn, or nearly there.
ANGLES = (
    st.floats(-np.pi, np.pi)
    | st.sampled_from([k * QUARTER for k in (-2, -1, 0, 1, 2)])
    | st.tuples(st.sampled_from([-QUARTER, 0.0, QUARTER]), st.floats(-1e-6, 1e-6)).map(sum)
)
JOINTS = st.tuples(*[ANGLES] * 6).map(np.array)
TOOLS = st.floats(0.0, 0.3)
SEEDS = st.integers(0, 2**32 - 1)


def any_joints(count: int, seed: int, reach_rad: float = np.pi) -> Array:
    return np.random.default_rng(seed).uniform(-reach_rad, reach_rad, (count, 6))


def any_rotations(count: int, seed: int) -> Array:
    quaternions = np.random.default_rng(seed).normal(size=(count, 4))
    return matrix_from_quaternion(quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True))


def worst_error(joints: Array, position: Array, rotation: Array, tool_m: float = TOOL_M) -> float:
    """The largest entry by which the tool misses its position, m, or its axes."""
    there, turned = forward(joints, tool_m)
    return max(np.abs(there - position).max(initial=0), np.abs(turned - rotation).max(initial=0))


def assert_claims_hold(solutions: Solutions, position: Array, rotation: Array, tool_m: float = TOOL_M) -> None:
    joints, reached = solutions.joints_rad, solutions.reached
    assert np.isfinite(joints).all()
    assert np.abs(joints).max() <= np.pi
    for branch in range(BRANCHES):
        claimed = reached[:, branch]
        assert worst_error(joints[claimed, branch], position[claimed], rotation[claimed], tool_m) < EXACT


def apart(a: Array, b: Array) -> Array:
    """The farthest that any joint is apart, whole turns aside."""
    return np.abs(wrap(a - b)).max(axis=-1)


def published(q: Array) -> Array:
    """The flange by the maker's table of d, a and α, its base turned by half a turn."""
    table = (
        (0.1625, 0.0, QUARTER),
        (0.0, -0.425, 0.0),
        (0.0, -0.3922, 0.0),
        (0.1333, 0.0, QUARTER),
        (0.0997, 0.0, -QUARTER),
        (0.0996, 0.0, 0.0),
    )
    frame = np.diag([-1.0, -1.0, 1.0, 1.0])
    for angle, (d, a, alpha) in zip(q, table, strict=True):
        link = np.eye(4)
        link[:3, :3] = multiply(rotation_z(angle), rotation_x(alpha))
        link[:3, 3] = a * np.cos(angle), a * np.sin(angle), d
        frame = frame @ link
    return frame


def test_forward_is_the_published_chain() -> None:
    for q in any_joints(50, 0, 2 * np.pi):
        flange = published(q)
        position, rotation = forward(q, 0.2)
        np.testing.assert_allclose(position, flange[:3, 3] + 0.2 * flange[:3, 2], atol=1e-14)
        np.testing.assert_allclose(rotation[:, 0], flange[:3, 2], atol=1e-14)
        np.testing.assert_allclose(rotation[:, 2], flange[:3, 0], atol=1e-14)
        np.testing.assert_allclose(np.cross(rotation[:, 0], rotation[:, 1]), rotation[:, 2], atol=1e-14)


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    spec = new_spec()
    UR5E.add_to(spec)
    return spec.compile()


def test_forward_is_the_compiled_model(model: mujoco.MjModel) -> None:
    data = mujoco.MjData(model)
    for q in np.random.default_rng(0).uniform(UR5E.limits.lower, UR5E.limits.upper, (100, 7)):
        for name, angle in zip(UR5E.joints, q, strict=True):
            data.joint(name).qpos[0] = angle
        mujoco.mj_kinematics(model, data)
        position, rotation = forward(q[UR5E.arm])
        np.testing.assert_allclose(position, data.site("tool").xpos, atol=EXACT)
        np.testing.assert_allclose(rotation, data.site("tool").xmat.reshape(3, 3), atol=EXACT)


def test_forward_takes_any_leading_shape() -> None:
    joints = any_joints(24, 1)
    position, rotation = forward(joints.reshape(2, 3, 4, 6))
    flat = forward(joints)
    assert position.shape == (2, 3, 4, 3)
    assert rotation.shape == (2, 3, 4, 3, 3)
    assert position.tobytes() == flat[0].tobytes()
    assert rotation.tobytes() == flat[1].tobytes()


def test_the_ready_pose_reaches_ahead_and_points_down() -> None:
    position, rotation = forward(READY)
    np.testing.assert_allclose(position, [LOWER_LINK_M + WRIST_M, ASIDE_M, 0.344], atol=1e-12)
    np.testing.assert_allclose(rotation, straight_down(-QUARTER)[0], atol=1e-15)
    solutions = solve(position, rotation)
    np.testing.assert_allclose(solutions.joints_rad[0, 0], READY, atol=1e-12)


@pytest.mark.parametrize("tool_m", [0.0, TOOL_M])
def test_every_one_of_10000_reachable_poses_is_solved_to_a_nanometre(tool_m: float) -> None:
    joints = any_joints(10_000, 2)
    position, rotation = forward(joints, tool_m)
    solutions = solve(position, rotation, tool_m)
    assert solutions.reached.any(axis=1).all()
    assert_claims_hold(solutions, position, rotation, tool_m)
    # And one of the branches is the pose one started from.
    assert apart(solutions.joints_rad, joints[:, None]).min(axis=1).max() < 1e-6


@settings(max_examples=400, deadline=None)
@given(JOINTS, TOOLS)
def test_a_pose_the_arm_has_is_a_pose_it_finds(joints: Array, tool_m: float) -> None:
    position, rotation = forward(joints[None], tool_m)
    solutions = solve(position, rotation, tool_m)
    assert solutions.reached.any()
    assert solutions.explain(0) == ()
    assert_claims_hold(solutions, position, rotation, tool_m)


@settings(max_examples=100, deadline=None)
@given(st.tuples(*[st.floats(-1.3, 1.3)] * 3), SEEDS)
def test_any_pose_is_reached_as_claimed_or_refused_with_a_reason(at: tuple[float, ...], seed: int) -> None:
    position, rotation = np.array([at]), any_rotations(1, seed)
    solutions = solve(position, rotation)
    assert_claims_hold(solutions, position, rotation)
    evidence = solutions.explain(0)
    assert bool(evidence) != bool(solutions.reached.any())
    assert not any(each.passed for each in evidence)


def test_eight_branches_are_distinct_and_in_order() -> None:
    position, rotation = forward(any_joints(3000, 3))
    solutions = solve(position, rotation)
    joints = solutions.joints_rad[solutions.reached.all(axis=1)]
    assert len(joints) > 1000
    for one in range(BRANCHES):
        for other in range(one):
            assert apart(joints[:, one], joints[:, other]).min() > 1e-6
    wrist = forward(joints, -FLANGE_M)[0]
    ahead = wrist[..., 0] * np.cos(joints[..., 0]) + wrist[..., 1] * np.sin(joints[..., 0])
    expected = np.array([[f, w, e] for f in (1, -1) for w in (-1, 1) for e in (1, -1)])
    assert (np.sign(ahead) == expected[:, 0]).all()
    assert (np.sign(joints[..., 4]) == expected[:, 1]).all()
    assert (np.sign(joints[..., 2]) == expected[:, 2]).all()


def test_one_rotation_serves_all_positions() -> None:
    position = forward(READY)[0] + np.linspace(0, 0.1, 7)[:, None]
    one, each = solve(position, straight_down(0.3)[0]), solve(position, straight_down(np.full(7, 0.3)))
    assert one.joints_rad.tobytes() == each.joints_rad.tobytes()


def rows_alone(function: Callable[..., tuple[Any, ...]], *arrays: Array) -> bool:
    """Whether each row gives the bits alone that it gives among the others."""
    together = function(*arrays)
    return all(
        np.ascontiguousarray(part).tobytes() == np.ascontiguousarray(whole[row : row + 1]).tobytes()
        for row in range(len(arrays[0]))
        for part, whole in zip(function(*(each[row : row + 1] for each in arrays)), together, strict=True)
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 70), SEEDS)
def test_each_row_has_the_bits_it_has_alone(count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    joints = any_joints(count, seed)
    # Singular and stretched ones among them, and some out of reach.
    joints[random.random(count) < 0.2, 4] = random.choice([0.0, np.pi])
    joints[random.random(count) < 0.2, 2] = 0.0
    position, rotation = forward(joints)
    position[random.random(count) < 0.2] *= 2
    prefer, start = random.uniform(-4, 4, count), any_joints(count, seed + 1)

    def solved(position: Array, rotation: Array, prefer: Array, start: Array) -> tuple[Any, ...]:
        found = solve(position, rotation, prefer_rad=prefer)
        return found.joints_rad, found.inside_m, found.beyond_m, *nearest_branch(found, start)

    assert rows_alone(solved, position, rotation, prefer, start)
    assert rows_alone(forward, joints)
    assert rows_alone(lambda yaw: (straight_down(yaw),), prefer)


@pytest.mark.parametrize("wrist_2", [0.0, np.pi, 1e-12, -1e-12])
@pytest.mark.parametrize("prefer", [0.0, 1.1, -2.5])
def test_where_two_wrists_turn_about_one_axis_the_last_is_where_it_is_preferred(wrist_2: float, prefer: float) -> None:
    joints = any_joints(500, 4)
    joints[:, 4] = wrist_2
    position, rotation = forward(joints)
    solutions = solve(position, rotation, prefer_rad=prefer)
    assert_claims_hold(solutions, position, rotation)
    free = np.abs(np.sin(solutions.joints_rad[..., 4])) < 1e-10
    there = solutions.joints_rad[..., 5] == prefer
    assert (there & free).sum() > 1500
    # Elsewhere the arm reaches no nearer to it than stretched or folded.
    reached = solutions.reached & free
    assert np.abs(np.sin(solutions.joints_rad[reached & ~there][:, 2])).max(initial=0) < 1e-6
    assert reached.any(axis=1).all()
    # One way of facing the target is singular, in all four branches that face this way.
    assert (free.sum(axis=1) == 4).all()
    ways = np.sort(free.reshape(-1, 2, 4).all(axis=2), axis=1)
    np.testing.assert_array_equal(ways, np.tile([False, True], (500, 1)))
    for near in (0.01, -0.01):
        nearer = solve(position, rotation, prefer_rad=solutions.joints_rad[..., 5].T.reshape(8, -1)[0] + near)
        assert_claims_hold(nearer, position, rotation)
    kept = solve(position, rotation, prefer_rad=joints[:, 5])
    assert apart(kept.joints_rad, joints[:, None]).min(axis=1).max() < 1e-6


@pytest.mark.parametrize("exponent", range(1, 16))
def test_near_every_singularity_what_is_claimed_is_exact(exponent: int) -> None:
    for joint, centre in ((4, 0.0), (4, np.pi), (2, 0.0), (2, np.pi)):
        joints = any_joints(200, 5)
        joints[:, joint] = centre + np.where(np.arange(200) % 2, 1, -1) * 10.0**-exponent
        position, rotation = forward(joints)
        solutions = solve(position, rotation)
        assert solutions.reached.any(axis=1).all()
        assert_claims_hold(solutions, position, rotation)


@pytest.mark.parametrize("off_m", [0.0, 1e-15, 1e-12, 1e-9, 1e-6])
def test_a_wrist_beside_the_pan_axis_is_solved_up_to_its_own_offset_from_it(off_m: float) -> None:
    turn = np.linspace(-3, 3, 40)
    rotation = straight_down(turn)
    wrist = (ASIDE_M + off_m) * np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    position = np.concatenate([wrist, np.full((40, 1), 0.3)], axis=1)
    solutions = solve(position, rotation)
    assert solutions.reached.any(axis=1).all()
    assert_claims_hold(solutions, position, rotation)


def test_a_wrist_within_its_own_offset_of_the_pan_axis_is_refused_with_the_distance() -> None:
    position = np.array([[0.03, -0.04, 0.3], [0.0, 0.0, 0.3]])
    solutions = solve(position, straight_down(np.zeros(2)))
    assert not solutions.reached.any()
    assert np.isfinite(solutions.joints_rad).all()
    for row, distance in ((0, 0.05), (1, 0.0)):
        (found,) = solutions.explain(row)
        assert found.name == "wrist_from_pan_axis"
        assert found.value == pytest.approx(distance)
        assert found.limit == ASIDE_M
        assert not found.passed


def test_beyond_reach_is_refused_with_how_far() -> None:
    solutions = solve(np.array([1.2, ASIDE_M, 0.1]), straight_down(0.0))
    (found,) = solutions.explain(0)
    assert found.name == "wrist_beyond_reach"
    # The nearer branch has its wrist this side of the tool.
    wrist = np.hypot(1.2 - WRIST_M, 0.1 + TOOL_M + FLANGE_M - BASE_HEIGHT_M)
    assert found.value == pytest.approx(wrist - UPPER_LINK_M - LOWER_LINK_M, abs=1e-12)
    assert not found.passed


def test_the_arm_stretched_out_is_reached_and_a_micrometre_farther_is_not() -> None:
    joints = np.array([0.4, -0.6, 0.0, 0.2, -1.2, 0.5])
    position, rotation = forward(joints[None])
    solutions = solve(position, rotation)
    assert_claims_hold(solutions, position, rotation)
    assert apart(solutions.joints_rad[0], joints).min() < 1e-6
    along = np.array([np.cos(0.4) * np.cos(0.6), np.sin(0.4) * np.cos(0.6), np.sin(0.6)])
    own = apart(solutions.joints_rad[0], joints) < 1e-6
    farther = solve(position + 1e-6 * along, rotation)
    assert not farther.reached[0, own].any()
    np.testing.assert_allclose(farther.beyond_m[0, own], 1e-6, rtol=1e-6)


@settings(deadline=None)
@given(st.floats(-10, 10))
def test_straight_down_points_down_and_closes_along_its_heading(yaw: float) -> None:
    (rotation,) = straight_down(yaw)
    np.testing.assert_allclose(multiply(rotation, rotation.T), np.eye(3), atol=1e-15)
    assert np.linalg.det(rotation) == pytest.approx(1)
    np.testing.assert_array_equal(rotation[:, 0], [0, 0, -1])
    np.testing.assert_allclose(rotation[:, 2], [np.cos(yaw), np.sin(yaw), 0])
    (round_about,) = straight_down(yaw + np.pi)
    np.testing.assert_allclose(round_about[:, 1:], -rotation[:, 1:], atol=1e-14)


def test_the_nearest_branch_is_where_the_arm_already_is() -> None:
    # Between them whole turns either way, as far as limits go.
    joints = np.random.default_rng(6).uniform(ARM_LOWER, ARM_UPPER, (300, 6))
    found = solve(*forward(joints))
    nearest, reached = nearest_branch(found, joints)
    assert reached.all()
    np.testing.assert_allclose(nearest, joints, atol=1e-6)
    one, _ = nearest_branch(found, joints[0])
    np.testing.assert_allclose(one[0], joints[0], atol=1e-9)


@pytest.mark.parametrize("weights", [None, np.array([3.0, 3.0, 1.0, 1.0, 0.5, 0.1])])
def test_no_other_branch_and_no_other_turn_within_limits_is_nearer(weights: Array | None) -> None:
    random = np.random.default_rng(7)
    start = random.uniform(ARM_LOWER, ARM_UPPER, (40, 6))
    lower, upper = np.array([-3.5, -2, -3, -6, -6, -4]), np.array([3, 2, 3, 5, 6.1, 4])
    found = solve(*forward(any_joints(40, 8)))
    nearest, reached = nearest_branch(found, start, lower, upper, weights)
    scale = np.ones(6) if weights is None else weights
    turns = 2 * np.pi * np.arange(-2, 3)
    assert 0 < reached.sum() < 40
    for row in range(40):
        best = np.inf
        for joints in found.joints_rad[row, found.reached[row]]:
            turned = joints[:, None] + turns
            within = (turned >= lower[:, None]) & (turned <= upper[:, None])
            far = np.where(within, np.abs(turned - start[row, :, None]), np.inf).min(axis=1)
            best = min(best, float((far * scale).max()))
        assert reached[row] == np.isfinite(best)
        if reached[row]:
            assert float((np.abs(nearest[row] - start[row]) * scale).max()) == pytest.approx(best, abs=1e-9)
            assert (nearest[row] >= lower).all()
            assert (nearest[row] <= upper).all()


def assert_followed(following: Following, position: Array, rotation: Array, tool_m: float = TOOL_M) -> None:
    rows = slice(following.followed)
    rotation = np.broadcast_to(rotation, (len(position), 3, 3))
    assert worst_error(following.joints_rad[rows], position[rows], rotation[rows], tool_m) < EXACT
    assert np.abs(np.diff(following.joints_rad[rows], axis=0)).max(initial=0) <= 0.5
    assert (following.joints_rad[rows] >= ARM_LOWER).all()
    assert (following.joints_rad[rows] <= ARM_UPPER).all()
    assert following.complete != bool(following.evidence)


def line(joints: Array, by_m: Array, rows: int = 200, tool_m: float = TOOL_M) -> tuple[Array, Array]:
    position, rotation = forward(joints, tool_m)
    return position + np.linspace(0, 1, rows)[:, None] * by_m, rotation


@settings(max_examples=60, deadline=None)
@given(st.tuples(*[st.floats(-0.06, 0.06)] * 3), st.floats(-1.0, 1.0), SEEDS)
def test_along_a_line_one_branch_is_followed_without_a_jump(by: tuple[float, ...], turn: float, seed: int) -> None:
    start = READY + np.random.default_rng(seed).uniform(-0.1, 0.1, 6)
    position, rotation = line(start, np.array(by))
    rotations = multiply(rotation_z(np.linspace(0, turn, 200)), rotation)
    following = continuous(position, rotations, start)
    assert following.complete
    assert_followed(following, position, rotations)
    np.testing.assert_allclose(following.joints_rad[0], start, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_from_anywhere_a_path_is_followed_or_said_where_it_ends(seed: int) -> None:
    random = np.random.default_rng(seed)
    start = random.uniform(ARM_LOWER, ARM_UPPER)
    position, rotation = line(start, random.uniform(-0.6, 0.6, 3))
    following = continuous(position, rotation, start)
    assert_followed(following, position, rotation)
    assert following.followed >= 1
    assert not any(each.passed for each in following.evidence)


def test_a_path_around_the_base_counts_turns_through_until_the_limit() -> None:
    around = 0.5 + np.linspace(0, 3 * np.pi, 900)
    position = np.stack([0.5 * np.cos(around), 0.5 * np.sin(around), np.full(900, 0.2)], axis=-1)
    rotation = straight_down(around)
    start, reached = nearest_branch(solve(position[:1], rotation[:1]), READY)
    assert reached.all()
    following = continuous(position, rotation, start[0])
    assert_followed(following, position, rotation)
    assert not following.complete
    (found,) = following.evidence
    assert found.name == "shoulder_pan"
    assert found.limit == ARM_UPPER[0]
    pan = following.joints_rad[: following.followed, 0]
    np.testing.assert_allclose(pan, pan[0] + around[: following.followed] - 0.5, atol=1e-9)
    # Started one turn back there is room for all of it.
    assert continuous(position, rotation, start[0] - [2 * np.pi, 0, 0, 0, 0, 0]).complete


def test_a_path_that_leaves_reach_ends_at_its_last_reachable_row() -> None:
    position, rotation = line(READY, np.array([0.8, 0.0, 0.0]))
    following = continuous(position, rotation, READY)
    assert_followed(following, position, rotation)
    reached = solve(position, rotation).reached[:, 0]
    assert following.followed == np.argmin(reached)
    assert [each.name for each in following.evidence] == ["wrist_beyond_reach"]


def test_a_path_that_begins_out_of_reach_is_not_followed_at_all() -> None:
    position, rotation = line(READY, np.array([-2.0, 0.0, 0.0]))
    following = continuous(position[::-1], rotation, READY)
    assert following.followed == 0
    assert following.evidence == solve(position[-1:], rotation).explain(0) != ()


def test_limits_end_a_path_where_it_crosses_them() -> None:
    position, rotation = line(READY, np.array([0.2, 0.0, 0.0]))
    upper = ARM_UPPER.copy()
    upper[1] = READY[1] + 0.1
    following = continuous(position, rotation, READY, ARM_LOWER, upper)
    free = continuous(position, rotation, READY).joints_rad
    assert following.followed == np.argmax(free[:, 1] > upper[1])
    (found,) = following.evidence
    assert (found.name, found.limit) == ("shoulder_lift", upper[1])
    upper[:] = READY - 1
    following = continuous(position, rotation, READY, ARM_LOWER, upper)
    assert following.followed == 0
    assert following.evidence


def wrist_swing(from_rad: float, to_rad: float, rows: int = 101) -> tuple[Array, Array, Array]:
    """Joints in which wrist 2 alone swings, and the path of the tool."""
    joints = np.tile(np.add(READY, [0.1, 0.2, 0.1, 0.3, 0.0, 0.7]), (rows, 1))
    joints[:, 4] = np.linspace(from_rad, to_rad, rows)
    return joints, *forward(joints)


def test_a_path_through_a_singular_wrist_is_torn_there_and_says_so() -> None:
    joints, position, rotation = wrist_swing(-0.5, 0.5)
    following = continuous(position, rotation, joints[0])
    assert_followed(following, position, rotation)
    # The row in the very middle is singular: there wrist 3 stays, and behind it the branch is another.
    assert following.followed == 51
    np.testing.assert_allclose(following.joints_rad[:51], joints[:51], atol=1e-9)
    assert {each.name for each in following.evidence} == {"wrist_1_step", "wrist_3_step"}


@pytest.mark.parametrize("to_rad", [-0.5, 0.5])
def test_out_of_a_singular_wrist_it_follows_the_branch_that_gets_farthest(to_rad: float) -> None:
    joints, position, rotation = wrist_swing(0.0, to_rad)
    following = continuous(position, rotation, joints[0])
    assert following.complete
    np.testing.assert_allclose(following.joints_rad, joints, atol=1e-9)


def test_a_path_that_stays_singular_keeps_the_last_wrist_still() -> None:
    start = np.add(READY, [0.1, 0.2, 0.1, 0.3, QUARTER, 0.7])
    assert start[4] == 0
    heading = np.array([np.cos(start[0]), np.sin(start[0]), 0.0])
    position, rotation = line(start, 0.1 * heading)
    following = continuous(position, rotation, start)
    assert following.complete
    assert_followed(following, position, rotation)
    np.testing.assert_array_equal(following.joints_rad[:, 5], 0.7)
