"""The SO-101 follower arm: its kinematic constants, limits, servos, and its model in `MjSpec`.

Figures come from the maker's public URDF (TheRobotStudio/SO-ARM100, so101_new_calib) and measurements of its
published parts. The chain is authored in frames that are aligned with the world at q = 0 (x forward, z up), in which
the arm is planar; that agrees with the published chain to 0.4 mm. In the gripper frame x is the approach direction and
z the opening direction, from the fixed jaw to the moving one.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.robots.hand import Hand
from graspline.robots.robot import JawLaw, JointLimits, Robot, Servo
from graspline.robots.so101_look import CAMERA_MM, CAMERA_TILT_RAD, COLOURS, HOUSING_MM, add_look
from graspline.robots.wiring import add_readings, add_servos
from graspline.spatial.rotations import from_rpy, multiply, rotate, rotation_x, transpose

Array = NDArray[np.float64]

ARM_JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll")
JOINTS = (*ARM_JOINTS, "gripper")

# Wrist roll at q = 0 is turned by this much about the approach axis.
ROLL_OFFSET_RAD = 0.0486795
# Where each joint sits in its parent's frame, and its axis there (frames aligned with the world at q = 0).
OFFSETS_M = {
    "shoulder": (0.0388353, 0.0, 0.0624),
    "upper_arm": (0.0303992, 0.0, 0.0542),
    "lower_arm": (0.028, 0.0, 0.11257),
    "wrist": (0.1349, 0.0, 0.0052),
    "gripper": (0.0611, 0.0, 0.0),
    "moving_jaw": (0.0234, 0.0, 0.0202),
}
AXES = {
    "shoulder": (0, 0, -1),
    "upper_arm": (0, 1, 0),
    "lower_arm": (0, 1, 0),
    "wrist": (0, 1, 0),
    "gripper": (-1, 0, 0),
    "moving_jaw": (0, -1, 0),
}
# Tip of the fixed jaw in the gripper frame: the maker's tool centre point.
FIXED_TIP_M = (0.0981274, 0.0, -0.0079)

LOWER = np.array([-1.91986, -1.74533, -1.69, -1.65806, -2.74385, -0.174533])
UPPER = np.array([1.91986, 1.74533, 1.69, 1.65806, 2.84121, 1.74533])


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedJoint:
    """One joint of the maker's URDF with the mass properties of its child link, in the link's own frame."""

    body: str
    origin_m: tuple[float, float, float]
    rpy_rad: tuple[float, float, float]
    mass_kg: float
    com_m: tuple[float, float, float]
    # Ixx Iyy Izz Ixy Ixz Iyz about the centre of mass, in 1e-6 kg m².
    inertia: tuple[float, float, float, float, float, float]


PUBLISHED_CHAIN = (
    PublishedJoint(
        body="shoulder",
        origin_m=(0.0388353, 0, 0.0624),
        rpy_rad=(np.pi, 0, -np.pi),
        mass_kg=0.100006,
        com_m=(-0.030760, -0.000017, -0.025271),
        inertia=(83.759, 81.040, 23.978, 0.076, -1.163, 0.155),
    ),
    PublishedJoint(
        body="upper_arm",
        origin_m=(-0.0303992, -0.0182778, -0.0542),
        rpy_rad=(-np.pi / 2, -np.pi / 2, 0),
        mass_kg=0.103,
        com_m=(-0.089847, -0.008382, 0.018409),
        inertia=(40.800, 147.318, 142.487, -19.782, -0.040, 0.009),
    ),
    PublishedJoint(
        body="lower_arm",
        origin_m=(-0.11257, -0.028, 0),
        rpy_rad=(0, 0, np.pi / 2),
        mass_kg=0.104,
        com_m=(-0.098070, 0.003244, 0.018283),
        inertia=(28.744, 159.844, 145.290, 7.412, 1.264, -0.049),
    ),
    PublishedJoint(
        body="wrist",
        origin_m=(-0.1349, 0.0052, 0),
        rpy_rad=(0, 0, -np.pi / 2),
        mass_kg=0.079,
        com_m=(-0.000103, -0.038614, 0.028116),
        inertia=(36.826, 25.391, 21.000, 0.018, -0.053, 3.641),
    ),
    PublishedJoint(
        body="gripper",
        origin_m=(0, -0.0611, 0.0181),
        rpy_rad=(np.pi / 2, ROLL_OFFSET_RAD, np.pi),
        mass_kg=0.087,
        com_m=(0.000214, 0.000245, -0.025187),
        inertia=(27.509, 43.366, 34.506, -0.335, -5.735, -0.052),
    ),
    PublishedJoint(
        body="moving_jaw",
        origin_m=(0.0202, 0.0188, -0.0234),
        rpy_rad=(np.pi / 2, 0, 0),
        mass_kg=0.012,
        com_m=(-0.001575, -0.030024, 0.019276),
        inertia=(6.614, 1.890, 5.287, -0.320, -0.006, -0.110),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FingerStep:
    """One box of a finger's stepped inner face, mm: along it from `near` to `far`, across from `inner` to `outer`."""

    near: float
    far: float
    inner: float
    outer: float
    half_width: float


