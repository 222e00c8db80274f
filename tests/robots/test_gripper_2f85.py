"""The 2F-85 agrees with the public linkage, its law with the compiled model, and it holds what it closes on."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.motion.joint_moves import joint_move
from graspline.motion.path import Command, at_rest, controls_of
from graspline.robots.gripper_2f85 import (
    FOLLOWERS,
    JAW,
    LINK_M,
    OPEN_RAD,
    PADS,
    PIVOT_M,
    STROKE_M,
    TOOL_M,
    gap_m,
    lean_rad,
    reach_m,
)
from graspline.robots.ur5e import HOME, JOINTS, UR5E
from graspline.scenes.scene import new_spec

Array = NDArray[np.float64]

CUBE_M = 0.04
CUBE_KG = 0.1
# The tool straight down at (0.5, 0): with the pads around a cube on the floor, lifted, and swung to the left.
AT_CUBE = np.array([-0.26986, -1.26148, 2.13172, -2.44103, -1.5708, -0.26986])
LIFTED = np.array([-0.26986, -1.56742, 1.80944, -1.81282, -1.5708, -0.26986])
ASIDE = np.array([0.49786, -1.37458, 1.72827, -1.92449, -1.5708, 0.49786])
SHUT_RAD = float(UR5E.jaw_law.angle_rad(CUBE_M)) - 0.08


def compiled() -> mujoco.MjModel:
    """A cube on a floor before the robot."""
    spec = new_spec()
    spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=(2, 2, 0.1))
    UR5E.add_to(spec)
    cube = spec.worldbody.add_body(name="cube", pos=(0.5, 0, CUBE_M / 2))
    cube.add_freejoint(name="cube")
    cube.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=(CUBE_M / 2,) * 3, mass=CUBE_KG)
    return spec.compile()


MODEL = compiled()
SERVOS = [MODEL.actuator(name).id for name in JOINTS]
ARM = [int(MODEL.joint(name).qposadr[0]) for name in JOINTS[:-1]]
HAND = [int(MODEL.joint(name).qposadr[0]) for name in (JAW, *FOLLOWERS)]


def world_at(arm_rad: Array, jaw_rad: float) -> mujoco.MjData:
    data = mujoco.MjData(MODEL)
    data.qpos[ARM], data.qpos[HAND] = arm_rad, jaw_rad
    data.act[SERVOS] = data.ctrl[SERVOS] = np.append(arm_rad, jaw_rad)
    mujoco.mj_forward(MODEL, data)
    return data


class Player:
    """Plays joint moves on a world, and keeps what it saw at every tick."""

    def __init__(self, data: mujoco.MjData) -> None:
        self.data = data
        self._command: Command = at_rest(data.ctrl[SERVOS].copy())
        self.forces_n: list[list[float]] = []
        self.cube_in_tool_m: list[Array] = []
        self.unevenness_m: list[float] = []
        self.lean_rad: list[float] = []

    def move(self, arm_rad: Array, jaw_rad: float) -> float:
        """Go there; how long it takes."""
        path = joint_move(UR5E, self._command, np.append(arm_rad, jaw_rad))
        for control in controls_of(UR5E, path.positions, path.velocities):
            self._tick(control)
        self._command = at_rest(path.end)
        return path.duration_s

    def hold(self, duration_s: float) -> None:
        for _ in range(round(duration_s / UR5E.dt_s)):
            self._tick(self._command.position)

    def _tick(self, control: Array) -> None:
        self.data.ctrl[SERVOS] = control
        mujoco.mj_step(MODEL, self.data, nstep=UR5E.substeps)
        tool = self.data.site("tool")
        R_TW = tool.xmat.reshape(3, 3).T
        self.forces_n.append([float(np.linalg.norm(self.data.sensor(name).data)) for name in PAD_FORCES])
        self.cube_in_tool_m.append(R_TW @ (self.data.body("cube").xpos - tool.xpos))
        left, right = (R_TW @ (self.data.geom(pad).xpos - tool.xpos) for pad in PADS)
        self.unevenness_m.append(float(abs(left[2] + right[2])))
        turns = (R_TW @ self.data.geom(pad).xmat.reshape(3, 3) for pad in PADS)
        self.lean_rad.append(max(float(np.arccos(np.clip((np.trace(turn) - 1) / 2, -1, 1))) for turn in turns))


PAD_FORCES = ("reading/pad_force/left", "reading/pad_force/right")


def faces_m(data: mujoco.MjData) -> tuple[Array, Array]:
    """The middles of the two faces that grip, in the tool frame."""
    tool = data.site("tool")
    R_TW = tool.xmat.reshape(3, 3).T
    left, right = (R_TW @ (data.geom(pad).xpos - tool.xpos) for pad in PADS)
    thick = np.array([0, 0, MODEL.geom(PADS[0]).size[2]])
    return left + thick, right - thick


def test_the_stroke_is_the_makers_over_the_whole_range() -> None:
    assert float(gap_m(0.0)) == pytest.approx(0.0, abs=1e-12)
    assert float(gap_m(OPEN_RAD)) == pytest.approx(STROKE_M, abs=1e-12)
    assert (np.diff(gap_m(np.linspace(0, OPEN_RAD, 500))) > 0).all()


def test_the_linkage_is_the_public_one_to_half_a_millimetre() -> None:
    lean = lean_rad(OPEN_RAD)
    follower = np.array([PIVOT_M[1] + LINK_M * np.sin(lean), PIVOT_M[0] + LINK_M * np.cos(lean)])
    np.testing.assert_allclose(follower, (0.0502, 0.1049), atol=5e-4)
    assert float(reach_m(OPEN_RAD)) == pytest.approx(0.1307, abs=5e-4)
    assert float(reach_m(0.0)) == pytest.approx(0.1439, abs=1e-12)
    assert float(gap_m(OPEN_RAD - 0.4)) == pytest.approx(0.0449, abs=5e-4)


@pytest.mark.parametrize("jaw_rad", [0.0, 0.1, 0.35, 0.6, OPEN_RAD])
def test_the_jaw_law_is_what_the_compiled_pads_measure(jaw_rad: float) -> None:
    left, right = faces_m(world_at(AT_CUBE, jaw_rad))
    law = UR5E.jaw_law
    assert right[2] - left[2] == pytest.approx(float(law.gap_m(jaw_rad)), abs=1e-6)
    np.testing.assert_allclose((left + right) / 2, law.middle_m(jaw_rad), atol=1e-6)


@pytest.mark.parametrize("jaw_rad", [0.0, 0.3, OPEN_RAD])
def test_pads_are_parallel_at_every_angle(jaw_rad: float) -> None:
    data = world_at(HOME[:-1], jaw_rad)
    for pad in PADS:
        np.testing.assert_allclose(data.geom(pad).xmat, data.site("tool").xmat, atol=1e-12)


def test_left_is_where_the_opening_direction_comes_from() -> None:
    left, right = faces_m(world_at(HOME[:-1], 0.5))
    assert left[2] < 0 < right[2]


def test_the_tool_is_between_the_shut_pads() -> None:
    left, right = faces_m(world_at(HOME[:-1], 0.0))
    np.testing.assert_allclose([left, right], 0.0, atol=1e-9)
    hand = world_at(HOME[:-1], 0.0).body("hand")
    tool = world_at(HOME[:-1], 0.0).site("tool")
    np.testing.assert_allclose(hand.xmat.reshape(3, 3).T @ (tool.xpos - hand.xpos), (TOOL_M, 0, 0), atol=1e-9)


def test_a_model_left_alone_has_a_hand_that_fits_together_at_home() -> None:
    np.testing.assert_array_equal(MODEL.qpos0[HAND], HOME[-1])


def test_the_hand_weighs_what_the_real_one_does() -> None:
    bodies = ("hand", "left_link", "left_pad", "right_link", "right_pad")
    assert sum(float(MODEL.body(body).mass[0]) for body in bodies) == pytest.approx(0.9, abs=0.01)


def test_fingers_are_no_faster_than_the_real_ones() -> None:
    assert LINK_M * UR5E.limits.velocity[UR5E.jaw] <= 0.150


def test_both_fingers_follow_the_jaw() -> None:
    player = Player(world_at(HOME[:-1], 0.75))
    player.move(HOME[:-1], 0.1)
    player.hold(0.2)
    assert float(player.data.joint(JAW).qpos[0]) == pytest.approx(0.1, abs=2e-3)
    np.testing.assert_allclose(player.data.qpos[HAND], player.data.qpos[HAND[0]], atol=1e-4)
    assert max(player.unevenness_m) < 1e-4
    assert max(player.lean_rad) < np.radians(0.1)


def test_an_empty_jaw_shuts_and_no_pad_feels_anything() -> None:
    player = Player(world_at(HOME[:-1], 0.3))
    player.move(HOME[:-1], 0.0)
    player.hold(0.3)
    assert abs(float(player.data.joint(JAW).qpos[0])) < 2e-3
    assert np.max(player.forces_n) == 0


def test_it_closes_from_60_mm_onto_a_cube_of_40_mm_within_a_fifth_of_a_second() -> None:
    player = Player(world_at(AT_CUBE, float(UR5E.jaw_law.angle_rad(0.06))))
    player.move(AT_CUBE, SHUT_RAD)
    both = np.min(player.forces_n, axis=1) > 1.0
    assert (np.argmax(both) + 1) * UR5E.dt_s <= 0.2
    assert both[-1]


def test_it_lifts_a_cube_carries_it_aside_and_it_stays_where_it_was_gripped() -> None:
    player = Player(world_at(AT_CUBE, 0.55))
    player.move(AT_CUBE, SHUT_RAD)
    player.hold(0.15)
    gripped = len(player.forces_n)
    duration_s = player.move(LIFTED, SHUT_RAD) + player.move(ASIDE, SHUT_RAD)
    player.hold(2.0 - duration_s)
    assert duration_s < 2.0
    assert player.data.body("cube").xpos[2] > 0.15
    forces = np.array(player.forces_n[gripped:])
    assert ((forces > 40) & (forces < 60)).all()
    held = np.array(player.cube_in_tool_m[gripped - 1 :])
    assert np.linalg.norm(held[-1] - held[0]) < 0.5e-3
    assert max(player.unevenness_m[gripped:]) < 0.1e-3
    assert max(player.lean_rad[gripped:]) < np.radians(0.5)
