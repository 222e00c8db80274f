"""The UR5e with a Robotiq 2F-85: its kinematic constants, limits, servos, and its model in `MjSpec`.

Figures come from the maker's public description (Universal_Robots_ROS2_Description). Links keep the frames of that
description, each turning about its own z; the base is turned by half a turn, as ROS does it, so that the arm looks
along +x. At pan 0, lift -π/2, elbow π/2, wrists -π/2, -π/2, 0 it reaches forward and the tool points straight down.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from graspline.robots.gripper_2f85 import JAW, OPEN_RAD, PADS, Mass, add_2f85, hand, jaw_law
from graspline.robots.robot import JointLimits, Robot, Servo
from graspline.robots.ur5e_look import CAMERA_MM, CAMERA_TILT_RAD, COLOURS, add_look
from graspline.robots.wiring import add_readings, add_servos
from graspline.spatial.rotations import from_rpy, quaternion_from_matrix

ARM_JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
JOINTS = (*ARM_JOINTS, JAW)

# Denavit and Hartenberg's parameters, one entry a joint: along the last z, and along the new x.
DH_D_M = np.array([0.1625, 0.0, 0.0, 0.1333, 0.0997, 0.0996])
DH_A_M = np.array([0.0, -0.425, -0.3922, 0.0, 0.0, 0.0])
# What stands on a table: from x, to x, half its width.
BASE_FOOTPRINT_M = (-0.0745, 0.0745, 0.0745)
# How the base of the parameters stands in ours, about z.
BASE_TURN_RAD = np.pi

LOWER = np.array([-2 * np.pi, -2 * np.pi, -np.pi, -2 * np.pi, -2 * np.pi, -2 * np.pi, 0.0])
UPPER = np.array([2 * np.pi, 2 * np.pi, np.pi, 2 * np.pi, 2 * np.pi, 2 * np.pi, OPEN_RAD])


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One link of the published chain: how it sits in its parent at q = 0, and what it weighs."""

    body: str
    origin_m: tuple[float, float, float]
    rpy_rad: tuple[float, float, float]
    mass: Mass