# Measured on the published parts. Along the approach axis from the gripper frame, across in opening direction.
FIXED_FINGER = (
    FingerStep(near=95.0, far=104.4, inner=-7.9, outer=-14.6, half_width=4.2),
    FingerStep(near=83.0, far=95.0, inner=-9.9, outer=-18.9, half_width=6.8),
    FingerStep(near=65.0, far=83.0, inner=-11.6, outer=-24.3, half_width=8.0),
    FingerStep(near=44.0, far=65.0, inner=-13.3, outer=-31.0, half_width=9.9),
)
# Along the finger from the jaw's pivot, at jaw angle 0.
MOVING_FINGER = (
    FingerStep(near=73.0, far=82.0, inner=-12.3, outer=-5.4, half_width=4.0),
    FingerStep(near=61.0, far=73.0, inner=-10.3, outer=0.6, half_width=6.6),
    FingerStep(near=22.0, far=61.0, inner=-8.3, outer=5.5, half_width=8.9),
)

# Servo figures of the public MuJoCo model of the STS3215 at 12 V; the jaw's are softer and torque-limited so that
# a squeeze of a few hundredths of a radian past contact gives about 14 N per pad.
SERVO = Servo(
    kp=np.array([998.22] * 5 + [60.0]),
    kv=np.array([2.731] * 5 + [1.0]),
    damping=np.array([0.60] * 6),
    force=np.array([2.94] * 5 + [1.0]),
    smoothing_s=0.02,
)
FRICTIONLOSS_NM = 0.052
ARMATURE = 0.028
PAD_FRICTION = (1.0, 0.01, 0.0002)
# With MuJoCo's default softness an object creeps to the jaw tips under load; see docs/physics.md.
PAD_SOLREF = (0.005, 1.0)
PAD_SOLIMP = (0.95, 0.99, 0.001, 0.5, 2.0)


# The geom of the wrist camera's housing, and how much farther than the rest of the hand plans keep it from everything:
# what is in front of a lens is to be seen, and a mount is never quite where the model has it.
CAMERA_HOUSING = "camera_housing"
CAMERA_KEEPS_M = 0.004

# x from, x to, half width of what stands on the table.
BASE_FOOTPRINT_M = (-0.055, 0.070, 0.050)
TIP_M = FIXED_FINGER[0].far * 1e-3
FIXED_FACE_M = FIXED_FINGER[0].inner * 1e-3


def moving_finger_m(jaw_rad: float | Array) -> tuple[Array, Array]:
    """Corners of the moving finger's inner face, (..., 2 per step), in the gripper frame: along and across."""
    along = np.array([edge for step in MOVING_FINGER for edge in (step.far, step.near)]) * 1e-3
    across = np.repeat([step.inner for step in MOVING_FINGER], 2) * 1e-3
    angle = np.asarray(jaw_rad, float)[..., None]
    pivot_along, _, pivot_across = OFFSETS_M["moving_jaw"]
    sine, cosine = np.sin(angle), np.cos(angle)
    return pivot_along + along * cosine - across * sine, pivot_across + along * sine + across * cosine


def tip_gap_m(jaw_rad: float | Array) -> Array:
    """Distance across, in opening direction, from the fixed finger's tip face to the moving finger's tip step."""
    return moving_finger_m(jaw_rad)[1][..., :2].min(axis=-1) - FIXED_FACE_M


def _jaw_law() -> JawLaw:
    # In steps of 5 mrad, over the whole range.
    angles = np.concatenate([np.linspace(LOWER[-1], 1.2, 276), np.linspace(1.2, UPPER[-1], 110)[1:]])
    gaps = tip_gap_m(angles)
    # In the last half degree the tip swings back from its widest place by 2 µm; the law ends there.
    widest = int(np.argmax(gaps)) + 1
    angles, gaps = angles[:widest], gaps[:widest]
    # The tool is the fixed fingertip, and the jaw opens along its z.
    middles = np.stack([np.zeros_like(gaps), np.zeros_like(gaps), gaps / 2], axis=-1)
    return JawLaw(angles_rad=angles, gaps_m=gaps, middles_m=middles)


