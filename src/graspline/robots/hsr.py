"""A robot of the HSR's class: its limits, servos and masses, and its model in `MjSpec`.

Geometry is the maker's public description, in `hsr_chain`; shapes are our own. The wheels are not modelled: the base
slides and turns as commanded, in the odometry frame, which is a body of its own. That body has joints no servo
moves and no reading shows, so that wheels can slip: the robot then is elsewhere than it believes.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import mujoco
import numpy as np

from graspline.robots.gripper_2f85 import Mass
from graspline.robots.hsr_chain import (
    CHAIN,
    HAND,
    HAND_CAMERA,
    HAND_CAMERA_M,
    HEAD_CAMERA,
    HEAD_CAMERA_M,
    JOINTS,
    LOWER,
    PALM_M,
    R_TILT_CAMERA,
    R_WRIST_CAMERA,
    SHUT_RAD,
    TORSO,
    TORSO_FOLLOWS,
    TORSO_JOINT,
    UPPER,
    VELOCITY,
    Joint,
)
from graspline.robots.hsr_hand import PADS, PALM, WRIST_SITE, add_gear, add_hand, hand, jaw_law
from graspline.robots.hsr_look import COLOURS, add_look
from graspline.robots.robot import JointLimits, Robot, Servo
from graspline.robots.wiring import add_readings, add_servos, add_wrist_readings
from graspline.spatial.rotations import quaternion_from_matrix

ODOMETRY = "odometry"
# How the odometry frame lies in the world; equalities of the same names hold them.
SLIPS = ("slip_x", "slip_y", "slip_turn")
# The body that each joint moves. The first three move the base together.
BODY_OF = {
    "base_x": "base",
    "base_y": "base",
    "base_turn": "base",
    TORSO: "torso",
    "head_pan": "neck",
    "head_tilt": "head",
    "arm_lift": "shoulder",
    "arm_flex": "upper_arm",
    "arm_roll": "forearm",
    "wrist_flex": "wrist",
    "wrist_roll": "flange",
}
# The maker's masses and centres, moments as of tubes and boxes of their size. The base, published as 60 kg in all, has
# what the real robot's 37 kg leave for it; the last wrist link's mass is divided between it and the palm.
MASSES = {
    "base": Mass(kg=26.4, com_m=(-0.026, -0.005, 0.176), inertia=(0.62, 0.62, 0.55)),
    "torso": Mass(kg=3.42, com_m=(-0.051, 0.003, -0.29), inertia=(0.075, 0.075, 0.014)),
    "neck": Mass(kg=0.572, com_m=(0, 0, 0), inertia=(6e-4, 6e-4, 7e-4)),
    "head": Mass(kg=2.12, com_m=(-0.055, -0.002, 0.118), inertia=(0.018, 0.017, 0.015)),
    "shoulder": Mass(kg=1.276, com_m=(0.052, 0.042, -0.064), inertia=(0.004, 0.005, 0.004)),
    "upper_arm": Mass(kg=1.339, com_m=(0, 0.007, 0.106), inertia=(0.008, 0.008, 0.002)),
    "forearm": Mass(kg=0.248, com_m=(0, 0, -0.05), inertia=(5e-4, 5e-4, 3e-4)),
    "wrist": Mass(kg=0.681, com_m=(0, 0, 0.015), inertia=(0.001, 0.0009, 0.001)),
    "flange": Mass(kg=0.25, com_m=(0, 0, 0.04), inertia=(2e-4, 2e-4, 2e-4)),
}
# Motors and gears, kg or kg m²; wrists have most of their inertia from them, and stay calm on it.
ARMATURES: dict[str, float] = dict(zip(JOINTS[:-1], (6.0, 6.0, 0.3, 6.0, 0.3, 0.1, 0.1, 0.05, 0.05, 0.05), strict=True))

# Forces are the maker's; the base's is what both drive wheels give together. Gains are ours. Measured on 40 moves
# between random postures up to 3 m apart, all joints at once and as fast as the limits let them, worst of all: the tool
# within 0.8 mm of where it should be, 0.2 mm at the end, 0.03 mm 0.1 s later, at 14 % of the force. Half a kilogramme
# on the arm stretched forward makes it sag by 0.45 mm.
# The jaw's full torque is 46 N on each pad when shut, 54 N at 80 mm. With it things from 30 to 80 mm wide and up to
# 0.7 kg creep by 0.5 mm in 18 s of lifting, driving at 2.5 m/s² and turning.
SERVO = Servo(
    kp=np.array([120e3, 120e3, 8e3, 40e3, 8e3, 2000.0, 2000.0, 1000.0, 600.0, 600.0, 100.0]),
    kv=np.array([4000.0, 4000.0, 250.0, 1200.0, 120.0, 30.0, 30.0, 14.0, 12.0, 14.0, 4.0]),
    damping=np.zeros(11),
    force=np.array([550.0, 550.0, 34.46, 300.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 6.4]),
    smoothing_s=0.01,
    led_by_acceleration=True,
)

# The odometry frame weighs nothing that is felt. With this inertia (kg, kg m²) and time constant nothing the robot
# does moves it by more than 0.1 mm, and it follows a target that jumps by 20 mm with 8 m/s² at most, within 0.3 s.
SLIP_INERTIA = (1000.0, 1000.0, 200.0)
SLIP_SOLREF = (0.05, 1.0)
SLIP_SOLIMP = (0.9999, 0.9999, 0.001, 0.5, 2.0)

# The arm is raised, the hand beside it points to the left, out of the head's view, and is 60 mm open; the head looks
# down at what is in front.
HOME = np.array([0.0, 0.0, 0.0, 0.30, -0.10, np.pi / 2, -np.pi / 2, 0.0, 0.0, -0.4, float(jaw_law().angle_rad(0.06))])


def add_hsr(spec: mujoco.MjSpec) -> None:
    """Author the robot into `spec`, standing on z = 0 at the origin and looking along +x."""
    odometry = _add_odometry(spec)
    bodies = {"base": odometry.add_body(name="base")}
    MASSES["base"].give_to(bodies["base"])
    links = {None: odometry, "base_x": bodies["base"], "base_y": bodies["base"], "base_turn": bodies["base"]}
    at_home = dict(zip(JOINTS, HOME, strict=True)) | {TORSO: TORSO_FOLLOWS * HOME[JOINTS.index("arm_lift")]}
    for joint in (*CHAIN[:3], TORSO_JOINT, *CHAIN[3:-1]):
        if joint.name not in links:
            links[joint.name] = bodies[BODY_OF[joint.name]] = _add_link(links[joint.parent], joint, at_home[joint.name])
        _add_joint(links[joint.name], joint, at_home[joint.name])
    bodies |= add_hand(spec, bodies["flange"], jaw_rad=float(HOME[-1]))
    _add_collision(spec, bodies)
    add_look(spec, bodies)
    _add_cameras(bodies)
    add_gear(spec, TORSO, "arm_lift", TORSO_FOLLOWS)
    add_servos(spec, JOINTS, SERVO)
    pads = {pad.removesuffix("_pad"): (mujoco.mjtObj.mjOBJ_GEOM, pad) for pad in PADS}
    add_readings(spec, JOINTS, pads, relative_to=ODOMETRY)
    add_wrist_readings(spec, WRIST_SITE)


def _add_odometry(spec: mujoco.MjSpec) -> mujoco.MjsBody:
    """The frame that the base's joints are measured in, held where its equalities say."""
    odometry = spec.worldbody.add_body(name=ODOMETRY)
    Mass(kg=0.1, com_m=(0, 0, 0), inertia=(1e-3, 1e-3, 1e-3)).give_to(odometry)
    for name, base, inertia in zip(SLIPS, CHAIN[:3], SLIP_INERTIA, strict=True):
        odometry.add_joint(name=name, type=_KINDS[base.kind], axis=base.axis, armature=inertia)
        spec.add_equality(
            name=name,
            type=mujoco.mjtEq.mjEQ_JOINT,
            objtype=mujoco.mjtObj.mjOBJ_JOINT,
            name1=name,
            data=(0,) * mujoco.mjNEQDATA,
            solref=SLIP_SOLREF,
            solimp=SLIP_SOLIMP,
        )
    return odometry


