"""The SO-101 agrees with the maker's published figures, and its compiled model with our constants."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.kinematics.so101 import LOWER_ELEVATION_RAD, UPPER_ELEVATION_RAD, forward
from graspline.motion.path import Path, check_path, controls_of
from graspline.robots.so101 import (
    ARMATURE,
    DOWN,
    FIXED_FACE_M,
    FIXED_TIP_M,
    FRICTIONLOSS_NM,
    HOME,
    JOINTS,
    LOWER,
    MOVING_FINGER,
    OFFSETS_M,
    PUBLISHED_CHAIN,
    SERVO,
    SO101,
    TIP_M,
    UPPER,
    moving_finger_m,
    tip_gap_m,
)
from graspline.scenes.cube_table import CUBE, cube_table
from graspline.spatial.rotations import from_rpy, multiply, rotate, rotation_z

Array = NDArray[np.float64]

# The published tool frame (fixed-jaw tip) in the published gripper link.
PUBLISHED_TIP_M = (-0.0079, -0.000218, -0.0981274)
MODEL = cube_table().model
QPOS = [int(MODEL.joint(name).qposadr[0]) for name in JOINTS]
SERVOS = [MODEL.actuator(name).id for name in JOINTS]
# Both links level and the gripper straight ahead: the most that gravity can ask of the servos.
STRETCHED = np.array(
    [0.0, UPPER_ELEVATION_RAD, LOWER_ELEVATION_RAD - UPPER_ELEVATION_RAD, -LOWER_ELEVATION_RAD, 0.0, 0.5]
)
POSES = {
    "stretched": STRETCHED,
    "stretched_to_the_side": STRETCHED + np.array([1.2, 0, 0, 0, 1.2, 0.3]),
    "home": HOME,
    "folded": np.array([0.0, -1.5, 1.4, 0.5, 0.0, 0.3]),
    "upright": np.array([0.5, -0.2, -1.2, 0.2, 1.0, 1.0]),
}


def world_at(joints: Array) -> mujoco.MjData:
    """The arm at rest in this pose, servos holding it there, the cube out of the way."""
    data = mujoco.MjData(MODEL)
    data.qpos[QPOS] = joints
    data.joint(CUBE).qpos[:3] = (3.0, 3.0, 0.015)
    # A servo's set point is a state of its own.
    data.act[SERVOS] = data.ctrl[SERVOS] = joints
    mujoco.mj_forward(MODEL, data)
    return data


def published_tip(arm_rad: Array) -> Array:
    """The maker's URDF: fixed-axis rpy per joint, each turning about its own z."""
    rotation, position = np.eye(3), np.zeros(3)
    for joint, angle in zip(PUBLISHED_CHAIN, arm_rad, strict=False):
        position = position + rotate(rotation, np.array(joint.origin_m, float))
        rotation = multiply(multiply(rotation, from_rpy(*joint.rpy_rad)), rotation_z(angle))
    return position + rotate(rotation, np.array(PUBLISHED_TIP_M))


def test_the_chain_agrees_with_the_published_one_to_half_a_millimetre() -> None:
    random = np.random.default_rng(1)
    for _ in range(500):
        joints = random.uniform(LOWER, UPPER)
        published = published_tip(joints[:5])
        modelled = world_at(joints).site("tool").xpos
        solved, _ = forward(joints[None], np.array(FIXED_TIP_M))
        assert np.linalg.norm(modelled - published) < 5e-4
        assert np.linalg.norm(solved[0] - published) < 5e-4


def test_our_kinematics_and_the_compiled_model_are_the_same_to_rounding() -> None:
    random = np.random.default_rng(2)
    for _ in range(100):
        joints = random.uniform(LOWER, UPPER)
        data = world_at(joints)
        position, rotation = forward(joints[None], np.array(FIXED_TIP_M))
        np.testing.assert_allclose(data.site("tool").xpos, position[0], atol=1e-12)
        np.testing.assert_allclose(data.body("gripper").xmat.reshape(3, 3), rotation[0], atol=1e-12)


def test_the_arm_weighs_632_grams() -> None:
    mass = float(MODEL.body_mass.sum() - MODEL.body(CUBE).mass[0])
    assert mass == pytest.approx(0.632, abs=5e-5)


def test_centres_of_mass_lie_where_the_maker_says() -> None:
    data = world_at(np.zeros(6))
    rotation, position = np.eye(3), np.zeros(3)
    for joint in PUBLISHED_CHAIN:
        position = position + rotate(rotation, np.array(joint.origin_m, float))
        rotation = multiply(rotation, from_rpy(*joint.rpy_rad))
        published = position + rotate(rotation, np.array(joint.com_m))
        np.testing.assert_allclose(data.body(joint.body).xipos, published, atol=1e-9)


def test_principal_inertias_are_the_makers() -> None:
    for joint in PUBLISHED_CHAIN:
        xx, yy, zz, xy, xz, yz = joint.inertia
        principal = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])) * 1e-6
        np.testing.assert_allclose(np.sort(MODEL.body(joint.body).inertia), principal, rtol=1e-6)