def link_frames() -> dict[str, tuple[Array, Array]]:
    """Pose (rotation, position) of each published link at q = 0 in the frame we author that body in."""
    frames = {}
    R_WP, p_WP = np.eye(3), np.zeros(3)
    R_WB, p_WB = np.eye(3), np.zeros(3)
    for joint in PUBLISHED_CHAIN:
        p_WP = p_WP + rotate(R_WP, np.array(joint.origin_m, float))
        R_WP = multiply(R_WP, from_rpy(*joint.rpy_rad))
        p_WB = p_WB + rotate(R_WB, np.array(OFFSETS_M[joint.body]))
        if joint.body == "gripper":
            R_WB = rotation_x(ROLL_OFFSET_RAD)
        frames[joint.body] = multiply(transpose(R_WB), R_WP), rotate(transpose(R_WB), p_WP - p_WB)
    return frames


def add_so101(spec: mujoco.MjSpec) -> None:
    """Author the arm into `spec`, standing on z = 0 at the origin and looking along +x."""
    base = spec.worldbody.add_body(name="base")
    base.mass, base.ipos, base.inertia = 0.147, (0.0137, 0, 0.0335), (1.15e-4, 1.36e-4, 1.30e-4)
    base.explicitinertial = True
    bodies = {"base": base}
    frames = link_frames()
    parent = base
    for index, joint in enumerate(PUBLISHED_CHAIN):
        body = parent.add_body(name=joint.body, pos=OFFSETS_M[joint.body])
        if joint.body == "gripper":
            body.quat = (np.cos(ROLL_OFFSET_RAD / 2), np.sin(ROLL_OFFSET_RAD / 2), 0, 0)
        _set_mass(body, joint, *frames[joint.body])
        body.add_joint(
            name=JOINTS[index],
            type=mujoco.mjtJoint.mjJNT_HINGE,
            axis=AXES[joint.body],
            range=(LOWER[index], UPPER[index]),
            limited=mujoco.mjtLimited.mjLIMITED_TRUE,
            # Linear only: the other two coefficients are quadratic and cubic.
            damping=(SERVO.damping[index], 0, 0),
            frictionloss=FRICTIONLOSS_NM,
            armature=ARMATURE,
        )
        bodies[joint.body] = parent = body
    _add_collision(bodies)
    add_look(spec, bodies, fixed_finger=FIXED_FINGER, moving_finger=MOVING_FINGER)
    _add_cameras(bodies)
    add_servos(spec, JOINTS, SERVO)
    spec.body("gripper").add_site(name="tool", pos=FIXED_TIP_M, size=(0.001, 0.001, 0.001), group=4)
    body = mujoco.mjtObj.mjOBJ_BODY
    add_readings(spec, JOINTS, {"fixed": (body, "fixed_pad"), "moving": (body, "moving_jaw")})
    spec.add_exclude(bodyname1="base", bodyname2="shoulder")


def _set_mass(body: mujoco.MjsBody, joint: PublishedJoint, rotation: Array, position: Array) -> None:
    xx, yy, zz, xy, xz, yz = (1e-6 * value for value in joint.inertia)
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    inertia = rotation @ inertia @ rotation.T
    body.explicitinertial = True
    body.mass = joint.mass_kg
    body.ipos = position + rotate(rotation, np.array(joint.com_m))
    body.fullinertia = (
        inertia[0, 0],
        inertia[1, 1],
        inertia[2, 2],
        inertia[0, 1],
        inertia[0, 2],
        inertia[1, 2],
    )


def _box(body: mujoco.MjsBody, name: str, lower_mm: tuple, upper_mm: tuple, **more: object) -> mujoco.MjsGeom:
    low, high = np.array(lower_mm) * 1e-3, np.array(upper_mm) * 1e-3
    return body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=(low + high) / 2,
        size=(high - low) / 2,
        group=3,
        mass=0,
        **more,
    )


def _add_collision(bodies: dict[str, mujoco.MjsBody]) -> None:
    """Boxes that touch things, in group 3 (hidden): links as blocks, fingers as stepped pads."""
    _box(bodies["base"], "base_block", (-25, -32, 0), (65, 32, 60))
    upper_arm = _box(bodies["upper_arm"], "upper_arm_link", (-20, -27, -18), (18, 27, 128))
    # The link leans forward: its far joint is 28 mm ahead of the near one.
    upper_arm.quat = (np.cos(0.122), 0, np.sin(0.122), 0)
    _box(bodies["lower_arm"], "lower_arm_link", (15, -25, -16), (120, 25, 20))
    _box(bodies["wrist"], "wrist_block", (-18, -21, -22), (42, 21, 22))
    _box(bodies["gripper"], "palm", (-8, -24, -28), (44, 24, 28))
    _add_housing(bodies["gripper"])
    pads = {"condim": 6, "priority": 1, "friction": PAD_FRICTION, "solref": PAD_SOLREF, "solimp": PAD_SOLIMP}
    # A body of its own, so that what the palm touches does not count as a touch of the pad.
    fixed = bodies["gripper"].add_body(name="fixed_pad")
    for index, step in enumerate(FIXED_FINGER):
        _box(
            fixed,
            f"fixed_pad_{index}",
            (step.near, -step.half_width, step.outer),
            (step.far, step.half_width, step.inner),
            **pads,
        )
    for index, step in enumerate(MOVING_FINGER):
        _box(
            bodies["moving_jaw"],
            f"moving_pad_{index}",
            (step.near, -step.half_width, step.inner),
            (step.far, step.half_width, step.outer),
            **pads,
        )