def _add_link(parent: mujoco.MjsBody, joint: Joint, at_home: float) -> mujoco.MjsBody:
    """The body that a joint moves, where it is at home: the model's own coordinates are home."""
    axis, half = np.array(joint.axis), at_home / 2
    if joint.kind == "slide":
        body = parent.add_body(name=BODY_OF[joint.name], pos=np.array(joint.origin_m) + at_home * axis)
    else:
        quat = np.array([np.cos(half), *np.sin(half) * axis])
        body = parent.add_body(name=BODY_OF[joint.name], pos=joint.origin_m, quat=quat)
    MASSES[BODY_OF[joint.name]].give_to(body)
    return body


def _add_joint(body: mujoco.MjsBody, joint: Joint, at_home: float) -> None:
    body.add_joint(
        name=joint.name,
        type=_KINDS[joint.kind],
        axis=joint.axis,
        ref=at_home,
        range=(joint.lower, joint.upper),
        # The torso stops where the lift does.
        limited=mujoco.mjtLimited.mjLIMITED_FALSE if joint.name == TORSO else mujoco.mjtLimited.mjLIMITED_TRUE,
        armature=ARMATURES.get(joint.name, 0.0),
    )


_KINDS = {"slide": mujoco.mjtJoint.mjJNT_SLIDE, "hinge": mujoco.mjtJoint.mjJNT_HINGE}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundCollider:
    """Something round that touches: the ends of its middle line and its radius, mm in the link's frame."""

    body: str
    name: str
    start: tuple[float, float, float]
    end: tuple[float, float, float]
    radius: float
    kind: mujoco.mjtGeom = mujoco.mjtGeom.mjGEOM_CYLINDER


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxCollider:
    """Something square that touches, from corner to corner, mm in the link's frame."""

    body: str
    name: str
    low: tuple[float, float, float]
    high: tuple[float, float, float]


