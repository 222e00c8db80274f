"""The HSR-class robot agrees with the published chain, follows its paths, holds what it grips and feels what pulls."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.engine.layout import layout_of
from graspline.motion.joint_moves import hold, jaw_move, joint_move
from graspline.motion.path import Path, at_rest, check_path, controls_of
from graspline.robots.hsr import HOME, HSR, ODOMETRY, SERVO, SLIPS, add_hsr, hsr
from graspline.robots.hsr_chain import CHAIN, JOINTS, R_WRIST_TOOL, TOOL_M, TORSO, TORSO_FOLLOWS
from graspline.robots.hsr_hand import FOLLOWERS, PADS
from graspline.robots.robot import VISUAL_CONTYPE, Robot
from graspline.scenes.scene import new_spec
from graspline.spatial.rotations import matrix_from_vector

Array = NDArray[np.float64]

VISIBLE, COLLIDING = 2, 3
GRAVITY_M_S2 = 9.81
LIFT, FLEX, WRIST_ROLL, JAW = (JOINTS.index(name) for name in ("arm_lift", "arm_flex", "wrist_roll", "hand"))
# The arm stretched forward, level, fingers left and right.
AHEAD = np.array([0, 0, 0, 0.3, -np.pi / 2, 0, 0, 0, 0, -0.4, 0.4])
# Bent over the front of the base, the tool straight down at the floor; and reaching over 1.3 m.
FLOOR = np.array([0, 0, 0, 0.11, -2.2, 0, 2.2 - np.pi, 0, 0, -0.4, 0.4])
HIGH = np.array([0, 0, 0, 0.69, -0.3, 0, 0.3 - np.pi / 2, 0, 0, 0, 0.4])
FAST = hsr(2.5)


def bare() -> mujoco.MjModel:
    spec = new_spec()
    add_hsr(spec)
    return spec.compile()


MODEL = bare()


def put(model: mujoco.MjModel, data: mujoco.MjData, joints: Array) -> None:
    """The robot at rest in this posture, servos holding it there."""
    for name, at in zip(JOINTS, joints, strict=True):
        data.joint(name).qpos[0] = at
    for name in FOLLOWERS:
        data.joint(name).qpos[0] = joints[JAW]
    data.joint(TORSO).qpos[0] = TORSO_FOLLOWS * joints[LIFT]
    data.act[:] = data.ctrl[:] = joints
    mujoco.mj_forward(model, data)


def world_at(joints: Array) -> mujoco.MjData:
    data = mujoco.MjData(MODEL)
    put(MODEL, data, joints)
    return data


def play(model: mujoco.MjModel, data: mujoco.MjData, robot: Robot, path: Path) -> None:
    for control in controls_of(robot, path.positions, path.velocities):
        data.ctrl[:] = control
        mujoco.mj_step(model, data, nstep=robot.substeps)
    # What a step leaves behind is of its beginning.
    mujoco.mj_forward(model, data)


def contacts(data: mujoco.MjData) -> set[tuple[str, str]]:
    pairs = (sorted(MODEL.geom(int(geom)).name for geom in contact.geom) for contact in data.contact)
    return {(first, second) for first, second in pairs}


def tool_by_chain(joints: Array) -> tuple[Array, Array]:
    rotation, position = np.eye(3), np.zeros(3)
    for joint, at in zip(CHAIN[:8], joints, strict=False):
        position = position + rotation @ np.array(joint.origin_m, float)
        if joint.kind == "slide":
            position = position + rotation @ np.array(joint.axis) * at
        else:
            rotation = rotation @ matrix_from_vector(at * np.array(joint.axis, float))
    return rotation @ R_WRIST_TOOL, position + rotation @ TOOL_M


def test_the_compiled_chain_is_the_published_one() -> None:
    random = np.random.default_rng(1)
    for joints in random.uniform(HSR.limits.lower, HSR.limits.upper, (100, len(JOINTS))):
        rotation, position = tool_by_chain(joints)
        tool = world_at(joints).site("tool")
        np.testing.assert_allclose(tool.xpos, position, atol=1e-9)
        np.testing.assert_allclose(tool.xmat.reshape(3, 3), rotation, atol=1e-9)


def test_it_weighs_and_stands_like_the_real_one() -> None:
    assert MODEL.body_mass.sum() == pytest.approx(37.0, abs=0.3)
    np.testing.assert_array_equal(MODEL.body_gravcomp[1:], 1.0)
    for lift_m, height_m in ((0.0, 1.005), (0.69, 1.35)):
        joints = HOME.copy()
        joints[LIFT], joints[JOINTS.index("head_tilt")] = lift_m, 0.0
        crest = world_at(joints).geom("head_crest")
        assert crest.xpos[2] + MODEL.geom("head_crest").size[2] == pytest.approx(height_m, abs=0.005)


def test_the_models_own_coordinates_are_home() -> None:
    np.testing.assert_allclose(MODEL.qpos0, world_at(HOME).qpos, atol=1e-12)
    assert HSR.jaw_law.gap_m(HOME[JAW]) == pytest.approx(0.06)


def test_joint_ranges_and_servos_reach_the_compiled_model() -> None:
    for index, name in enumerate(JOINTS):
        np.testing.assert_array_equal(MODEL.joint(name).range, (HSR.limits.lower[index], HSR.limits.upper[index]))
    np.testing.assert_array_equal(MODEL.actuator_gainprm[:, 0], SERVO.kp)
    np.testing.assert_array_equal(MODEL.actuator_biasprm[:, 2], -SERVO.kv)
    np.testing.assert_array_equal(MODEL.actuator_forcerange[:, 1], SERVO.force)
    assert [MODEL.actuator(index).name for index in range(MODEL.nu)] == list(JOINTS)


def test_readings_come_in_the_order_every_robot_has_them_and_then_the_wrists() -> None:
    readings = layout_of(MODEL).readings
    assert {name: part.stop - part.start for name, part in readings.items()} == {
        "joint_position": 11,
        "joint_velocity": 11,
        "joint_load": 11,
        "tool_position": 3,
        "tool_axes": 9,
        "pad_force": 6,
        "wrist_force": 3,
        "wrist_torque": 3,
        "wrist_acceleration": 3,
    }


def test_no_reading_shows_where_the_odometry_frame_is() -> None:
    data = world_at(AHEAD)
    there = data.sensordata.copy(), data.site("tool").xpos.copy()
    for name, slip in zip(SLIPS, (0.4, 0.3, 0.7), strict=True):
        data.joint(name).qpos[0] = slip
    mujoco.mj_forward(MODEL, data)
    np.testing.assert_allclose(data.sensor("reading/tool_position").data, there[1], atol=1e-9)
    position = slice(MODEL.sensor("reading/tool_position").adr[0], MODEL.sensor("reading/pad_force/left").adr[0])
    np.testing.assert_allclose(data.sensordata[position], there[0][position], atol=1e-9)
    assert np.linalg.norm(data.site("tool").xpos - there[1]) > 0.3
    assert float(data.body(ODOMETRY).xpos[0]) == 0.4


def test_the_arm_does_not_sag() -> None:
    data = world_at(AHEAD)
    start = data.site("tool").xpos.copy()
    mujoco.mj_step(MODEL, data, nstep=480)
    assert np.linalg.norm(data.site("tool").xpos - start) < 1e-4


# From home far away with everything at once, and the arm alone.
MOVES = {
    "drive": np.array([1.2, -0.7, 2.0, 0.1, -1.2, 0.0, -0.4, 1.0, 0.6, -0.2, 0.1]),
    "reach": np.array([0.0, 0.0, 0.0, 0.5, -1.9, -0.5, 0.3, 2.0, 0.0, -0.4, 0.9]),
}


@pytest.mark.parametrize("target", MOVES.values(), ids=list(MOVES))
def test_it_follows_a_fast_move_within_a_millimetre_and_arrives(target: Array) -> None:
    path = joint_move(HSR, at_rest(HOME), target)
    assert check_path(path, HSR) is None
    controls = np.concatenate([controls_of(HSR, path.positions, path.velocities), np.tile(path.end, (12, 1))])
    data, ghost, errors_m, slips_m = world_at(HOME), mujoco.MjData(MODEL), [], []
    for tick, control in enumerate(controls):
        data.ctrl[:] = control
        mujoco.mj_step(MODEL, data, nstep=HSR.substeps)
        mujoco.mj_kinematics(MODEL, data)
        put(MODEL, ghost, path.positions[min(tick + 1, path.ticks)])
        errors_m.append(np.linalg.norm(data.site("tool").xpos - ghost.site("tool").xpos))
        slips_m.append(max(abs(data.joint(name).qpos[0]) for name in SLIPS))
    assert max(errors_m) < 1.5e-3
    assert errors_m[-1] < 0.1e-3
    assert max(slips_m) < 0.3e-3


@pytest.mark.parametrize("jaw_rad", np.linspace(HSR.limits.lower[JAW], HSR.limits.upper[JAW], 7))
def test_pads_stay_parallel_and_are_as_far_apart_as_the_jaw_law_says(jaw_rad: float) -> None:
    joints = AHEAD.copy()
    joints[JAW] = jaw_rad
    data = world_at(joints)
    tool = data.site("tool")
    axes = tool.xmat.reshape(3, 3)
    for pad, sign in zip(PADS, (1.0, -1.0), strict=True):
        geom = data.geom(pad)
        face = geom.xpos - sign * MODEL.geom(pad).size[1] * axes[:, 2]
        along = axes.T @ (face - tool.xpos)
        aside = sign * float(HSR.jaw_law.gap_m(jaw_rad)) / 2
        np.testing.assert_allclose(along, HSR.jaw_law.middle_m(jaw_rad) + np.array([0, 0, aside]), atol=1e-5)
        np.testing.assert_allclose(np.abs(geom.xmat.reshape(3, 3)[:, 1] @ axes[:, 2]), 1.0, atol=1e-12)
    assert (np.diff(HSR.jaw_law.gaps_m) > 0).all()


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """Something to grip, as MuJoCo has sizes, its width between the pads, and its half height."""

    kind: mujoco.mjtGeom
    size: tuple[float, ...]
    width_m: float
    half_m: float
    kg: float


THINGS = {
    "narrow box": Thing(kind=mujoco.mjtGeom.mjGEOM_BOX, size=(0.02, 0.015, 0.05), width_m=0.03, half_m=0.05, kg=0.2),
    "wide box": Thing(kind=mujoco.mjtGeom.mjGEOM_BOX, size=(0.03, 0.04, 0.06), width_m=0.08, half_m=0.06, kg=0.7),
    "bottle": Thing(kind=mujoco.mjtGeom.mjGEOM_CYLINDER, size=(0.035, 0.1, 0), width_m=0.07, half_m=0.1, kg=0.7),
}


class Carried:
    """The robot with a thing in its hand, lifted off what it stood on."""

    def __init__(self, thing: Thing) -> None:
        spec = new_spec()
        add_hsr(spec)
        body = spec.worldbody.add_body(name="thing")
        body.add_freejoint(name="thing")
        body.add_geom(type=thing.kind, size=thing.size, mass=thing.kg, condim=4)
        stand = spec.worldbody.add_body(name="stand", mocap=True)
        stand.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=(0.05, 0.05, 0.01))
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        law, data = HSR.jaw_law, self.data
        shut_rad = float(law.angle_rad(thing.width_m))
        joints = np.append(AHEAD[:-1], law.angle_rad(thing.width_m + 0.03))
        put(self.model, data, joints)
        tool = data.site("tool")
        between = tool.xpos + tool.xmat.reshape(3, 3) @ law.middle_m(shut_rad)
        data.joint("thing").qpos[:3] = between
        data.mocap_pos[0] = between - (0, 0, thing.half_m + 0.01)
        closing = jaw_move(HSR, at_rest(joints), shut_rad - 0.1, speed_rad_s=0.5)
        play(self.model, data, HSR, closing)
        self.command = at_rest(closing.end)
        self.wait(0.3)
        data.mocap_pos[0] = (5, 5, 0)
        self.wait(0.2)

    def wait(self, duration_s: float) -> None:
        play(self.model, self.data, HSR, hold(HSR, self.command, duration_s))

    def move(self, **by: float) -> None:
        target = self.command.position.copy()
        for name, change in by.items():
            target[JOINTS.index(name)] += change
        play(self.model, self.data, FAST, joint_move(FAST, self.command, target))
        self.command = at_rest(target)

    def in_hand(self) -> Array:
        """Position and axes of the thing in the tool frame, (3, 4)."""
        tool, thing = self.data.site("tool"), self.data.body("thing")
        axes = tool.xmat.reshape(3, 3)
        return axes.T @ np.column_stack([thing.xpos - tool.xpos, thing.xmat.reshape(3, 3)])

    def felt(self, what: str) -> Array:
        """A reading of the wrist along the world's axes."""
        return self.data.site("wrist_force").xmat.reshape(3, 3) @ self.data.sensor(f"reading/{what}").data


