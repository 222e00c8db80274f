"""Whole-body kinematics of the HSR: every candidate is exact, and what the robot can reach is found."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.evidence import failures
from graspline.kinematics.hsr import (
    WholeBodySolutions,
    forward,
    gazing,
    head_camera,
    ranked,
    solve,
    straight,
    wrist_force_frame,
)
from graspline.robots.hsr import HSR
from graspline.robots.hsr_chain import (
    CHAIN,
    HEAD_CAMERA,
    HEAD_CAMERA_M,
    JOINTS,
    LOWER,
    R_TILT_CAMERA,
    R_WRIST_FORCE,
    R_WRIST_TOOL,
    TOOL_M,
    TORSO,
    TORSO_FOLLOWS,
    TORSO_JOINT,
    UPPER,
    VELOCITY,
    WRIST_FORCE_M,
)
from graspline.robots.hsr_hand import WRIST_SITE
from graspline.spatial.rotations import matrix_from_vector, multiply, rotation_x, rotation_y, rotation_z

Array = NDArray[np.float64]

EXACT = 1e-9
QUARTER = np.pi / 2
FRAMES: dict[str, tuple[Callable[[Array], tuple[Array, Array]], str, Array, Array]] = {
    "tool": (forward, "wrist_roll", TOOL_M, R_WRIST_TOOL),
    "wrist force": (wrist_force_frame, "wrist_roll", WRIST_FORCE_M, R_WRIST_FORCE),
    "head camera": (head_camera, "head_tilt", HEAD_CAMERA_M, R_TILT_CAMERA),
}
# Straight ahead, at table height.
READY = np.array([0.0, 0.0, 0.0, 0.3, -QUARTER, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5])


def any_joints(count: int, seed: int) -> Array:
    return np.random.default_rng(seed).uniform(LOWER, UPPER, (count, len(JOINTS)))


def hands(pitch: Array, roll: Array, yaw: Array) -> Array:
    """Rotations of hands that point up by `pitch`, rolled about the approach, heading `yaw`."""
    return multiply(multiply(rotation_z(yaw), rotation_y(-pitch)), rotation_x(roll))


def walked(joints: Array, link: str) -> tuple[Array, Array]:
    """A link's pose by walking the published chain joint by joint."""
    turned = {joint.name: (joint, value) for joint, value in zip(CHAIN, joints, strict=True)}
    turned[TORSO] = (TORSO_JOINT, TORSO_FOLLOWS * joints[JOINTS.index("arm_lift")])
    joint, value = turned[link]
    position, rotation = (np.zeros(3), np.eye(3)) if joint.parent is None else walked(joints, joint.parent)
    position = position + rotation @ np.array(joint.origin_m)
    axis = value * np.array(joint.axis, float)
    if joint.kind == "slide":
        return position + rotation @ axis, rotation
    return position, rotation @ matrix_from_vector(axis)


def assert_exact(solutions: WholeBodySolutions, position: Array, rotation: Array) -> None:
    """Every candidate reaches the pose, and all that is claimed keeps to limits."""
    there, turned = forward(solutions.joints)
    assert np.abs(there - position[:, None]).max() < EXACT
    assert np.abs(turned - rotation[:, None]).max() < EXACT
    claimed = solutions.joints[solutions.within]
    assert (claimed >= solutions.lower).all()
    assert (claimed <= solutions.upper).all()


@pytest.mark.parametrize("name", FRAMES)
def test_frames_are_where_the_published_chain_has_them(name: str) -> None:
    pose, link, offset, R_link_frame = FRAMES[name]
    joints = any_joints(50, 1)
    positions, rotations = pose(joints)
    for row, position, rotation in zip(joints, positions, rotations, strict=True):
        at, R = walked(row, link)
        assert np.abs(at + R @ offset - position).max() < EXACT
        assert np.abs(R @ R_link_frame - rotation).max() < EXACT


def test_frames_are_where_the_model_has_them() -> None:
    model = HSR.model()
    data = mujoco.MjData(model)
    for joints in any_joints(50, 2):
        for name, value in zip(JOINTS, joints, strict=True):
            data.joint(name).qpos = value
        data.joint(TORSO).qpos = TORSO_FOLLOWS * joints[JOINTS.index("arm_lift")]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_camlight(model, data)
        for (position, rotation), seen, R_seen in (
            (forward(joints), data.site("tool").xpos, data.site("tool").xmat),
            (head_camera(joints), data.cam(HEAD_CAMERA).xpos, data.cam(HEAD_CAMERA).xmat),
            (wrist_force_frame(joints), data.site(WRIST_SITE).xpos, data.site(WRIST_SITE).xmat),
        ):
            assert np.abs(position - seen).max() < EXACT
            assert np.abs(rotation.ravel() - R_seen).max() < EXACT


