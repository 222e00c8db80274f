"""The UR5e agrees with the maker's parameters, its compiled model with our constants, and it follows its paths."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.engine.layout import layout_of
from graspline.motion.joint_moves import joint_move
from graspline.motion.path import at_rest, check_path, controls_of
from graspline.robots.gripper_2f85 import FOLLOWERS, JAW, TOOL_M
from graspline.robots.robot import VISUAL_CONTYPE, with_arm_limits
from graspline.robots.ur5e import (
    ARM_JOINTS,
    ARMATURE,
    BASE_TURN_RAD,
    CHAIN,
    DH_A_M,
    DH_D_M,
    HOME,
    JOINTS,
    LOWER,
    R_FLANGE_HAND,
    SERVO,
    UPPER,
    UR5E,
    add_ur5e,
)
from graspline.scenes.scene import new_spec
from graspline.spatial.rotations import multiply, rotate, rotation_x, rotation_z

Array = NDArray[np.float64]

VISIBLE, COLLIDING = 2, 3
# The twist of each of Denavit and Hartenberg's frames about its x.
DH_ALPHA_RAD = np.array([np.pi / 2, 0.0, 0.0, np.pi / 2, -np.pi / 2, 0.0])
WIDTH, HEIGHT = 640, 480
# Reaching forward with the tool straight down, as the maker's pose turned by half a turn.
HANDY = np.array([0.0, -np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, 0.0])
# Tool down 0.57 m away on the left, and close above the floor half a metre ahead.
FAR = np.array([0.49786, -1.37458, 1.72827, -1.92449, -1.5708, 0.49786])
LOW = np.array([-0.26986, -1.26148, 2.13172, -2.44103, -1.5708, -0.26986])


def compiled() -> mujoco.MjModel:
    spec = new_spec()
    add_ur5e(spec)
    return spec.compile()


MODEL = compiled()
ARM = [int(MODEL.joint(name).qposadr[0]) for name in ARM_JOINTS]
HAND = [int(MODEL.joint(name).qposadr[0]) for name in (JAW, *FOLLOWERS)]
SERVOS = [MODEL.actuator(name).id for name in JOINTS]


def world_at(arm_rad: Array, jaw_rad: float = float(HOME[-1])) -> mujoco.MjData:
    """The robot at rest in this pose, servos holding it there."""
    data = mujoco.MjData(MODEL)
    data.qpos[ARM], data.qpos[HAND] = arm_rad, jaw_rad
    data.act[SERVOS] = data.ctrl[SERVOS] = np.append(arm_rad, jaw_rad)
    mujoco.mj_forward(MODEL, data)
    return data


def flange_by_parameters(arm_rad: Array) -> tuple[Array, Array]:
    """Denavit and Hartenberg's chain on the turned base: each joint about z, along z, along x, twisted about x."""
    rotation, position = rotation_z(BASE_TURN_RAD), np.zeros(3)
    for angle, d, a, alpha in zip(arm_rad, DH_D_M, DH_A_M, DH_ALPHA_RAD, strict=True):
        rotation = multiply(rotation, rotation_z(angle))
        position = position + rotate(rotation, np.array([a, 0, d]))
        rotation = multiply(rotation, rotation_x(alpha))
    return rotation, position


def contacts(data: mujoco.MjData) -> set[tuple[str, str]]:
    pairs = (sorted(MODEL.geom(int(geom)).name for geom in contact.geom) for contact in data.contact)
    return {(first, second) for first, second in pairs}


def test_the_compiled_chain_is_the_one_of_the_parameters() -> None:
    random = np.random.default_rng(1)
    for arm_rad in random.uniform(LOWER[:6], UPPER[:6], (200, 6)):
        rotation, position = flange_by_parameters(arm_rad)
        data = world_at(arm_rad)
        np.testing.assert_allclose(data.body("wrist_3_link").xpos, position, atol=1e-9)
        np.testing.assert_allclose(data.body("wrist_3_link").xmat.reshape(3, 3), rotation, atol=1e-9)
        tool = data.site("tool")
        np.testing.assert_allclose(tool.xmat.reshape(3, 3), multiply(rotation, R_FLANGE_HAND), atol=1e-9)
        np.testing.assert_allclose(tool.xpos, position + rotation[:, 2] * TOOL_M, atol=1e-9)