def _add_housing(gripper: mujoco.MjsBody) -> None:
    """The wrist camera's body. It weighs nothing: the published mass of the gripper is kept as it is."""
    depth, width = HOUSING_MM
    housing = _box(gripper, CAMERA_HOUSING, (-depth, -width / 2, -width / 2), (0, width / 2, width / 2))
    half, tilt = depth / 2, CAMERA_TILT_RAD
    # Turned about z, so that its x is the direction of view; its front is in the lens plane.
    housing.quat = (np.cos(tilt / 2), 0, 0, -np.sin(tilt / 2))
    x, y, z = CAMERA_MM
    housing.pos = np.array([x - half * np.cos(tilt), y + half * np.sin(tilt), z]) * 1e-3


PAD_GEOMS = tuple(f"fixed_pad_{i}" for i in range(len(FIXED_FINGER))) + tuple(
    f"moving_pad_{i}" for i in range(len(MOVING_FINGER))
)


def _add_cameras(bodies: dict[str, mujoco.MjsBody]) -> None:
    """The wrist camera sees both fingertips and what lies beyond, the moving jaw on the right."""
    bodies["gripper"].add_camera(
        name="wrist",
        pos=np.array(CAMERA_MM) * 1e-3,
        xyaxes=(0, 0, 1, np.sin(CAMERA_TILT_RAD), np.cos(CAMERA_TILT_RAD), 0),
        # The public mount's camera sees 77° across, which is this much upright at 4:3.
        fovy=62.0,
    )


# The arm folded, the gripper 0.21 m ahead; 0.12 m above the table it has to lean by 27°. The
# jaw opens to the robot's right, so that the top of the wrist camera's picture is away from the robot.
HOME = np.array([0.0, -0.7, 0.4, 1.4, ROLL_OFFSET_RAD - np.pi / 2, 0.1])

# Straight down instead: 0.20 m ahead, the fixed tip 86 mm above the table, as high as the wrist lets it.
_LIFT_RAD, _ELBOW_RAD = -0.25, 0.19
DOWN = np.array([0.0, _LIFT_RAD, _ELBOW_RAD, np.pi / 2 - _LIFT_RAD - _ELBOW_RAD, ROLL_OFFSET_RAD - np.pi / 2, 0.1])

SO101 = Robot(
    name="so101",
    joints=JOINTS,
    jaw=5,
    limits=JointLimits(
        lower=LOWER,
        upper=UPPER,
        # 45 rpm no load is 4.7 rad/s; paths stay well inside what the servo gives under load.
        velocity=np.array([3.0] * 6),
        acceleration=np.array([20.0] * 6),
        jerk=np.array([300.0] * 6),
    ),
    servo=SERVO,
    home=HOME,
    down=DOWN,
    # The arm stretched out; about its own axis the hand with its camera, and the jaw.
    levers_m=np.array([0.47, 0.44, 0.33, 0.2, 0.075, 0.11]),
    jaw_law=_jaw_law(),
    control_hz=60,
    substeps=8,
    cameras=("wrist",),
    pads=PAD_GEOMS,
    keeps_m={CAMERA_HOUSING: CAMERA_KEEPS_M},
    paints=tuple(COLOURS),
    add_to=add_so101,
    hand=Hand(
        tool_m=FIXED_TIP_M,
        tip_m=TIP_M,
        grip_from_m=FIXED_FINGER[1].near * 1e-3,
        positions=np.linspace(0.0, 1.5, 151),
        moving_face_m=moving_finger_m,
        face_m=FIXED_FACE_M,
    ),
    closed_form="graspline.kinematics.so101:ARM",
    footprint_m=BASE_FOOTPRINT_M,
    tool_at="fixed jaw's tip",
    # Current lerobot calls it so. It does not add to a dataset of a robot of another name; its releases before 0.4.3,
    # and the policies that follow them, say so101_follower.
    lerobot_name="so_follower",
    seen_from_m=(0.66, -0.47, 0.40),
    seen_at_m=(0.12, -0.01, 0.07),
)