def test_joint_ranges_reach_the_compiled_model_in_radians() -> None:
    for index, name in enumerate(JOINTS):
        joint = MODEL.joint(name)
        assert bool(joint.limited[0])
        np.testing.assert_array_equal(joint.range, (LOWER[index], UPPER[index]))


def test_servo_gains_and_force_limits_reach_the_compiled_model() -> None:
    np.testing.assert_array_equal(MODEL.actuator_gainprm[SERVOS, 0], SERVO.kp)
    np.testing.assert_array_equal(MODEL.actuator_biasprm[SERVOS, 1], -SERVO.kp)
    np.testing.assert_array_equal(MODEL.actuator_biasprm[SERVOS, 2], -SERVO.kv)
    np.testing.assert_array_equal(MODEL.actuator_forcerange[SERVOS], np.stack([-SERVO.force, SERVO.force], axis=1))
    assert MODEL.actuator_forcelimited[SERVOS].all()
    np.testing.assert_array_equal(MODEL.actuator_dynprm[SERVOS, 0], SERVO.smoothing_s)


def test_joint_friction_and_damping_reach_the_compiled_model() -> None:
    dofs = [int(MODEL.joint(name).dofadr[0]) for name in JOINTS]
    np.testing.assert_array_equal(MODEL.dof_damping[dofs], SERVO.damping)
    np.testing.assert_array_equal(MODEL.dof_frictionloss[dofs], FRICTIONLOSS_NM)
    np.testing.assert_array_equal(MODEL.dof_armature[dofs], ARMATURE)


def test_the_down_pose_points_straight_down_over_everything_that_lies_on_a_table() -> None:
    assert (LOWER < DOWN).all()
    assert (DOWN < UPPER).all()
    position, rotation = forward(DOWN[None], np.array(FIXED_TIP_M))
    np.testing.assert_allclose(rotation[0, :, 0], [0, 0, -1], atol=1e-9)
    assert position[0, 2] > 0.08


def test_home_lies_inside_the_limits_and_points_almost_down() -> None:
    assert (LOWER < HOME).all()
    assert (HOME < UPPER).all()
    position, rotation = forward(HOME[None], np.array(FIXED_TIP_M))
    assert position[0, 2] > 0.1
    assert rotation[0, 2, 0] < -np.cos(np.radians(30))


@pytest.mark.parametrize("offset_rad", [-0.15, 0.15])
@pytest.mark.parametrize("pose", POSES)
def test_every_joint_reaches_its_command_against_gravity(pose: str, offset_rad: float) -> None:
    target = POSES[pose]
    data = world_at(target + offset_rad)
    data.ctrl[SERVOS] = target
    for _ in range(round(1.5 / MODEL.opt.timestep)):
        mujoco.mj_step(MODEL, data)
    assert np.abs(data.qpos[QPOS] - target).max() < 0.01


