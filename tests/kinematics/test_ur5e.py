"""Closed form of the UR5e: eight branches, each exact where it claims to be; a line is followed in one, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.kinematics.arm import Solutions, straight_down
from graspline.kinematics.iterative import IterativeSolver
from graspline.kinematics.targets import Search, Solution, Target, ToolPoint
from graspline.kinematics.ur5e import (
    ARM,
    ASIDE_M,
    BASE_HEIGHT_M,
    BRANCHES,
    FLANGE_M,
    LOWER_LINK_M,
    TOOL_M,
    UPPER_LINK_M,
    WRIST_M,
    forward,
    solve,
)
from graspline.robots.gripper_2f85 import HAND
from graspline.robots.ur5e import HOME, UR5E
from graspline.scenes.scene import new_spec
from graspline.spatial.rotations import (
    matrix_from_quaternion,
    multiply,
    quaternion_from_matrix,
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


def downwards(yaw_rad: Array) -> Array:
    return np.stack([straight_down(float(each)) for each in yaw_rad])


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


def newton_solves(solver: IterativeSolver, joints: Array, starts: Array, restarts: int) -> Array:
    """Where Newton-Raphson, checked for convergence, comes from each start; nan where it refuses."""
    position, rotation = forward(joints)
    search = Search(damping=0.0, restarts=restarts)
    found = np.full(joints.shape, np.nan)
    for row, quaternion in enumerate(quaternion_from_matrix(rotation)):
        target = Target(position_m=position[row], quaternion=quaternion)
        result = solver.solve(target, starts[row], random=row, search=search)
        if isinstance(result, Solution):
            found[row] = result.q
    solved = ~np.isnan(found[:, 0])
    assert worst_error(found[solved], position[solved], rotation[solved]) < 1e-4
    return found


def test_newton_raphson_needs_restarts_to_solve_what_the_closed_form_solves_at_once(model: mujoco.MjModel) -> None:
    tool = ToolPoint(body=HAND, offset_m=np.array([TOOL_M, 0.0, 0.0]))
    solver = IterativeSolver(model, UR5E.joints[UR5E.arm], tool)
    joints, starts = any_joints(2000, 9), any_joints(2000, 10)
    solutions = solve(*forward(joints))
    assert solutions.reached.any(axis=1).all()
    restarted = newton_solves(solver, joints, starts, restarts=30)
    solved = ~np.isnan(restarted[:, 0])
    assert solved.mean() > 0.995
    once = ~np.isnan(newton_solves(solver, joints[:300], starts, restarts=0)[:, 0])
    assert 0.7 < once.mean() < 0.95
    # What it finds is one of the branches, but for poses near singular ones, where many are nearly as good.
    branches = apart(solutions.joints_rad[solved], restarted[solved][:, None]).min(axis=1)
    assert np.quantile(branches, 0.95) < 1e-3


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
    np.testing.assert_allclose(rotation, straight_down(-QUARTER), atol=1e-15)
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
    one, each = solve(position, straight_down(0.3)), solve(position, downwards(np.full(7, 0.3)))
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
    prefer = random.uniform(-4, 4, count)

    def solved(position: Array, rotation: Array, prefer: Array) -> tuple[Any, ...]:
        found = solve(position, rotation, prefer_rad=prefer)
        return found.joints_rad, found.excess, found.reached

    assert rows_alone(solved, position, rotation, prefer)
    assert rows_alone(forward, joints)


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
    rotation = downwards(turn)
    wrist = (ASIDE_M + off_m) * np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    position = np.concatenate([wrist, np.full((40, 1), 0.3)], axis=1)
    solutions = solve(position, rotation)
    assert solutions.reached.any(axis=1).all()
    assert_claims_hold(solutions, position, rotation)


def test_a_wrist_within_its_own_offset_of_the_pan_axis_is_refused_with_the_distance() -> None:
    position = np.array([[0.03, -0.04, 0.3], [0.0, 0.0, 0.3]])
    solutions = solve(position, straight_down(0.0))
    assert not solutions.reached.any()
    assert np.isfinite(solutions.joints_rad).all()
    for row, distance in ((0, 0.05), (1, 0.0)):
        (found,) = solutions.explain(row)
        assert found.name == "wrist_too_near_pan_axis"
        assert found.value == pytest.approx(ASIDE_M - distance)
        assert not found.passed


def test_beyond_reach_is_refused_with_how_far() -> None:
    solutions = solve(np.array([1.2, ASIDE_M, 0.1]), straight_down(0.0))
    (found,) = solutions.explain(0)
    assert found.name == "wrist_beyond_reach"
    # The nearer branch has its wrist this side of the tool.
    wrist = np.hypot(1.2 - WRIST_M, 0.1 + TOOL_M + FLANGE_M - BASE_HEIGHT_M)
    assert found.value == pytest.approx(wrist - UPPER_LINK_M - LOWER_LINK_M, abs=1e-9)
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
    np.testing.assert_allclose(farther.excess[0, own, 1], 1e-6, rtol=1e-3)


# Lines

TOOL = np.zeros(3)
NEAR = HOME[:6]


def followed(points: Array, rotation: Array, near: Array = NEAR, tool_m: Array = TOOL) -> Array:
    rows = ARM.follow(points, rotation, near, tool_m)
    assert rows is not None
    return rows


@settings(max_examples=40, deadline=None)
@given(st.floats(0.35, 0.65), st.floats(-0.3, 0.3), st.floats(-0.4, 0.4), st.floats(-1.0, 1.0))
def test_every_row_of_a_line_is_reached_and_near_the_one_before(x: float, y: float, along: float, turn: float) -> None:
    points, rotation = np.linspace((x, y, 0.03), (x, y + along, 0.2), 60), straight_down(-QUARTER + turn)
    rows = followed(points, rotation)
    assert worst_error(rows, points, rotation) < EXACT
    assert np.abs(np.diff(rows, axis=0)).max() < 0.1


@settings(max_examples=60, deadline=None)
@given(st.tuples(*[st.floats(-0.06, 0.06)] * 3), SEEDS)
def test_a_line_from_where_the_hand_is_begins_with_its_joints_however_it_leans(
    by: tuple[float, ...], seed: int
) -> None:
    near = NEAR + np.random.default_rng(seed).uniform(-0.3, 0.3, 6)
    position, rotation = forward(near)
    points = position + np.linspace(0, 1, 50)[:, None] * by
    rows = followed(points, rotation, near)
    np.testing.assert_allclose(rows[0], near, atol=1e-9)
    assert worst_error(rows, points, rotation) < EXACT


def test_a_wrist_that_is_wound_up_is_not_followed_there() -> None:
    point, rotation = forward(NEAR)
    wound = NEAR + 2 * np.pi * np.array([0, 0, 0, 0, 0, 1])
    np.testing.assert_allclose(followed(point[None], rotation, wound)[0], NEAR, atol=1e-9)


def test_turning_on_and_on_never_winds_wrist_3_up() -> None:
    (point, _), near = forward(NEAR), NEAR
    for turn in np.arange(0, 40, 0.9):
        near = followed(point[None], straight_down(-QUARTER + (turn + QUARTER) % np.pi - QUARTER), near)[0]
        assert abs(near[5] - NEAR[5]) < 3.3


def test_a_line_that_leads_out_of_reach_is_none_at_all() -> None:
    rotation = straight_down(-QUARTER)
    near, far = (np.linspace((0.5, 0.0, 0.1), (x, 0.0, 0.1), 80) for x in (0.7, 1.3))
    assert ARM.follow(near, rotation, NEAR, TOOL) is not None
    assert ARM.follow(far, rotation, NEAR, TOOL) is None
    assert ARM.follow(far[-1:], rotation, NEAR, TOOL) is None


def test_a_line_that_would_turn_the_elbow_over_ends_there() -> None:
    """Up along the pan axis and over it: no branch goes on without a jump."""
    points = np.linspace((0.5, 0.0, 0.3), (-0.5, 0.0, 0.3), 200)
    assert ARM.follow(points, straight_down(-QUARTER), NEAR, TOOL) is None


def test_any_point_of_the_gripper_is_led_along_a_line() -> None:
    tool = np.array([0.05, 0.01, -0.02])
    position, rotation = forward(NEAR)
    point = position + rotation @ tool
    np.testing.assert_allclose(ARM.forward(NEAR, tool)[0][0], point, atol=1e-12)
    np.testing.assert_allclose(followed(point[None], rotation, NEAR, tool)[0], NEAR, atol=1e-9)


def test_the_gripper_frame_is_where_readings_have_the_tool() -> None:
    """Its hand counts from there: the tool point is the frame's origin."""
    np.testing.assert_allclose(ARM.forward(HOME, np.array(UR5E.hand.tool_m))[0][0], forward(HOME[:6])[0], atol=1e-15)
    found = ARM.solve(np.array([0.5, 0.1, 0.2]), QUARTER, 0.3, TOOL)
    for joints in found.joints_rad[0, found.reached[0]]:
        assert worst_error(joints, np.array([0.5, 0.1, 0.2]), straight_down(0.3)) < EXACT