CHAIN = (
    Link(
        body="shoulder",
        origin_m=(0, 0, 0.1625),
        rpy_rad=(0, 0, BASE_TURN_RAD),
        mass=Mass(kg=3.761, com_m=(0, -0.00193, -0.02561), inertia=(0.01027, 0.01027, 0.00666)),
    ),
    Link(
        body="upper_arm",
        origin_m=(0, 0, 0),
        rpy_rad=(np.pi / 2, 0, 0),
        mass=Mass(kg=8.058, com_m=(-0.2125, 0, 0.11336), inertia=(0.0151, 0.1339, 0.1339)),
    ),
    Link(
        body="forearm",
        origin_m=(-0.425, 0, 0),
        rpy_rad=(0, 0, 0),
        mass=Mass(kg=2.846, com_m=(-0.2422, 0, 0.0265), inertia=(0.0041, 0.0312, 0.0312)),
    ),
    Link(
        body="wrist_1_link",
        origin_m=(-0.3922, 0, 0.1333),
        rpy_rad=(0, 0, 0),
        mass=Mass(kg=1.37, com_m=(0, -0.01634, -0.0018), inertia=(0.00256, 0.00256, 0.00219)),
    ),
    Link(
        body="wrist_2_link",
        origin_m=(0, -0.0997, 0),
        rpy_rad=(np.pi / 2, 0, 0),
        mass=Mass(kg=1.30, com_m=(0, 0.01634, -0.0018), inertia=(0.00256, 0.00256, 0.00219)),
    ),
    Link(
        body="wrist_3_link",
        origin_m=(0, 0.0996, 0),
        rpy_rad=(-np.pi / 2, 0, 0),
        mass=Mass(kg=0.365, com_m=(0, 0, -0.001159), inertia=(9.9e-5, 9.9e-5, 1.32e-4)),
    ),
)
BASE_MASS = Mass(kg=4.0, com_m=(0, 0, 0.05), inertia=(0.012, 0.012, 0.011))
# The hand on the flange, whose z points out: x is the approach, z the opening direction.
R_FLANGE_HAND = np.array([[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])

# Torques are the maker's. Gains are ours: public models' kp 2000 and kv 400 (wrists 500 and 100) trail by 25 mm and are
# still 12 mm off 50 ms after a move. Measured on 40 moves between tool-down poses 0.34 to 0.68 m away, worst of all:
# at 3 rad/s, 15 rad/s², 600 rad/s³ joints stay within 2.4 mrad, the tool within 2.4 mm, 0.2 mm 50 ms after the end, at
# 69 % of the torque; at 3.14, 40, 1600 within 17 mrad, 12 mm and 2.2 mm, and on the widest moves the shoulder asks for
# all its torque (85 % in `sort`). More kv would damp better, but implicit damping is not seen by contacts: what is held
# then slips.
# The jaw's full torque is 45 N on each pad.
SERVO = Servo(
    kp=np.array([40000.0, 40000.0, 30000.0, 4000.0, 4000.0, 4000.0, 100.0]),
    kv=np.array([240.0, 240.0, 180.0, 24.0, 24.0, 24.0, 4.0]),
    damping=np.zeros(7),
    force=np.array([150.0, 150.0, 150.0, 28.0, 28.0, 28.0, 5.0]),
    smoothing_s=0.01,
    led_by_acceleration=True,
)
# As in public models. Wrists keep it, too: it is most of their inertia, and what their stiff servos stay calm on.
ARMATURE = 0.1

# The tool points straight down at (0.5, 0, 0.5) and opens along the world's y; the jaw is 61 mm open. Solved
# numerically, to rounding.
HOME = np.array([-0.26986363, -1.51753471, 1.10678923, -1.16005085, -np.pi / 2, -0.26986363, 0.55])


def add_ur5e(spec: mujoco.MjSpec) -> None:
    """Author arm and gripper into `spec`, standing on z = 0 at the origin and looking along +x."""
    base = spec.worldbody.add_body(name="base")
    BASE_MASS.give_to(base)
    bodies = {"base": base}
    parent = base
    for index, link in enumerate(CHAIN):
        body = parent.add_body(name=link.body, pos=link.origin_m, quat=quaternion_from_matrix(from_rpy(*link.rpy_rad)))
        link.mass.give_to(body)
        body.add_joint(
            name=ARM_JOINTS[index],
            type=mujoco.mjtJoint.mjJNT_HINGE,
            axis=(0, 0, 1),
            range=(LOWER[index], UPPER[index]),
            limited=mujoco.mjtLimited.mjLIMITED_TRUE,
            armature=ARMATURE,
        )
        bodies[link.body] = parent = body
    bodies |= add_2f85(spec, parent, quaternion_from_matrix(R_FLANGE_HAND), jaw_rad=float(HOME[-1]))
    _add_collision(bodies)
    add_look(spec, bodies)
    _add_cameras(bodies)
    add_servos(spec, JOINTS, SERVO)
    # The rubber alone; its holder shares the body.
    pads = {pad.removesuffix("_pad"): (mujoco.mjtObj.mjOBJ_GEOM, pad) for pad in PADS}
    add_readings(spec, JOINTS, pads)
    # To MuJoCo, what stands still is no body's parent.
    spec.add_exclude(bodyname1="base", bodyname2="shoulder")


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What touches of a tube or a barrel: the ends of its middle line and its radius, mm in the link's frame."""

    body: str
    name: str
    start: tuple[float, float, float]
    end: tuple[float, float, float]
    radius: float
    kind: mujoco.mjtGeom = mujoco.mjtGeom.mjGEOM_CYLINDER


_CAPSULE = mujoco.mjtGeom.mjGEOM_CAPSULE
ROUNDS = (
    Round(body="base", name="base_foot", start=(0, 0, 0), end=(0, 0, 98), radius=74.5),
    Round(body="shoulder", name="shoulder_post", start=(0, 0, -65), end=(0, 0, 10), radius=63),
    Round(body="shoulder", name="shoulder_barrel", start=(0, -70, 0), end=(0, 66, 0), radius=60),
    Round(body="upper_arm", name="upper_arm_barrel", start=(0, 0, 70), end=(0, 0, 202), radius=60),
    Round(body="upper_arm", name="upper_arm_tube", start=(-40, 0, 138), end=(-385, 0, 138), radius=54, kind=_CAPSULE),
    Round(body="upper_arm", name="elbow_barrel", start=(-425, 0, 66), end=(-425, 0, 201), radius=57),
    Round(body="forearm", name="forearm_barrel", start=(0, 0, -54), end=(0, 0, 66), radius=57),
    Round(body="forearm", name="forearm_tube", start=(-40, 0, 7), end=(-365, 0, 7), radius=42, kind=_CAPSULE),
    Round(body="forearm", name="forearm_end", start=(-392.2, 0, -49), end=(-392.2, 0, 60), radius=44),
    Round(body="wrist_1_link", name="wrist_1_barrel", start=(0, 0, -73), end=(0, 0, 53), radius=45),
    Round(body="wrist_1_link", name="wrist_1_stub", start=(0, 0, 0), end=(0, -56, 0), radius=44),
    Round(body="wrist_2_link", name="wrist_2_barrel", start=(0, 0, -43), end=(0, 0, 53), radius=45),
    Round(body="wrist_2_link", name="wrist_2_stub", start=(0, 0, 0), end=(0, 59, 0), radius=44),
    Round(body="wrist_3_link", name="wrist_3_barrel", start=(0, 0, -40), end=(0, 0, 0), radius=37.5),
    # From the palm to the lens.
    Round(body="hand", name="camera_mount", start=(24, 34, 0), end=(19, 66, 0), radius=14, kind=_CAPSULE),
)


def _add_collision(bodies: dict[str, mujoco.MjsBody]) -> None:
    """What touches things of the arm, in group 3 (hidden)."""
    for part in ROUNDS:
        bodies[part.body].add_geom(
            name=part.name,
            type=part.kind,
            fromto=np.array([*part.start, *part.end]) * 1e-3,
            size=(part.radius * 1e-3, 0, 0),
            group=3,
            mass=0,
        )


def _add_cameras(bodies: dict[str, mujoco.MjsBody]) -> None:
    """The wrist camera looks past the fingers, one on either side of the picture, at what lies below them."""
    sine, cosine = np.sin(CAMERA_TILT_RAD), np.cos(CAMERA_TILT_RAD)
    bodies["hand"].add_camera(
        name="wrist",
        pos=np.array(CAMERA_MM) * 1e-3,
        xyaxes=(0, 0, 1, sine, cosine, 0),
        # 1.05 rad across at 4:3.
        fovy=np.degrees(2 * np.arctan(np.tan(1.05 / 2) * 3 / 4)),
    )


UR5E = Robot(
    name="ur5e",
    joints=JOINTS,
    jaw=6,
    limits=JointLimits(
        lower=LOWER,
        upper=UPPER,
        # The gap then changes by up to 150 mm/s, as that of the real one does.
        velocity=np.array([3.0] * 6 + [1.35]),
        acceleration=np.array([15.0] * 6 + [50.0]),
        jerk=np.array([150.0] * 6 + [1500.0]),
    ),
    servo=SERVO,
    home=HOME,
    down=HOME,
    # The arm stretched out; about its own axis the hand with its camera, and the jaw.
    levers_m=np.array([1.15, 1.15, 0.72, 0.32, 0.28, 0.10, 0.11]),
    jaw_law=jaw_law(),
    control_hz=120,
    substeps=4,
    cameras=("wrist",),
    pads=PADS,
    paints=tuple(COLOURS),
    add_to=add_ur5e,
    hand=hand(),
    closed_form="graspline.kinematics.ur5e:ARM",
    footprint_m=BASE_FOOTPRINT_M,
    seen_from_m=(1.9, -1.5, 1.35),
    seen_at_m=(0.25, 0.0, 0.15),
)