def test_the_makers_handy_pose_reaches_forward_with_the_tool_straight_down() -> None:
    tool = world_at(HANDY).site("tool")
    np.testing.assert_allclose(tool.xpos, (0.3922 + 0.0997, 0.1333, 0.1625 + 0.425 - 0.0996 - TOOL_M), atol=1e-9)
    np.testing.assert_allclose(tool.xmat.reshape(3, 3)[:, 0], (0, 0, -1), atol=1e-12)


def test_home_holds_the_tool_down_half_a_metre_ahead_and_opens_along_the_belt() -> None:
    tool = world_at(HOME[:-1]).site("tool")
    np.testing.assert_allclose(tool.xpos, (0.5, 0.0, 0.5), atol=1e-7)
    np.testing.assert_allclose(tool.xmat.reshape(3, 3), [[0, 1, 0], [0, 0, -1], [-1, 0, 0]], atol=1e-7)
    assert (LOWER + 0.2 < HOME).all()
    assert (HOME < UPPER - 0.2).all()


def test_masses_and_inertias_are_the_makers() -> None:
    for link in CHAIN:
        body = MODEL.body(link.body)
        assert float(body.mass[0]) == link.mass.kg
        np.testing.assert_allclose(body.ipos, link.mass.com_m, atol=1e-12)
        np.testing.assert_allclose(np.sort(body.inertia), np.sort(link.mass.inertia), rtol=1e-9)
    assert sum(link.mass.kg for link in CHAIN) == pytest.approx(17.7)


def test_joint_ranges_and_armature_reach_the_compiled_model() -> None:
    for index, name in enumerate(JOINTS):
        joint = MODEL.joint(name)
        assert bool(joint.limited[0])
        np.testing.assert_array_equal(joint.range, (LOWER[index], UPPER[index]))
    dofs = [int(MODEL.joint(name).dofadr[0]) for name in ARM_JOINTS]
    np.testing.assert_array_equal(MODEL.dof_armature[dofs], ARMATURE)
    np.testing.assert_array_equal(MODEL.dof_damping, 0)


def test_servos_have_the_makers_torques_and_take_any_control() -> None:
    np.testing.assert_array_equal(MODEL.actuator_gainprm[SERVOS, 0], SERVO.kp)
    np.testing.assert_array_equal(MODEL.actuator_biasprm[SERVOS, 1], -SERVO.kp)
    np.testing.assert_array_equal(MODEL.actuator_biasprm[SERVOS, 2], -SERVO.kv)
    np.testing.assert_array_equal(MODEL.actuator_dynprm[SERVOS, 0], SERVO.smoothing_s)
    np.testing.assert_array_equal(MODEL.actuator_forcerange[SERVOS], np.stack([-SERVO.force, SERVO.force], axis=1))
    np.testing.assert_array_equal(SERVO.force[:6], [150, 150, 150, 28, 28, 28])
    # A control leads its reference, at the end of a joint's range beyond it.
    assert not MODEL.actuator_ctrllimited.any()
    assert MODEL.na == len(JOINTS)


def test_readings_come_in_the_order_every_robot_has_them() -> None:
    readings = layout_of(MODEL).readings
    assert list(readings) == [
        "joint_position",
        "joint_velocity",
        "joint_load",
        "tool_position",
        "tool_axes",
        "pad_force",
    ]
    assert [part.stop - part.start for part in readings.values()] == [7, 7, 7, 3, 9, 6]
    assert [name for name in map(_sensor, range(MODEL.nsensor)) if "/pad_force/" in name] == [
        "reading/pad_force/left",
        "reading/pad_force/right",
    ]


def _sensor(index: int) -> str:
    return MODEL.sensor(index).name


def test_the_arm_does_not_sag() -> None:
    data = world_at(HOME[:-1])
    start = data.site("tool").xpos.copy()
    mujoco.mj_step(MODEL, data, nstep=round(1.0 / MODEL.opt.timestep))
    assert np.linalg.norm(data.site("tool").xpos - start) < 1e-4
    np.testing.assert_array_equal(MODEL.body_gravcomp[1:], 1.0)