def test_every_pose_that_some_joints_have_is_solved() -> None:
    position, rotation = forward(any_joints(1500, 3))
    for rows in np.split(np.arange(1500), 10):
        solutions = solve(position[rows], rotation[rows])
        assert solutions.reached.all()
        assert_exact(solutions, position[rows], rotation[rows])


def test_a_grid_of_poses_is_solved_wherever_a_far_finer_search_finds_anything() -> None:
    axes = (np.arange(0, 1.41, 0.1), np.radians(np.arange(-90, 31, 15)), np.radians(np.arange(-180, 180, 30)))
    height, pitch, roll = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
    # Headings make no difference to a base that may turn, but to the grid of its headings.
    yaw = np.linspace(-np.pi, np.pi, len(height))
    position, rotation = np.stack([0 * height, 0 * height, height], axis=-1), hands(pitch, roll, yaw)
    solved = solve(position, rotation).reached
    refused = np.flatnonzero(~solved)
    fine = np.radians(np.arange(-180.0, 180.0, 3.0)), np.linspace(0, 1, 60)
    missed = sum(
        np.count_nonzero(solve(position[rows], rotation[rows], turns_rad=fine[0], leans=fine[1]).reached)
        for rows in np.array_split(refused, 30)
    )
    assert solved.sum() > 0.7 * len(height)
    assert missed <= 0.01 * solved.sum()


# Where arm_roll and wrist_roll turn about one axis, and next to it.
BENDS = st.sampled_from([0.0, -QUARTER]) | st.floats(-1e-6, 1e-6) | st.floats(-1.92, 1.22)


@settings(max_examples=60, deadline=None)
@given(BENDS, st.sampled_from([0.0, -QUARTER, -2.62]) | st.floats(-2.62, 0.0), st.integers(0, 2**32 - 1))
def test_a_straight_wrist_and_joints_at_their_limits_are_exact(bend: float, flex: float, seed: int) -> None:
    joints = any_joints(4, seed)
    joints[:, 4], joints[:, 6] = flex, bend
    position, rotation = forward(joints)
    solutions = solve(position, rotation, facing_rad=joints[:, 2])
    assert_exact(solutions, position, rotation)
    assert solutions.reached.all()


def test_a_margin_is_kept_from_every_limit() -> None:
    position, rotation = forward(any_joints(50, 4))
    margin = np.array([0.0, 0.0, 0.0, 0.02, 0.1, 0.1, 0.1, 0.1])
    solutions = solve(position, rotation, margin=margin)
    assert_exact(solutions, position, rotation)
    assert (solutions.within.sum(axis=1) < solve(position, rotation).within.sum(axis=1)).any()
    assert (solutions.joints[solutions.within][:, 3] >= 0.02).all()


@pytest.mark.parametrize(
    ("height_m", "pitch_rad", "joint", "value"),
    [
        # The wrist, here 12 mm above the tool, comes down to 38.4 mm and up to 1.375 m.
        (-0.2, 0.0, "arm_lift", -0.2 + 0.012 - 0.0384),
        (1.5, 0.0, "arm_lift", 0.69 + 1.5 + 0.012 - 1.375),
        # Here it has to be 0.229 m above the tool, for which the arm may lean by 0.941 rad from upright at most.
        (1.0, -QUARTER, "wrist_flex", 0.941 - np.pi),
    ],
)
def test_a_refusal_names_the_joint_and_by_how_much(height_m: float, pitch_rad: float, joint: str, value: float) -> None:
    rotation = hands(np.array([pitch_rad]), np.array([-QUARTER]), np.array([0.3]))
    solutions = solve(np.array([[1.0, 2.0, height_m]]), rotation)
    (why,) = solutions.explain(0)
    assert not solutions.reached[0]
    assert why.name == joint
    assert why.value == pytest.approx(value, abs=5e-4)
    assert failures((why,)) == (why,)


def test_a_target_that_is_reached_needs_no_explanation() -> None:
    position, rotation = forward(READY)
    assert solve(position[None], rotation).explain(0) == ()


