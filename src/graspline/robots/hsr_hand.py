"""The HSR's hand: two fingers whose gap follows from one angle, and its model in `MjSpec`.

Each finger is a link that swings on the palm and a tip that turns back by as much, so that pads stay parallel. The
published tips lean inwards by 5°, which rubber takes up; ours are flat where it ends, so that what is held stands
square. The palm's frame has the wrist's axes: z is the approach, y the opening direction, from right to left.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.robots.gripper_2f85 import Mass
from graspline.robots.hand import Hand, parallel_hand
from graspline.robots.hsr_chain import (
    FINGER_LINK_M,
    FINGER_PIVOT_M,
    HAND,
    PALM_M,
    R_WRIST_FORCE,
    R_WRIST_TOOL,
    SHUT_OUT_M,
    SHUT_RAD,
    TIP_ASIDE_M,
    TIP_OUT_M,
    UPPER,
    WRIST_FORCE_M,
)
from graspline.robots.robot import JawLaw
from graspline.spatial.rotations import quaternion_from_matrix

Array = NDArray[np.float64]

PALM = "palm"
# What the force-torque sensor is called.
WRIST_SITE = "wrist_force"
# Those that repeat the jaw's angle, which is the left finger's.
FOLLOWERS = ("right_finger", "left_tip", "right_tip")
# Which side of y each finger is on.
SIDES = {"left": 1.0, "right": -1.0}
PADS = ("left_pad", "right_pad")
OPEN_RAD = float(UPPER[-1])

# Where a finger swings on the palm. The published frame is at the finger's edge; here it is in its middle plane.
PIVOT_M = (0.0, FINGER_PIVOT_M[1], FINGER_PIVOT_M[2])
# From the end of a finger's link to the middle of its pad's face: inwards, and ahead.
FACE_INWARDS_M = PIVOT_M[1] - TIP_ASIDE_M
FACE_AHEAD_M = TIP_OUT_M - PIVOT_M[2]
# Across the finger, thick, along the approach axis.
PAD_SIZE_M = (0.024, 0.006, 0.028)

PALM_MASS = Mass(kg=0.512, com_m=(-0.013, -0.002, -0.038), inertia=(6.0e-4, 6.5e-4, 5.5e-4))
FINGER_MASS = Mass(kg=0.044, com_m=(0, 0, 0.035), inertia=(2.1e-5, 2.1e-5, 5.0e-6))
TIP_MASS = Mass(kg=0.025, com_m=(0, -0.012, 0.025), inertia=(6.0e-6, 6.0e-6, 3.0e-6))

# Of the jaw it is the motor's, of those that follow their part of the gears'. Fingers alone weigh so little that a
# stiff servo would shake them.
JAW_ARMATURE = 0.008
FINGER_ARMATURE = 0.002
TIP_ARMATURE = 0.0005
# Friction of the rubber, its torsion and rolling; only the first two count at four contact dimensions.
PAD_FRICTION = (1.0, 0.01, 0.0002)
# As of the 2F-85, for the same reasons: what is carried round a bend creeps outwards, the more the softer the damping.
PAD_SOLREF = (-40000.0, -840.0)
PAD_SOLIMP = (0.95, 0.99, 0.001, 0.5, 2.0)
GEAR_SOLREF = (2 / 480, 1.0)
GEAR_SOLIMP = (0.999, 0.9999, 0.001, 0.5, 2.0)


def gap_m(jaw_rad: float | Array) -> Array:
    """Distance between the pads' faces."""
    return 2 * (TIP_ASIDE_M + FINGER_LINK_M * np.sin(np.asarray(jaw_rad, float)))


def jaw_law() -> JawLaw:
    """Open fingers recede, by 47 mm at most."""
    angles = np.linspace(SHUT_RAD, OPEN_RAD, 401)
    middles = np.zeros((len(angles), 3))
    middles[:, 0] = TIP_OUT_M + FINGER_LINK_M * np.cos(angles) - SHUT_OUT_M
    gaps = gap_m(angles)
    # Rounding may leave a hair.
    gaps[0] = 0.0
    return JawLaw(angles_rad=angles, gaps_m=gaps, middles_m=middles)


def hand() -> Hand:
    """The fingers, seen from the tool frame."""
    law = jaw_law()
    return parallel_hand(law.angles_rad, law.gaps_m, law.middles_m[:, 0], PAD_SIZE_M[2])