@pytest.mark.parametrize("target", [LOW, FAR], ids=["down", "aside"])
def test_it_follows_a_fast_move_to_millimetres_and_arrives(target: Array) -> None:
    path = joint_move(UR5E, at_rest(HOME), np.append(target, HOME[-1]))
    assert check_path(path, UR5E) is None
    controls = controls_of(UR5E, path.positions, path.velocities)
    data, ghost = world_at(HOME[:-1]), mujoco.MjData(MODEL)
    errors_m, torques = [], []
    for tick in range(path.ticks + 6):
        data.ctrl[SERVOS] = controls[tick] if tick < path.ticks else path.end
        mujoco.mj_step(MODEL, data, nstep=UR5E.substeps)
        torques.append(np.abs(data.actuator_force[SERVOS]) / SERVO.force)
        # Sites of a step are those of its beginning.
        mujoco.mj_kinematics(MODEL, data)
        ghost.qpos[:] = data.qpos
        ghost.qpos[ARM] = path.positions[min(tick + 1, path.ticks)][:-1]
        mujoco.mj_kinematics(MODEL, ghost)
        errors_m.append(np.linalg.norm(data.site("tool").xpos - ghost.site("tool").xpos))
    assert max(errors_m) < 4e-3
    assert errors_m[path.ticks - 1] < 1e-3
    assert errors_m[-1] < 0.1e-3
    assert np.max(torques) < 0.7


def test_paths_may_be_faster_and_the_jaw_keeps_its_own_limits() -> None:
    fast = with_arm_limits(UR5E, 3.14, 40.0, 1000.0)
    np.testing.assert_array_equal(fast.limits.acceleration[:6], 40.0)
    assert fast.limits.velocity[fast.jaw] == UR5E.limits.velocity[UR5E.jaw]
    assert with_arm_limits(UR5E, 3.14, 40.0, 1000.0) is fast