@pytest.mark.parametrize("thing", THINGS.values(), ids=list(THINGS))
def test_what_is_gripped_stays_in_the_hand_through_lift_hard_drive_and_turns(thing: Thing) -> None:
    carried = Carried(thing)
    squeeze_n = [np.linalg.norm(carried.data.sensor(f"reading/pad_force/{side}").data) for side in ("left", "right")]
    assert 44 < min(squeeze_n) <= max(squeeze_n) < 58
    start = carried.in_hand()
    carried.move(arm_lift=0.2)
    carried.move(base_x=-0.9)
    carried.move(base_y=0.6, base_turn=1.5)
    carried.move(wrist_roll=1.5)
    carried.move(wrist_roll=-1.5, arm_flex=0.7)
    carried.move(base_x=0.9, base_turn=-1.5)
    carried.wait(2.0)
    end = carried.in_hand()
    assert np.linalg.norm(end[:, 0] - start[:, 0]) < 1e-3
    np.testing.assert_allclose(end[:, 1:], start[:, 1:], atol=np.radians(0.5))


def test_the_wrist_feels_what_is_held_and_who_pulls_at_it() -> None:
    thing = THINGS["wide box"]
    carried = Carried(thing)
    hand_kg = sum(MODEL.body(name).mass[0] for name in ("palm", "left_finger", "right_finger", "left_tip", "right_tip"))
    weight_n = (hand_kg + thing.kg) * GRAVITY_M_S2
    np.testing.assert_allclose(carried.felt("wrist_force"), (0, 0, weight_n), atol=0.02)
    np.testing.assert_allclose(carried.felt("wrist_acceleration"), (0, 0, GRAVITY_M_S2), atol=0.02)
    lever_m = carried.data.body("thing").xpos[0] - carried.data.site("wrist_force").xpos[0]
    for pull_n in ((8.0, 0.0, 0.0), (0.0, -8.0, 0.0)):
        carried.data.xfrc_applied[carried.model.body("thing").id, :3] = pull_n
        carried.wait(0.3)
        np.testing.assert_allclose(carried.felt("wrist_force"), np.subtract((0, 0, weight_n), pull_n), atol=0.1)
    assert abs(carried.felt("wrist_torque")[2]) == pytest.approx(8.0 * lever_m, abs=0.05)


