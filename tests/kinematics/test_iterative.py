"""The iterative solver: what it claims is checked by MuJoCo alone, what it refuses carries the reason."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pydantic import ValidationError

from graspline.errors import InputError, WiringError
from graspline.kinematics.iterative import IterativeSolver, _turn_between_directions, _turn_between_quaternions
from graspline.kinematics.targets import Refusal, Search, Solution, Target, ToolPoint
from graspline.robots.so101 import ARM_JOINTS, FIXED_TIP_M, JOINTS, tip_gap_m
from graspline.scenes.cube_table import cube_table
from graspline.spatial.rotations import (
    from_rpy,
    matrix_from_quaternion,
    matrix_from_vector,
    multiply,
    quaternion_from_matrix,
    rotation_vector,
    transpose,
)

Array = NDArray[np.float64]

MODEL = cube_table().model
DOWN = np.array([0.0, 0.0, -1.0])
JAW_RAD = 0.6
# The middle between the fingertips with the jaw open, where a cube is when it is about to be grasped.
FINGERS = ToolPoint(body="gripper", offset_m=np.add(FIXED_TIP_M, (0, 0, float(tip_gap_m(JAW_RAD)) / 2)))
ARM = IterativeSolver(MODEL, ARM_JOINTS, FINGERS)
MIDDLE = np.array([0.0, -0.6, 0.6, 1.0, 0.2])
SEEDS = st.integers(0, 2**32 - 1)

# Three slides and three hinges, none limited: any pose can be reached, and every error can be made.
FLYING = IterativeSolver(
    mujoco.MjModel.from_xml_string("""
      <mujoco><worldbody><body name="hand">
        <joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
        <joint name="z" type="slide" axis="0 0 1"/><joint name="yaw" axis="0 0 1"/>
        <joint name="pitch" axis="0 1 0"/><joint name="roll" axis="1 0 0"/>
        <geom size="0.1"/>
      </body></worldbody></mujoco>"""),
    ("x", "y", "z", "yaw", "pitch", "roll"),
    ToolPoint(body="hand", offset_m=np.array([0.1, 0.0, 0.02])),
)


def forward(q: Array, tool: ToolPoint = FINGERS, joints: tuple[str, ...] = ARM_JOINTS) -> tuple[Array, Array]:
    """Tool position and rotation by `mj_forward` on fresh data, without the solver."""
    data = mujoco.MjData(MODEL)
    for name, value in zip(joints, q, strict=True):
        data.joint(name).qpos[0] = value
    mujoco.mj_forward(MODEL, data)
    body = data.body(tool.body)
    R_WB = np.array(body.xmat).reshape(3, 3)
    R_BT = np.eye(3) if tool.rotation is None else tool.rotation
    return np.array(body.xpos) + R_WB @ tool.offset_m, R_WB @ R_BT


def angle_between(a: Array, b: Array) -> float:
    return float(np.linalg.norm(rotation_vector(multiply(a, transpose(b)))))


def inside(q: Array, solver: IterativeSolver = ARM) -> bool:
    return bool(((solver.lower <= q) & (q <= solver.upper)).all())


def reachable(random: np.random.Generator) -> Array:
    return random.uniform(ARM.lower, ARM.upper)


def aim(kind: str, q: Array) -> Target:
    """A target that the arm reaches at `q`."""
    position_m, R_WT = forward(q)
    if kind == "pose":
        return Target(position_m=position_m, quaternion=quaternion_from_matrix(R_WT))
    return Target(position_m=position_m, approach=R_WT[:, 0] if kind == "approach" else None)


def expect_solution(result: Solution | Refusal) -> Solution:
    assert isinstance(result, Solution), str(result)
    return result


def expect_refusal(result: Solution | Refusal) -> Refusal:
    assert isinstance(result, Refusal)
    return result


def check_claim(solution: Solution, target: Target, search: Search | None = None) -> None:
    search = search or Search()
    position_m, R_WT = forward(solution.q)
    assert np.linalg.norm(position_m - target.position_m) <= search.position_tolerance_m + 1e-12
    if target.quaternion is not None:
        turn_rad = angle_between(matrix_from_quaternion(target.quaternion), R_WT)
        assert turn_rad <= search.orientation_tolerance_rad + 1e-12
        assert solution.orientation_error_rad == pytest.approx(turn_rad, abs=1e-9)
    if target.approach is not None:
        chord = np.linalg.norm(R_WT[:, 0] - target.approach)
        assert chord <= search.orientation_tolerance_rad + 1e-12
    assert inside(solution.q)


@pytest.mark.parametrize("kind", ["position", "pose", "approach"])
def test_nearly_every_reachable_target_is_solved_and_reached(kind: str) -> None:
    random = np.random.default_rng(11)
    solved = 0
    for seed in range(300):
        target = aim(kind, reachable(random))
        result = ARM.solve(target, reachable(random), random=seed)
        if isinstance(result, Solution):
            check_claim(result, target)
            solved += 1
    assert solved >= 0.99 * 300


@given(position=st.tuples(*[st.floats(-0.6, 0.6)] * 3), seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_any_point_is_either_reached_or_refused_with_its_error(position: tuple[float, ...], seed: int) -> None:
    target = Target(position_m=np.array(position), approach=DOWN)
    search = Search(restarts=5)
    result = ARM.solve(target, MIDDLE, random=seed, search=search)
    if isinstance(result, Solution):
        check_claim(result, target)
    else:
        assert not all(each.passed for each in result.evidence)
        assert result.restarts == 5


@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_newton_raphson_converges_in_a_few_iterations_from_nearby(seed: int) -> None:
    random = np.random.default_rng(seed)
    # Bent elbow and wrist, hand ahead of the base: far from every singularity.
    q = np.array([0.3, -0.5, 0.5, 0.9, -0.4]) + random.uniform(-0.3, 0.3, 5)
    target = aim("pose", q)
    search = Search(damping=0.0, restarts=0, iterations=8)
    solution = expect_solution(ARM.solve(target, q + random.uniform(-0.15, 0.15, 5), search=search))
    check_claim(solution, target)


def test_newton_raphson_squares_its_error() -> None:
    target = aim("pose", MIDDLE)
    q = MIDDLE + 0.1
    errors = []
    for _ in range(4):
        q = ARM.step_toward(q, target, gain=1.0, damping=0.0)
        errors.append(np.abs(q - MIDDLE).max())
    assert errors[1] < errors[0] ** 2 * 10
    assert errors[3] < 1e-10


@given(seed=SEEDS, locked=st.sets(st.sampled_from(ARM_JOINTS), min_size=1, max_size=3))
@settings(max_examples=30, deadline=None)
def test_locked_joints_keep_their_exact_values(seed: int, locked: set[str]) -> None:
    random = np.random.default_rng(seed)
    goal, start = reachable(random), reachable(random)
    held = [i for i, name in enumerate(ARM_JOINTS) if name in locked]
    start[held] = goal[held]
    target = aim("position", goal)
    result = ARM.solve(target, start, locked=locked, random=seed)
    if isinstance(result, Solution):
        check_claim(result, target)
        assert result.q[held].tobytes() == start[held].tobytes()
    stepped = ARM.step_toward(start, target, locked=locked)
    assert stepped[held].tobytes() == start[held].tobytes()


def test_locked_joints_keep_their_values_through_restarts() -> None:
    random = np.random.default_rng(2)
    restarted = 0
    for seed in range(40):
        goal, start = reachable(random), reachable(random)
        start[2] = goal[2]
        result = ARM.solve(aim("position", goal), start, locked=("elbow_flex",), random=seed)
        if isinstance(result, Solution):
            assert result.q[2] == goal[2]
            restarted += result.restarts > 0
    assert restarted > 5


def test_the_wrist_can_be_held_while_the_other_joints_reach() -> None:
    start = np.array([0.0, -0.5, 0.3, 1.4, math.pi / 2])
    position_m, _ = forward(np.array([0.4, -0.2, 0.5, 1.4, math.pi / 2]))
    target = Target(position_m=position_m)
    solution = expect_solution(ARM.solve(target, start, locked=("wrist_flex", "wrist_roll")))
    check_claim(solution, target)
    assert (solution.q[3:] == start[3:]).all()


def test_a_locked_joint_beyond_its_limit_stays_there_and_a_free_one_comes_back() -> None:
    start = np.array([5.0, -0.6, 0.6, 1.0, 3.5])
    stepped = ARM.step_toward(start, Target(position_m=np.array([0.2, 0.0, 0.1])), locked=["wrist_roll"])
    assert stepped[4] == 3.5
    assert stepped[0] <= ARM.upper[0]


@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_no_step_leaves_the_joint_limits(seed: int) -> None:
    random = np.random.default_rng(seed)
    q = reachable(random)
    target = Target(position_m=random.uniform(-1, 1, 3), approach=random.normal(size=3))
    for _ in range(20):
        q = ARM.step_toward(q, target, gain=1.0, damping=random.choice([0.0, 0.01, 1.0]))
        assert inside(q)


def test_a_target_out_of_reach_is_refused_with_the_error_beside_the_tolerance() -> None:
    refusal = expect_refusal(ARM.solve(Target(position_m=np.array([1.0, 0.0, 0.1])), MIDDLE))
    error = refusal.evidence[0]
    assert error.name == "position error"
    assert error.unit == "m"
    assert error.limit == 1e-5
    # The stretched arm reaches about half a metre.
    assert error.value == pytest.approx(0.53, abs=0.05)
    assert "\n" not in str(refusal)
    assert str(error) in str(refusal)
    assert "orientation" not in str(refusal)


@pytest.mark.parametrize("x_m", [0.12, 0.2, 0.3])
def test_a_refusal_names_the_joints_at_their_limits_and_no_others(x_m: float) -> None:
    # Above 0.15 m the wrist cannot bend far enough for the fingers to point straight down.
    target = Target(position_m=np.array([x_m, 0.0, 0.2]), approach=DOWN)
    refusal = expect_refusal(ARM.solve(target, MIDDLE))
    (wrist,) = (each for each in refusal.evidence[2:] if each.name != "wrist_roll")
    assert wrist.name == "wrist_flex"
    assert wrist.relation == "<="
    assert wrist.limit == ARM.upper[3]
    assert not wrist.passed
    assert str(wrist) in str(refusal)


@pytest.mark.parametrize("position", [(0.5, 0.1, 0.2), (0.2, 0.0, 0.3), (-0.3, 0.0, 0.1)])
def test_no_sampled_joint_values_come_nearer_than_a_refusal(position: tuple[float, ...]) -> None:
    target = Target(position_m=np.array(position), approach=DOWN)
    refusal = expect_refusal(ARM.solve(target, MIDDLE))
    weight = target.orientation_weight
    refused = math.hypot(refusal.evidence[0].value, weight * refusal.evidence[1].value)
    random = np.random.default_rng(0)
    for _ in range(3000):
        position_m, R_WT = ARM.tool_pose(reachable(random))
        turn_rad = math.acos(min(1.0, max(-1.0, float(R_WT[:, 0] @ DOWN))))
        assert math.hypot(float(np.linalg.norm(position_m - target.position_m)), weight * turn_rad) > refused


def test_a_refusal_at_one_limit_says_by_how_much() -> None:
    reach, _ = forward(np.array([ARM.upper[0] + 0.3, *MIDDLE[1:]]))
    search = Search(restarts=0)
    locked = ARM_JOINTS[1:]
    refusal = expect_refusal(ARM.solve(Target(position_m=reach), MIDDLE, locked=locked, search=search))
    (pan,) = refusal.evidence[1:]
    assert pan.name == "shoulder_pan"
    assert pan.relation == "<="
    assert pan.limit == ARM.upper[0]
    # One linear step lands where the sine of the angle does.
    assert pan.value - pan.limit == pytest.approx(0.3, abs=0.02)


def test_an_orientation_that_five_joints_cannot_make_is_refused_for_its_orientation() -> None:
    sideways = from_rpy(0.0, 0.0, math.pi / 2)
    target = Target(position_m=np.array([0.3, 0.0, 0.1]), quaternion=quaternion_from_matrix(sideways))
    refusal = expect_refusal(ARM.solve(target, MIDDLE))
    turn = refusal.evidence[1]
    assert turn.name == "orientation error"
    assert turn.unit == "rad"
    assert not turn.passed
    assert turn.limit == 1e-4


@pytest.mark.parametrize("x_m", [0.18, 0.24, 0.30])
@pytest.mark.parametrize("y_m", [-0.10, 0.0, 0.12])
def test_fingers_that_point_straight_down_reach_a_cube_on_the_table(x_m: float, y_m: float) -> None:
    target = Target(position_m=np.array([x_m, y_m, 0.015]), approach=DOWN)
    solution = expect_solution(ARM.solve(target, MIDDLE))
    position_m, R_WT = forward(solution.q)
    assert position_m[2] == pytest.approx(0.015, abs=1e-5)
    np.testing.assert_allclose(R_WT[:, 0], DOWN, atol=1e-4)


def test_fingers_that_point_straight_down_with_a_given_yaw_reach_a_cube_on_the_table() -> None:
    # Approach along -z, opening across the reach; the arm's own plane fixes the rest.
    R_WT = np.column_stack([DOWN, [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    offset = FIXED_TIP_M[0], 0.0, 0.0
    arm = IterativeSolver(MODEL, ARM_JOINTS, ToolPoint(body="gripper", offset_m=np.array(offset)))
    target = Target(position_m=np.array([0.25, 0.0, 0.015]), quaternion=quaternion_from_matrix(R_WT))
    solution = expect_solution(arm.solve(target, MIDDLE))
    position_m, R_found = arm.tool_pose(solution.q)
    np.testing.assert_allclose(position_m, target.position_m, atol=1e-5)
    np.testing.assert_allclose(R_found, R_WT, atol=1e-4)


@pytest.mark.parametrize("kind", ["position", "pose", "approach"])
def test_repeated_steps_halve_their_way_to_the_target(kind: str) -> None:
    target = aim(kind, MIDDLE)
    q = MIDDLE + np.array([0.5, -0.3, 0.3, -0.4, 0.6])
    for _ in range(60):
        q = ARM.step_toward(q, target)
    position_m, R_WT = forward(q)
    np.testing.assert_allclose(position_m, target.position_m, atol=1e-9)
    if target.quaternion is not None:
        assert angle_between(R_WT, matrix_from_quaternion(target.quaternion)) < 1e-9
    if target.approach is not None:
        np.testing.assert_allclose(R_WT[:, 0], target.approach, atol=1e-9)


def test_a_smaller_gain_takes_a_smaller_part_of_the_same_step() -> None:
    target = aim("position", MIDDLE)
    start = MIDDLE + 0.1
    whole = ARM.step_toward(start, target, gain=1.0) - start
    np.testing.assert_allclose(ARM.step_toward(start, target, gain=0.25) - start, whole / 4, atol=1e-15)


AXES = pytest.mark.parametrize("axis", np.vstack([np.eye(3), -np.eye(3), [[0.6, 0.0, 0.8]]]), ids=str)


@AXES
@pytest.mark.parametrize("short_rad", [0.0, 1e-9, 1e-8, 1e-7, 1e-6, -1e-9, -1e-6])
def test_a_hand_turned_by_half_a_turn_finds_back(axis: Array, short_rad: float) -> None:
    turned = matrix_from_vector((math.pi - short_rad) * axis)
    target = Target(position_m=np.array([0.3, -0.2, 0.5]), quaternion=quaternion_from_matrix(turned))
    solution = expect_solution(FLYING.solve(target, np.zeros(6), search=Search(restarts=0)))
    position_m, R_WT = FLYING.tool_pose(solution.q)
    np.testing.assert_allclose(position_m, target.position_m, atol=1e-5)
    assert angle_between(R_WT, turned) <= 1e-4


def test_an_arm_whose_hand_is_rolled_by_half_a_turn_finds_back() -> None:
    goal = np.array([0.2, -0.5, 0.5, 0.9, -1.5])
    target = aim("pose", goal)
    start = goal + np.array([0, 0, 0, 0, math.pi])
    assert angle_between(forward(start)[1], forward(goal)[1]) == pytest.approx(math.pi, abs=1e-9)
    check_claim(expect_solution(ARM.solve(target, start)), target)


@AXES
def test_a_hand_that_points_the_opposite_way_turns_around(axis: Array) -> None:
    start = np.zeros(6)
    start[3], start[4] = math.atan2(axis[1], axis[0]), -math.asin(axis[2])
    np.testing.assert_allclose(FLYING.tool_pose(start)[1][:, 0], axis, atol=1e-15)
    target = Target(position_m=np.zeros(3), approach=-axis)
    solution = expect_solution(FLYING.solve(target, start, search=Search(restarts=0)))
    np.testing.assert_allclose(FLYING.tool_pose(solution.q)[1][:, 0], -axis, atol=1e-4)


UNIT_QUATERNIONS = st.tuples(*[st.floats(-1, 1)] * 4).map(np.array).filter(lambda q: np.linalg.norm(q) > 0.1)


@given(UNIT_QUATERNIONS, UNIT_QUATERNIONS)
def test_the_turn_between_quaternions_is_the_rotation_vector_of_their_matrices(a: Array, b: Array) -> None:
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    expected = rotation_vector(multiply(matrix_from_quaternion(b), transpose(matrix_from_quaternion(a))))
    found = _turn_between_quaternions(a, b)
    # Within rounding of half a turn the axis may come out either way.
    either = -expected if np.linalg.norm(expected) > math.pi - 1e-12 else expected
    assert min(np.abs(found - expected).max(), np.abs(found - either).max()) < 1e-12


@AXES
@pytest.mark.parametrize("angle_rad", [0.0, 1e-9, 1e-6, math.pi - 1e-6, math.pi - 1e-9, math.pi])
def test_the_turn_between_quaternions_is_exact_at_both_ends(axis: Array, angle_rad: float) -> None:
    wanted = np.array([math.cos(angle_rad / 2), *(math.sin(angle_rad / 2) * axis)])
    turn = _turn_between_quaternions(np.array([1.0, 0, 0, 0]), wanted)
    np.testing.assert_allclose(turn, angle_rad * axis, atol=1e-15)


@given(UNIT_QUATERNIONS, st.floats(0, math.pi) | st.sampled_from([0.0, 1e-9, math.pi - 1e-9, math.pi]))
def test_the_turn_between_directions_carries_one_onto_the_other(quaternion: Array, angle_rad: float) -> None:
    frame = matrix_from_quaternion(quaternion / np.linalg.norm(quaternion))
    current = frame[:, 0]
    wanted = math.cos(angle_rad) * current + math.sin(angle_rad) * frame[:, 1]
    turn = _turn_between_directions(current, wanted, frame[:, 1:])
    np.testing.assert_allclose(matrix_from_vector(turn) @ current, wanted, atol=2e-6)
    assert np.linalg.norm(turn) == pytest.approx(angle_rad, abs=2e-6)


def test_the_tool_axes_can_differ_from_the_body_axes() -> None:
    # A tool whose x axis is the body's z axis, as hands that approach along z have it.
    tool = ToolPoint(
        body="hand",
        offset_m=np.zeros(3),
        rotation=np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
    )
    flying = IterativeSolver(FLYING._model, FLYING.joints, tool)
    solution = expect_solution(flying.solve(Target(position_m=np.ones(3), approach=DOWN), np.zeros(6) + 0.1))
    body_z = FLYING.tool_pose(solution.q)[1][:, 2]
    np.testing.assert_allclose(body_z, DOWN, atol=1e-4)


def test_a_tool_on_the_moving_jaw_follows_the_locked_jaw() -> None:
    tool = ToolPoint(body="moving_jaw", offset_m=np.array([0.08, 0.0, -0.012]))
    solver = IterativeSolver(MODEL, JOINTS, tool)
    position_m, _ = forward(np.array([*MIDDLE, JAW_RAD]), tool, JOINTS)
    start = np.array([*(MIDDLE + 0.2), JAW_RAD])
    solution = expect_solution(solver.solve(Target(position_m=position_m), start, locked=("gripper",)))
    assert solution.q[5] == JAW_RAD
    np.testing.assert_allclose(forward(solution.q, tool, JOINTS)[0], position_m, atol=1.1e-5)


def test_a_weight_of_zero_leaves_the_orientation_free() -> None:
    sideways = quaternion_from_matrix(from_rpy(0.0, 0.0, math.pi / 2))
    target = Target(position_m=np.array([0.3, 0.0, 0.1]), quaternion=sideways, orientation_weight=0.0)
    free = ARM.solve(Target(position_m=target.position_m), MIDDLE)
    assert expect_solution(ARM.solve(target, MIDDLE)).q.tobytes() == expect_solution(free).q.tobytes()


def test_the_length_of_a_quaternion_or_a_direction_does_not_matter() -> None:
    assert Target(position_m=np.zeros(3), approach=5 * DOWN).approach == pytest.approx(DOWN)
    long = Target(position_m=np.zeros(3), quaternion=np.array([2.0, 0, 0, 0])).quaternion
    assert long == pytest.approx([1, 0, 0, 0])


def test_a_solution_found_at_the_start_costs_no_iteration() -> None:
    solution = expect_solution(ARM.solve(aim("pose", MIDDLE), MIDDLE))
    assert (solution.iterations, solution.restarts) == (0, 0)
    assert (solution.q == MIDDLE).all()


def test_the_same_question_gets_the_same_bits_whatever_was_asked_before() -> None:
    random = np.random.default_rng(3)
    questions = [(aim("pose", reachable(random)), reachable(random)) for _ in range(20)]

    def answers(solver: IterativeSolver, order: range) -> list[bytes]:
        found = {}
        for i in order:
            result = solver.solve(*questions[i], random=np.random.default_rng(i))
            found[i] = expect_solution(result).q.tobytes()
        return [found[i] for i in range(len(questions))]

    fresh = IterativeSolver(MODEL, ARM_JOINTS, FINGERS)
    assert answers(ARM, range(20)) == answers(fresh, range(19, -1, -1))


def test_a_number_seeds_the_restarts_as_its_generator_does() -> None:
    target = Target(position_m=np.array([-0.2, -0.1, 0.1]), approach=DOWN)
    results = [ARM.solve(target, MIDDLE, random=seed) for seed in (7, np.random.default_rng(7))]
    assert str(results[0]) == str(results[1])


def test_work_is_bounded_by_counts() -> None:
    far = Target(position_m=np.array([2.0, 0.0, 0.0]))
    refusal = expect_refusal(ARM.solve(far, MIDDLE, search=Search(iterations=4, restarts=3)))
    assert refusal.restarts == 3
    # Four attempts, and once more to settle at the bottom.
    assert refusal.iterations <= 5 * 4


def test_joints_that_are_all_stuck_stay_and_are_named() -> None:
    slide = IterativeSolver(
        mujoco.MjModel.from_xml_string("""
          <mujoco><worldbody><body name="cart">
            <joint name="rail" type="slide" axis="1 0 0" limited="true" range="-1 1"/><geom size="0.1"/>
          </body></worldbody></mujoco>"""),
        ("rail",),
        ToolPoint(body="cart", offset_m=np.zeros(3)),
    )
    beyond = Target(position_m=np.array([1.5, 0.0, 0.0]))
    assert slide.step_toward(np.array([1.0]), beyond, damping=0.0) == 1.0
    refusal = expect_refusal(slide.solve(beyond, np.array([0.0]), search=Search(damping=0.0)))
    assert str(refusal.evidence[1]) == "rail 1.5 m (limit <= 1 m)"


def test_a_joint_at_its_limit_leaves_the_whole_way_to_the_others() -> None:
    pair = IterativeSolver(
        mujoco.MjModel.from_xml_string("""
          <mujoco><worldbody><body name="cart">
            <joint name="short" type="slide" axis="1 0 0" limited="true" range="-0.1 0.1"/>
            <joint name="long" type="slide" axis="1 0 0"/><geom size="0.1"/>
          </body></worldbody></mujoco>"""),
        ("short", "long"),
        ToolPoint(body="cart", offset_m=np.zeros(3)),
    )
    target = Target(position_m=np.array([0.5, 0.0, 0.0]))
    stepped = pair.step_toward(np.array([0.1, 0.0]), target, gain=1.0, damping=0.0)
    np.testing.assert_allclose(stepped, [0.1, 0.4], atol=1e-9)


def test_a_refusal_stands_at_the_nearest_point_and_not_where_an_attempt_gave_up() -> None:
    boom = IterativeSolver(
        mujoco.MjModel.from_xml_string("""
          <mujoco><worldbody><body name="boom"><joint name="hinge" axis="0 0 1"/><geom size="0.1"/></body>
          </worldbody></mujoco>"""),
        ("hinge",),
        ToolPoint(body="boom", offset_m=np.array([1.0, 0.0, 0.0])),
    )
    # The tip runs on a circle of 1 m, so a point 0.3 m from its centre is 0.7 m away at best.
    target = Target(position_m=np.array([0.3, 0.0, 0.0]))
    refusal = expect_refusal(boom.solve(target, np.array([1.0]), search=Search(restarts=0)))
    assert refusal.evidence[0].value == pytest.approx(0.7, abs=1e-6)


def test_wiring_mistakes_are_reported_together_with_what_exists() -> None:
    tool = ToolPoint(body="griper", offset_m=np.zeros(2), rotation=2 * np.eye(3))
    with pytest.raises(WiringError) as caught:
        IterativeSolver(MODEL, ("elbow_flx", "wrist_roll", "wrist_roll", "cube"), tool)
    message = str(caught.value)
    for part in (
        "no joint 'elbow_flx' in the model; did you mean 'elbow_flex'?",
        "joint 'wrist_roll' is given more than once",
        "joint 'cube' is neither a hinge nor a slide",
        "no body 'griper' in the model; did you mean 'gripper'?",
        "offset_m has shape (2,), not (3,)",
        "not a rotation matrix",
    ):
        assert part in message


def test_a_solver_needs_joints_that_move_its_tool() -> None:
    with pytest.raises(WiringError, match="no joints"):
        IterativeSolver(MODEL, (), FINGERS)
    with pytest.raises(WiringError, match="none of the joints gripper moves the body 'gripper'"):
        IterativeSolver(MODEL, ("gripper",), FINGERS)


def test_a_target_with_mistakes_is_rejected_naming_all_of_them() -> None:
    with pytest.raises(InputError) as caught:
        Target(
            position_m=np.array([0.1, np.nan, 0.2]),
            quaternion=np.zeros(4),
            approach=np.zeros(2),
            orientation_weight=-1.0,
        )
    assert len(caught.value.problems) == 6


@pytest.mark.parametrize(
    "start",
    [np.zeros(4), np.zeros((5, 1)), np.full(5, np.nan), np.full(5, np.inf), np.full(5, 1e300)],
    ids=str,
)
def test_a_start_of_the_wrong_shape_or_not_finite_is_rejected_naming_the_joints(start: Array) -> None:
    target = Target(position_m=np.array([0.2, 0.0, 0.1]))
    with pytest.raises(InputError, match=r"start.*shoulder_pan"):
        ARM.solve(target, start)
    with pytest.raises(InputError, match=r"q .*shoulder_pan"):
        ARM.step_toward(start, target)


def test_locking_an_unknown_joint_or_every_joint_is_rejected() -> None:
    target = Target(position_m=np.array([0.2, 0.0, 0.1]))
    with pytest.raises(InputError, match="no joint 'wrist_rol' to lock; did you mean 'wrist_roll'"):
        ARM.solve(target, MIDDLE, locked=("wrist_rol",))
    with pytest.raises(InputError, match="all joints are locked"):
        ARM.solve(target, MIDDLE, locked=ARM_JOINTS)


@pytest.mark.parametrize("gain, damping", [(0.0, 0.1), (1.5, 0.1), (math.nan, 0.1), (0.5, -1.0), (0.5, math.nan)])
def test_a_gain_or_damping_that_makes_no_sense_is_rejected(gain: float, damping: float) -> None:
    with pytest.raises(InputError, match="gain"):
        ARM.step_toward(MIDDLE, Target(position_m=np.zeros(3)), gain=gain, damping=damping)


@pytest.mark.parametrize("wrong", [{"restarts": -1}, {"damping": math.inf}, {"tolerance": 1.0}], ids=str)
def test_a_search_that_makes_no_sense_is_rejected(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Search.model_validate(wrong)