@pytest.mark.parametrize("jaw_rad", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("pose", [HOME[:-1], LOW, FAR], ids=["home", "low", "far"])
def test_nothing_of_it_touches_itself_in_poses_it_works_in(pose: Array, jaw_rad: float) -> None:
    assert contacts(world_at(pose, jaw_rad)) == set()


@pytest.mark.parametrize("joint", [0, 1, 3, 4, 5])
def test_neighbouring_links_never_touch(joint: int) -> None:
    for angle in np.linspace(-np.pi, np.pi, 60):
        pose = HANDY.copy()
        pose[joint] = angle
        pairs = contacts(world_at(pose))
        bodies = {frozenset(int(MODEL.geom(geom).bodyid[0]) for geom in pair) for pair in pairs}
        assert all(max(pair) - min(pair) > 1 for pair in bodies)


def test_a_folded_arm_touches_itself() -> None:
    folded = np.array([0.0, -np.pi / 2, np.pi - 0.1, 0.0, -np.pi / 2, 0.0])
    touching = contacts(world_at(folded))
    assert any("upper_arm" in first + second for first, second in touching)


def test_nothing_is_farther_from_a_joint_than_its_lever() -> None:
    random = np.random.default_rng(2)
    colliding = np.flatnonzero(MODEL.geom_group == COLLIDING)
    carried = {
        joint: [geom for geom in colliding if _carries(int(MODEL.joint(joint).bodyid[0]), int(MODEL.geom_bodyid[geom]))]
        for joint in JOINTS
    }
    for pose in random.uniform(-np.pi, np.pi, (100, 6)):
        data = world_at(pose, 0.8)
        for joint, lever_m in zip(JOINTS, UR5E.levers_m, strict=True):
            index = MODEL.joint(joint).id
            away = data.geom_xpos[carried[joint]] - data.xanchor[index]
            away -= np.outer(away @ data.xaxis[index], data.xaxis[index])
            # Middles of parts; their ends are half a part farther.
            assert np.linalg.norm(away, axis=1).max() < lever_m - 0.02


def _carries(carrier: int, body: int) -> bool:
    while body > carrier:
        body = int(MODEL.body_parentid[body])
    return body == carrier


def visible() -> NDArray[np.intp]:
    return np.flatnonzero(MODEL.geom_group == VISIBLE)


def test_the_whole_robot_is_under_ten_thousand_triangles() -> None:
    assert (MODEL.geom_type[visible()] == mujoco.mjtGeom.mjGEOM_MESH).all()
    assert MODEL.mesh_facenum[MODEL.geom_dataid[visible()]].sum() < 10_000


def test_every_body_is_seen_and_its_geoms_are_named_after_their_paint() -> None:
    seen = {}
    for geom in visible():
        body, name = MODEL.body(int(MODEL.geom_bodyid[geom])).name, MODEL.geom(int(geom)).name
        seen.setdefault(body, []).append(name.removeprefix(f"{body}_"))
    assert seen.keys() == {MODEL.body(index).name for index in range(1, MODEL.nbody)}
    assert {paint for paints in seen.values() for paint in paints} == set(UR5E.paints)


def test_rays_see_the_visible_parts_and_nothing_collides_with_them() -> None:
    assert (MODEL.geom_contype[visible()] == VISUAL_CONTYPE).all()
    assert (MODEL.geom_conaffinity & VISUAL_CONTYPE == 0).all()
    assert (MODEL.geom_conaffinity[visible()] == 0).all()


def test_the_picture_is_as_wide_as_asked_and_lies_along_the_belt() -> None:
    camera = MODEL.camera("wrist")
    fovy = np.radians(camera.fovy[0])
    assert 2 * np.arctan(np.tan(fovy / 2) * WIDTH / HEIGHT) == pytest.approx(1.05)
    axes = world_at(HOME[:-1]).camera("wrist").xmat.reshape(3, 3)
    np.testing.assert_allclose(np.abs(axes[:, 0]), (0, 1, 0), atol=1e-7)
    assert -axes[2, 2] < -0.95, "it looks down"


def pixel_of(data: mujoco.MjData, point_W: Array) -> Array:
    """Column and row of a world point in the wrist camera's picture."""
    camera = data.camera("wrist")
    x, y, z = camera.xmat.reshape(3, 3).T @ (point_W - camera.xpos)
    assert z < 0, "the point is behind the camera"
    focal = HEIGHT / 2 / np.tan(np.radians(MODEL.camera("wrist").fovy[0]) / 2)
    return np.array([WIDTH / 2 + focal * x / -z, HEIGHT / 2 - focal * y / -z])


def seen_towards(data: mujoco.MjData, point_W: Array) -> str | None:
    """The body that the wrist camera sees in the direction of a point, if any."""
    eye, groups, hit = data.camera("wrist").xpos, np.zeros(6, np.uint8), np.zeros(1, np.int32)
    groups[VISIBLE] = 1
    mujoco.mj_ray(MODEL, data, eye, point_W - eye, groups, 1, -1, hit)
    return MODEL.body(int(MODEL.geom_bodyid[hit[0]])).name if hit[0] >= 0 else None


@pytest.mark.parametrize("jaw_rad", [0.0, 0.4, 0.8])
def test_the_wrist_camera_sees_both_fingertips_one_on_either_side(jaw_rad: float) -> None:
    data = world_at(HOME[:-1], jaw_rad)
    columns = []
    for side, sign in (("left", 1.0), ("right", -1.0)):
        # On the camera's side of the tip's end.
        pad = data.geom(f"{side}_pad")
        point = pad.xpos + pad.xmat.reshape(3, 3) @ (MODEL.geom(f"{side}_pad").size * (0.9, 0.99, sign * 0.2))
        column, row = pixel_of(data, point)
        assert 0 < column < WIDTH
        assert 0.5 * HEIGHT < row < HEIGHT
        assert seen_towards(data, point) == f"{side}_pad"
        columns.append(column)
    assert columns[0] < columns[1]


def test_the_hand_leaves_most_of_the_picture_free() -> None:
    data = world_at(HOME[:-1])
    camera = data.camera("wrist")
    axes = camera.xmat.reshape(3, 3)
    focal = HEIGHT / 2 / np.tan(np.radians(MODEL.camera("wrist").fovy[0]) / 2)
    columns, rows = np.meshgrid(np.linspace(0, WIDTH, 33), np.linspace(0, HEIGHT, 25))
    rays = np.stack([columns - WIDTH / 2, HEIGHT / 2 - rows, np.full_like(rows, -focal)], axis=-1).reshape(-1, 3)
    free = [seen_towards(data, camera.xpos + axes @ ray) is None for ray in rays]
    assert np.mean(free) > 0.85
    assert np.reshape(free, rows.shape)[: len(rows) * 3 // 4].all(), "the upper three quarters are free"