def test_half_a_kilogramme_at_arms_length_sags_by_half_a_millimetre() -> None:
    empty = world_at(AHEAD).site("tool").xpos[2]
    data = world_at(AHEAD)
    data.xfrc_applied[MODEL.body("palm").id, 2] = -0.5 * GRAVITY_M_S2
    mujoco.mj_step(MODEL, data, nstep=240)
    assert 0 < empty - data.site("tool").xpos[2] < 0.7e-3


@pytest.mark.parametrize("jaw_rad", [HSR.limits.lower[JAW], 0.4, HSR.limits.upper[JAW]])
@pytest.mark.parametrize("joints", [HOME, AHEAD, FLOOR, HIGH], ids=["home", "ahead", "floor", "high"])
def test_nothing_of_it_touches_itself_in_postures_it_works_in(joints: Array, jaw_rad: float) -> None:
    assert contacts(world_at(np.append(joints[:-1], jaw_rad))) == set()


@pytest.mark.parametrize("joint", [LIFT, FLEX, WRIST_ROLL, JOINTS.index("wrist_flex"), JOINTS.index("arm_roll")])
def test_no_link_touches_its_neighbour_over_its_whole_range(joint: int) -> None:
    for at in np.linspace(HSR.limits.lower[joint], HSR.limits.upper[joint], 40):
        joints = AHEAD.copy()
        joints[joint] = at
        assert contacts(world_at(joints)) == set()