_CAPSULE = mujoco.mjtGeom.mjGEOM_CAPSULE
# The base hangs above the floor, which its wheels, that are not there, would touch.
PARTS = (
    RoundCollider(body="base", name="base_bumper", start=(0, 0, 30), end=(0, 0, 150), radius=215),
    RoundCollider(body="base", name="base_deck", start=(0, 0, 150), end=(0, 0, 268), radius=182),
    RoundCollider(body="neck", name="neck_post", start=(0, 0, -25), end=(0, 0, 30), radius=48),
    RoundCollider(body="shoulder", name="shoulder_barrel", start=(141, 8, 0), end=(141, 46, 0), radius=50),
    RoundCollider(body="upper_arm", name="upper_arm_hub", start=(0, -30, 0), end=(0, 34, 0), radius=50),
    RoundCollider(body="upper_arm", name="upper_arm_tube", start=(2, 0, 40), end=(5, 0, 185), radius=42, kind=_CAPSULE),
    RoundCollider(body="forearm", name="forearm_drum", start=(0, 0, -118), end=(0, 0, -10), radius=43),
    RoundCollider(body="wrist", name="wrist_barrel", start=(0, -43, 0), end=(0, 43, 0), radius=40),
    RoundCollider(body="flange", name="flange_drum", start=(0, 0, 30), end=(0, 0, 76), radius=37),
)
BLOCKS = (
    BoxCollider(body="base", name="base_column", low=(-165, -105, 268), high=(12, 105, 665)),
    BoxCollider(body="torso", name="torso_mast", low=(-60, -52, -470), high=(46, 52, -140)),
    BoxCollider(body="torso", name="torso_chest", low=(-168, -108, -140), high=(52, 108, -22)),
    # The face leans back.
    BoxCollider(body="head", name="head_chin", low=(-140, -108, -34), high=(46, 108, 60)),
    BoxCollider(body="head", name="head_face", low=(-140, -108, 60), high=(26, 108, 118)),
    BoxCollider(body="head", name="head_brow", low=(-140, -108, 118), high=(-10, 108, 193)),
    BoxCollider(body="head", name="head_crest", low=(-128, -95, 192), high=(-78, 95, 252)),
    BoxCollider(body="shoulder", name="shoulder_carriage", low=(48, -46, -90), high=(100, 52, 15)),
    BoxCollider(body="shoulder", name="shoulder_bracket", low=(100, 8, -52), high=(141, 46, 52)),
)
# Siblings and second neighbours that pass each other closely, or are built into each other.
APART = (("torso", "shoulder"), ("torso", "head"), ("base", "head"), ("forearm", "flange"))