@pytest.mark.parametrize("turn_rad", [0.0, 7.0, -9.0, UPPER[2] - 0.1, LOWER[2] + 0.1])
def test_solutions_come_nearest_first_with_the_base_turned_the_short_way(turn_rad: float) -> None:
    start = READY.copy()
    start[2] = turn_rad
    position, rotation = forward(any_joints(20, 5))
    solutions = solve(position, rotation)
    for index in range(len(position)):
        ordered = ranked(solutions, index, start)
        there, turned = forward(ordered)
        assert np.abs(there - position[index]).max() < EXACT
        assert np.abs(turned - rotation[index]).max() < EXACT
        assert (ordered >= LOWER[:8]).all()
        assert (ordered <= UPPER[:8]).all()
        far = np.linalg.norm((ordered - start[:8]) / VELOCITY[:8], axis=1)
        assert len(ordered) == solutions.within[index].sum() > 0
        assert (np.diff(far) >= 0).all()
        in_range = np.abs(turn_rad) < UPPER[2] - np.pi
        assert not in_range or np.abs(ordered[:, 2] - turn_rad).max() <= np.pi + EXACT


def test_a_target_where_the_hand_is_already_needs_no_move() -> None:
    position, rotation = forward(READY)
    # Leans are shares of those that the lift leaves: a fine grid has one next to that in force.
    solutions = solve(position[None], rotation, leans=np.linspace(0, 1, 400))
    assert np.abs(ranked(solutions, 0, READY)[0] - READY[:8]).max() < 0.01


def test_straight_moves_keep_the_hand_as_it_is_and_end_where_the_lift_does() -> None:
    way = np.array([0.1, -0.2, 0.6])
    rows, possible = straight(READY, way, rows=11)
    position, rotation = forward(rows)
    assert np.abs(position - forward(READY)[0] - np.linspace(0, 1, 11)[:, None] * way).max() < EXACT
    assert (rotation == rotation[0]).all()
    assert (rows[:, 4:] == READY[4:]).all()
    assert (rows[:, 2] == READY[2]).all()
    # 0.39 m of lift are left, and 0.06 m are a row.
    assert possible.tolist() == [True] * 7 + [False] * 4
    assert straight(READY, way, rows=11, margin_m=0.05)[1].sum() == 6


class TestGazing:
    PAN, TILT = JOINTS.index("head_pan"), JOINTS.index("head_tilt")

    def aside(self, pan_rad: float, up_rad: float = -0.3, turn_rad: float = 0.0) -> tuple[Array, float]:
        """Joints that look at a point 3 m from the camera, so far to the left and up, and how far off it they look."""
        joints = READY.copy()
        joints[2] = turn_rad
        camera, _ = head_camera(joints)
        heading = turn_rad + pan_rad
        level = np.cos(up_rad)
        point = camera + 3.0 * np.array([level * np.cos(heading), level * np.sin(heading), np.sin(up_rad)])
        found = gazing(joints, point)
        camera, rotation = head_camera(found)
        apart = (point - camera) / np.linalg.norm(point - camera)
        return found, float(np.arccos(np.clip(-rotation[:, 2] @ apart, -1, 1)))

    @pytest.mark.parametrize("turn_rad", [0.0, 2.5, -7.0])
    @pytest.mark.parametrize("pan_rad", [-3.0, -1.0, 0.0, 0.5, 1.7])
    def test_the_camera_points_there_whichever_way_the_base_is_turned(self, pan_rad: float, turn_rad: float) -> None:
        joints, off_rad = self.aside(pan_rad, turn_rad=turn_rad)
        assert off_rad < np.radians(3.0)
        assert joints[self.PAN] == pytest.approx(pan_rad, abs=0.05)
        others = [index for index in range(len(JOINTS)) if index not in (self.PAN, self.TILT)]
        np.testing.assert_array_equal(joints[others], np.array([*READY[:2], turn_rad, *READY[3:]])[others])

    @pytest.mark.parametrize("pan_rad", [2.5, 2.8, 3.1])
    def test_what_is_behind_its_left_shoulder_it_looks_at_over_its_right(self, pan_rad: float) -> None:
        joints, off_rad = self.aside(pan_rad)
        assert joints[self.PAN] < 0
        assert off_rad < np.radians(3.0)

    @given(st.floats(-np.pi, np.pi), st.floats(-1.5, 1.5), st.floats(-12.0, 12.0))
    def test_the_head_is_never_told_to_turn_farther_than_it_can(
        self, pan_rad: float, up_rad: float, turn_rad: float
    ) -> None:
        joints, _ = self.aside(pan_rad, up_rad, turn_rad)
        assert (joints >= LOWER).all()
        assert (joints <= UPPER).all()

    def test_what_it_cannot_quite_look_at_it_looks_toward(self) -> None:
        joints, off_rad = self.aside(1.8)
        assert joints[self.PAN] == UPPER[self.PAN]
        assert off_rad < np.radians(4.0)

    def test_what_is_higher_than_it_can_look_it_looks_up_to(self) -> None:
        assert self.aside(0.0, 1.2)[0][self.TILT] == UPPER[self.TILT]