def test_the_tool_reaches_from_the_floor_to_over_a_metre_and_a_third() -> None:
    low, high = (world_at(joints).site("tool") for joints in (FLOOR, HIGH))
    assert low.xpos[2] < 0.03
    np.testing.assert_allclose(low.xmat.reshape(3, 3)[:, 0], (0, 0, -1), atol=1e-12)
    assert high.xpos[2] > 1.33
    np.testing.assert_allclose(high.xmat.reshape(3, 3)[:, 0], (1, 0, 0), atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "touched"),
    [
        ({"arm_lift": 0.0, "arm_flex": -2.6}, "base"),
        ({"arm_roll": np.pi, "wrist_flex": -np.pi / 2, "arm_flex": 0.0}, "head"),
    ],
    ids=["arm down", "hand at the face"],
)
def test_the_arm_can_meet_the_rest_of_the_robot(changes: dict[str, float], touched: str) -> None:
    joints = AHEAD.copy()
    for name, at in changes.items():
        joints[JOINTS.index(name)] = at
    assert any(touched in first + second for first, second in contacts(world_at(joints)))


def test_nothing_is_farther_from_a_joint_than_its_lever() -> None:
    random = np.random.default_rng(2)
    hinges = [index for index, joint in enumerate(CHAIN) if joint.kind == "hinge"]
    colliding = np.flatnonzero(MODEL.geom_group == COLLIDING)
    for joints in random.uniform(HSR.limits.lower, HSR.limits.upper, (60, len(JOINTS))):
        data = world_at(joints)
        for index in hinges:
            at = MODEL.joint(JOINTS[index])
            carried = [g for g in colliding if _carries(int(at.bodyid[0]), int(MODEL.geom_bodyid[g]))]
            away = data.geom_xpos[carried] - data.xanchor[at.id]
            away -= np.outer(away @ data.xaxis[at.id], data.xaxis[at.id])
            # Middles of parts; their ends are half a part farther.
            assert np.linalg.norm(away, axis=1).max() < HSR.levers_m[index] - 0.01


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
    seen: dict[str, list[str]] = {}
    for geom in visible():
        body, name = MODEL.body(int(MODEL.geom_bodyid[geom])).name, MODEL.geom(int(geom)).name
        seen.setdefault(body, []).append(name.removeprefix(f"{body}_"))
    assert seen.keys() == {MODEL.body(index).name for index in range(1, MODEL.nbody)} - {ODOMETRY}
    assert {paint for paints in seen.values() for paint in paints} == set(HSR.paints)
    assert (MODEL.geom_contype[visible()] == VISUAL_CONTYPE).all()
    assert (MODEL.geom_conaffinity & VISUAL_CONTYPE == 0).all()