def _add_collision(spec: mujoco.MjSpec, bodies: dict[str, mujoco.MjsBody]) -> None:
    """What touches things, but for the hand's, in group 3 (hidden)."""
    for part in PARTS:
        bodies[part.body].add_geom(
            name=part.name,
            type=part.kind,
            fromto=np.array([*part.start, *part.end]) * 1e-3,
            size=(part.radius * 1e-3, 0, 0),
            group=3,
            mass=0,
        )
    for block in BLOCKS:
        low, high = np.array(block.low) * 1e-3, np.array(block.high) * 1e-3
        bodies[block.body].add_geom(
            name=block.name,
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=(low + high) / 2,
            size=(high - low) / 2,
            group=3,
            mass=0,
        )
    for first, second in APART:
        spec.add_exclude(bodyname1=first, bodyname2=second)


def _add_cameras(bodies: dict[str, mujoco.MjsBody]) -> None:
    bodies["head"].add_camera(
        name=HEAD_CAMERA,
        pos=HEAD_CAMERA_M,
        quat=quaternion_from_matrix(R_TILT_CAMERA),
        # 58° across at 4:3.
        fovy=float(np.degrees(2 * np.arctan(np.tan(np.radians(58.0) / 2) * 3 / 4))),
    )
    bodies[PALM].add_camera(
        name=HAND_CAMERA, pos=HAND_CAMERA_M - np.array(PALM_M), quat=quaternion_from_matrix(R_WRIST_CAMERA), fovy=75.0
    )


@functools.cache
def hsr(base_acceleration_m_s2: float = 0.8) -> Robot:
    """The robot whose paths speed its base up by no more than this; what it carries feels it."""
    lower = LOWER.copy()
    # Below, fingers would cross.
    lower[-1] = SHUT_RAD
    velocity = VELOCITY.copy()
    # Comfortable beside people; wheels can do more.
    velocity[:3] = 0.6, 0.6, 1.2
    base = base_acceleration_m_s2
    return Robot(
        name="hsr",
        joints=JOINTS,
        jaw=JOINTS.index(HAND),
        limits=JointLimits(
            lower=lower,
            upper=UPPER,
            velocity=velocity,
            acceleration=np.array([base, base, 2.5 * base, 0.8, 4.0, 8.0, 8.0, 8.0, 4.0, 4.0, 30.0]),
            jerk=np.array([6 * base, 6 * base, 15 * base, 8.0, 40.0, 80.0, 80.0, 80.0, 40.0, 40.0, 900.0]),
        ),
        servo=SERVO,
        home=HOME,
        # Of what slides, a metre is a metre. The arm stretched out; the hand bent aside; about its own axis the hand
        # fully open; the head looking down; a finger.
        levers_m=np.array([1.0, 1.0, 0.80, 1.0, 0.63, 0.29, 0.29, 0.14, 0.30, 0.30, 0.13]),
        jaw_law=jaw_law(),
        hand=hand(),
        control_hz=120,
        substeps=4,
        cameras=(HEAD_CAMERA, HAND_CAMERA),
        pads=PADS,
        paints=tuple(COLOURS),
        add_to=add_hsr,
        closed_form="graspline.kinematics.hsr",
        slides=("base_x", "base_y", "arm_lift"),
        seen_from_m=(2.5, -2.6, 2.0),
        seen_at_m=(0.40, 0.42, 0.55),
        base_joints=JOINTS[:3],
        slip_joints=SLIPS,
    )


HSR = hsr()