def add_hand(spec: mujoco.MjSpec, flange: mujoco.MjsBody, jaw_rad: float) -> dict[str, mujoco.MjsBody]:
    """Mount the hand on the last wrist joint's link; its bodies by name.

    The model's own coordinates are the hand opened to `jaw_rad`, so that setting nothing but the jaw to that angle
    gives a hand that fits together.
    """
    palm = flange.add_body(name=PALM, pos=PALM_M)
    PALM_MASS.give_to(palm)
    bodies = {PALM: palm}
    for side, sign in SIDES.items():
        finger, tip = _add_finger(palm, side, sign, jaw_rad)
        bodies |= {f"{side}_finger": finger, f"{side}_tip": tip}
    palm.add_site(name="tool", pos=(0, 0, SHUT_OUT_M), quat=quaternion_from_matrix(R_WRIST_TOOL), size=_DOT, group=4)
    # All that is felt at the wrist is beyond this: palm, fingers, and what they hold.
    palm.add_site(
        name=WRIST_SITE,
        pos=WRIST_FORCE_M - np.array(PALM_M),
        quat=quaternion_from_matrix(R_WRIST_FORCE),
        size=_DOT,
        group=4,
    )
    _add_collision(bodies)
    for follower in FOLLOWERS:
        add_gear(spec, follower, HAND, 1.0)
    # Fingers that meet with nothing between them rest on the jaw's stop, and no pad reports a grasp.
    for left in ("left_finger", "left_tip"):
        for right in ("right_finger", "right_tip"):
            spec.add_exclude(bodyname1=left, bodyname2=right)
    return bodies


def add_gear(spec: mujoco.MjSpec, follower: str, leader: str, ratio: float) -> None:
    """One joint follows another's motion from where the model has both."""
    spec.add_equality(
        name=follower,
        type=mujoco.mjtEq.mjEQ_JOINT,
        objtype=mujoco.mjtObj.mjOBJ_JOINT,
        name1=follower,
        name2=leader,
        data=(0, ratio, *(0,) * (mujoco.mjNEQDATA - 2)),
        solref=GEAR_SOLREF,
        solimp=GEAR_SOLIMP,
    )


def _add_finger(palm: mujoco.MjsBody, side: str, sign: float, jaw_rad: float) -> tuple[mujoco.MjsBody, mujoco.MjsBody]:
    x, y, z = PIVOT_M
    half = -sign * jaw_rad / 2
    finger = palm.add_body(name=f"{side}_finger", pos=(x, sign * y, z), quat=(np.cos(half), np.sin(half), 0, 0))
    FINGER_MASS.give_to(finger)
    if side == "left":
        _add_hinge(finger, HAND, -sign, jaw_rad, JAW_ARMATURE)
    else:
        _add_hinge(finger, "right_finger", -sign, jaw_rad, FINGER_ARMATURE)
    tip = finger.add_body(name=f"{side}_tip", pos=(0, 0, FINGER_LINK_M), quat=(np.cos(half), -np.sin(half), 0, 0))
    _, inwards, ahead = TIP_MASS.com_m
    Mass(kg=TIP_MASS.kg, com_m=(0, sign * inwards, ahead), inertia=TIP_MASS.inertia).give_to(tip)
    _add_hinge(tip, f"{side}_tip", sign, jaw_rad, TIP_ARMATURE)
    return finger, tip


def _add_hinge(body: mujoco.MjsBody, name: str, axis_x: float, jaw_rad: float, armature: float) -> None:
    body.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_HINGE,
        axis=(axis_x, 0, 0),
        ref=jaw_rad,
        range=(SHUT_RAD, OPEN_RAD),
        # Followers stop where the jaw does.
        limited=mujoco.mjtLimited.mjLIMITED_TRUE if name == HAND else mujoco.mjtLimited.mjLIMITED_FALSE,
        armature=armature,
    )


def _add_collision(bodies: dict[str, mujoco.MjsBody]) -> None:
    """Boxes that touch things, in group 3 (hidden); millimetres, y outwards."""
    _add_box(bodies[PALM], "palm_body", 1.0, (-46, -41, -66), (32, 41, -31))
    _add_box(bodies[PALM], "palm_face", 1.0, (-47, -15, -31), (31, 15, -8))
    wide, thick, long = (1e3 * size for size in PAD_SIZE_M)
    face, middle = -1e3 * FACE_INWARDS_M, 1e3 * FACE_AHEAD_M
    near, far = middle - long / 2, middle + long / 2
    for side, sign in SIDES.items():
        _add_box(bodies[f"{side}_finger"], f"{side}_link", sign, (-14, -7, 0), (14, 12, 1e3 * FINGER_LINK_M))
        tip = bodies[f"{side}_tip"]
        _add_box(
            tip,
            f"{side}_pad",
            sign,
            (-wide / 2, face, near),
            (wide / 2, face + thick, far),
            condim=4,
            priority=1,
            friction=PAD_FRICTION,
            solref=PAD_SOLREF,
            solimp=PAD_SOLIMP,
        )
        _add_box(tip, f"{side}_nail", sign, (-wide / 2, face + thick, near - 4), (wide / 2, face + thick + 5, far - 1))
        _add_box(tip, f"{side}_knuckle", sign, (-wide / 2, face + thick, -9), (wide / 2, 8, near - 4))


def _add_box(
    body: mujoco.MjsBody,
    name: str,
    sign: float,
    low_mm: tuple[float, float, float],
    high_mm: tuple[float, float, float],
    **more: object,
) -> None:
    low, high = np.array(low_mm) * 1e-3, np.array(high_mm) * 1e-3
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=(low + high) / 2 * (1, sign, 1),
        size=(high - low) / 2,
        group=3,
        mass=0,
        **more,
    )


_DOT = (0.001, 0.001, 0.001)