def free_share(data: mujoco.MjData, camera: str, rows: slice = slice(None)) -> float:
    """Of how much of a camera's picture, or of some rows of its 24, nothing of the robot is seen."""
    view, groups, hit = data.camera(camera), np.zeros(6, np.uint8), np.zeros(1, np.int32)
    groups[VISIBLE] = 1
    high = np.tan(np.radians(MODEL.camera(camera).fovy[0]) / 2)
    across, up = np.meshgrid(np.linspace(-1, 1, 32) * high * 4 / 3, np.linspace(1, -1, 24)[rows] * high)
    rays = np.stack([across, up, -np.ones_like(up)], axis=-1).reshape(-1, 3) @ view.xmat.reshape(3, 3).T
    seen = [mujoco.mj_ray(MODEL, data, view.xpos, ray, groups, 1, -1, hit) >= 0 for ray in rays]
    return 1 - float(np.mean(seen))


def test_at_home_the_head_sees_past_the_arm() -> None:
    data = world_at(HOME)
    width_rad = 2 * np.arctan(np.tan(np.radians(MODEL.camera("head").fovy[0]) / 2) * 4 / 3)
    assert np.degrees(width_rad) == pytest.approx(58.0)
    assert free_share(data, "head") > 0.88
    assert free_share(data, "head", slice(0, 16)) == 1.0


def test_the_hand_camera_sees_between_the_fingers() -> None:
    joints = AHEAD.copy()
    joints[JAW] = HSR.limits.upper[JAW]
    assert free_share(world_at(joints), "hand") > 0.95
    assert 0.6 < free_share(world_at(AHEAD), "hand") < 0.95, "fingers are in its view"