@pytest.mark.parametrize("speed_rad_s", [-1.5, 1.5])
@pytest.mark.parametrize("joint", JOINTS)
def test_a_joint_that_moves_steadily_does_not_trail_its_reference(joint: str, speed_rad_s: float) -> None:
    index, ticks = JOINTS.index(joint), 60
    # The jaw's torque limit lets it speed up only half as fast as the arm.
    pull_up_rad_s2 = 5.0 if index == SO101.jaw else 15.0
    velocities, positions = np.zeros((ticks + 1, 6)), np.tile([0.0, -0.3, 0.0, 0.2, 0.0, 0.7], (ticks + 1, 1))
    velocities[:, index] = np.sign(speed_rad_s) * np.minimum(
        pull_up_rad_s2 * SO101.dt_s * np.arange(ticks + 1), abs(speed_rad_s)
    )
    steps = (velocities[1:] + velocities[:-1]) / 2 * SO101.dt_s
    positions[1:] += np.cumsum(steps, axis=0)
    positions[:, index] -= positions[ticks // 2, index] - positions[0, index]
    path = Path(positions=positions, velocities=velocities, dt_s=SO101.dt_s)
    assert check_path(path, SO101) is None
    controls = controls_of(SO101, positions, velocities)
    data = world_at(positions[0])
    lags = np.empty((ticks, 6))
    for tick in range(ticks):
        data.ctrl[SERVOS] = controls[tick]
        mujoco.mj_step(MODEL, data, nstep=SO101.substeps)
        lags[tick] = np.abs(data.qpos[QPOS] - positions[tick + 1])
    settled = lags[ticks // 2 :]
    assert settled.max() < 0.01


@pytest.mark.parametrize(
    ("degrees", "published_mm"), [(-5, 9.2), (0, 15.8), (5, 22.2), (10, 28.5), (15, 34.9), (20, 41.3)]
)
def test_the_gap_between_the_tips_is_what_was_measured_on_the_real_hand(degrees: float, published_mm: float) -> None:
    assert float(tip_gap_m(np.radians(degrees))) == pytest.approx(published_mm * 1e-3, abs=1e-3)


def test_the_gap_grows_with_the_jaw_angle() -> None:
    assert (np.diff(tip_gap_m(np.linspace(LOWER[-1], 1.5, 2000))) > 0).all()


def test_the_jaw_law_is_the_tip_gap() -> None:
    angles = np.linspace(LOWER[-1], UPPER[-1], 1000)
    np.testing.assert_allclose(SO101.jaw_law.gap_m(angles), tip_gap_m(angles), atol=5e-6)
    assert SO101.jaw_law.gap_m(UPPER[-1]) == pytest.approx(0.1021, abs=1e-4)
    assert SO101.jaw_law.gap_m(SO101.jaw_law.angle_rad(0.1)) == pytest.approx(0.1, abs=1e-6)


def corners_in_gripper(data: mujoco.MjData, geom: str) -> Array:
    """Corners (8, 3) of a box as compiled, seen from the gripper frame."""
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
    box = data.geom(geom)
    corners = box.xpos + (signs * MODEL.geom(geom).size) @ box.xmat.reshape(3, 3).T
    gripper = data.body("gripper")
    return (corners - gripper.xpos) @ gripper.xmat.reshape(3, 3)


@pytest.mark.parametrize("angle", [-0.1, 0.0, 0.2, 0.5, 0.9, 1.2])
def test_the_tip_gap_is_the_distance_between_the_compiled_tips(angle: float) -> None:
    data = world_at(np.append(HOME[:5], angle))
    fixed, moving = corners_in_gripper(data, "fixed_pad_0"), corners_in_gripper(data, "moving_pad_0")
    assert moving[:, 2].min() - fixed[:, 2].max() == pytest.approx(float(tip_gap_m(angle)), abs=1e-9)
    assert fixed[:, 0].max() == pytest.approx(TIP_M, abs=1e-9)
    assert fixed[:, 2].max() == pytest.approx(FIXED_FACE_M, abs=1e-9)


@pytest.mark.parametrize("angle", [0.0, 0.4, 1.0])
def test_the_moving_finger_is_where_the_compiled_model_has_it(angle: float) -> None:
    data = world_at(np.append(HOME[:5], angle))
    along, across = moving_finger_m(angle)
    for step in range(len(MOVING_FINGER)):
        corners = corners_in_gripper(data, f"moving_pad_{step}")[:, [0, 2]]
        for corner in (2 * step, 2 * step + 1):
            inner = np.array([along[corner], across[corner]])
            assert np.linalg.norm(corners - inner, axis=1).min() < 1e-9


def test_closed_tips_of_the_compiled_model_are_as_far_apart_as_mujoco_says() -> None:
    data = world_at(np.append(HOME[:5], 0.0))
    fixed, moving = MODEL.geom("fixed_pad_0").id, MODEL.geom("moving_pad_0").id
    distance = mujoco.mj_geomDistance(MODEL, data, fixed, moving, 0.1, None)
    assert distance == pytest.approx(float(tip_gap_m(0.0)), abs=1e-6)


def brute_clear_gap_m(angle: float, from_m: float) -> float:
    """The nearest point to the fixed jaw among many on the outlines of the moving finger's boxes."""
    pivot_along, _, pivot_across = OFFSETS_M["moving_jaw"]
    nearest = np.inf
    for step in MOVING_FINGER:
        along = np.linspace(step.near, step.far, 2001) * 1e-3
        across = np.linspace(step.inner, step.outer, 501) * 1e-3
        for u, w in ((along, across[0]), (along, across[-1]), (along[0], across), (along[-1], across)):
            reach = pivot_along + u * np.cos(angle) - w * np.sin(angle)
            place = pivot_across + u * np.sin(angle) + w * np.cos(angle)
            nearest = min(nearest, float(np.where(reach >= from_m, place, np.inf).min()))
    return nearest - FIXED_FACE_M if np.isfinite(nearest) else 0.0


@settings(deadline=None)
@given(st.floats(0.0, 1.5), st.floats(0.03, TIP_M))
def test_the_clear_gap_is_the_narrowest_place_of_the_real_outline(angle: float, from_m: float) -> None:
    along = moving_finger_m(angle)[0]
    if np.abs(along - from_m).min() < 2e-5:
        return  # A corner this near is beside the sampled points.
    assert float(SO101.hand.clear_gap_m(angle, from_m)) == pytest.approx(brute_clear_gap_m(angle, from_m), abs=3e-5)


@settings(deadline=None)
@given(st.floats(0.0, 1.5), st.floats(0.03, TIP_M))
def test_what_reaches_above_the_tips_has_no_more_room_than_the_tips_leave(angle: float, from_m: float) -> None:
    tips = moving_finger_m(angle)[0][:2]
    if from_m <= tips.min():
        assert float(SO101.hand.clear_gap_m(angle, from_m)) <= float(tip_gap_m(angle)) + 1e-12


def test_fingers_open_so_far_that_they_end_above_an_object_leave_no_room_for_it() -> None:
    top_of_a_low_box = TIP_M - 0.02
    assert moving_finger_m(1.4)[0].max() < top_of_a_low_box
    assert float(SO101.hand.clear_gap_m(1.4, top_of_a_low_box)) == 0.0
