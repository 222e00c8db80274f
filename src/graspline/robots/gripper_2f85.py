"""The Robotiq 2F-85: two parallel fingers whose gap follows from one angle, and its model in `MjSpec`.

Figures come from public models of the linkage. Each finger is one link that swings on the palm and a pad that turns
back by as much, so that pads stay parallel without closing the real four-bar loop. The hand's frame is on the mounting
face: x is the approach direction, out of the face, and z the opening direction, from the left finger to the right one.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.robots.hand import Hand, parallel_hand
from graspline.robots.robot import JawLaw

Array = NDArray[np.float64]

HAND = "hand"
# The left finger's swing from shut, and those that repeat it, each with the same angle.
JAW = "jaw"
FOLLOWERS = ("right_jaw", "left_pad", "right_pad")
# The left finger is on the side that z points away from.
SIDES = {"left": -1.0, "right": 1.0}
PADS = ("left_pad", "right_pad")

# Fully open; pads touch at 0.
OPEN_RAD = 0.8
STROKE_M = 0.085
# Where links swing on the palm: along the approach axis, and on either side of it.
PIVOT_M = (0.0609, 0.0132)
# A link leans out by this much when open.
OPEN_LEAN_RAD = np.radians(40.0)
SHUT_LEAN_RAD = OPEN_LEAN_RAD - OPEN_RAD
# Public models have 57.5 mm and shut at 0.795 rad; 0.4 mm less makes the stroke the whole range.
LINK_M = STROKE_M / 2 / (np.sin(OPEN_LEAN_RAD) - np.sin(SHUT_LEAN_RAD))
# Middle of the shut pads along the approach axis: where the tool is.
TOOL_M = 0.1439
# From a link's end to the middle of its pad along the approach axis, and across to the pad's face.
PAD_AHEAD_M = TOOL_M - PIVOT_M[0] - LINK_M * np.cos(SHUT_LEAN_RAD)
PAD_INSIDE_M = PIVOT_M[1] + LINK_M * np.sin(SHUT_LEAN_RAD)
# Along the approach axis, across the finger, thick.
PAD_SIZE_M = (0.0375, 0.022, 0.008)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mass:
    """Mass, centre of mass and principal moments, in the body's own frame."""

    kg: float
    com_m: tuple[float, float, float]
    # kg m² about the frame's x, y and z.
    inertia: tuple[float, float, float]

    def give_to(self, body: mujoco.MjsBody) -> None:
        """Make this all that the body weighs, and take the weight off whatever carries it."""
        body.explicitinertial = True
        body.mass, body.ipos, body.inertia = self.kg, self.com_m, self.inertia
        body.gravcomp = 1.0


# Masses of the public model's parts, those of a finger's linkage in the link, follower and pad in the pad; moments as
# of boxes of their size.
PALM_MASS = Mass(kg=0.777, com_m=(0.040, 0, 0), inertia=(7.4e-4, 5.6e-4, 4.7e-4))
LINK_MASS = Mass(kg=0.0453, com_m=(0.0285, 0, 0), inertia=(3.3e-6, 1.3e-5, 1.5e-5))
PAD_MASS = Mass(kg=0.0160, com_m=(0.018, 0, -0.003), inertia=(1.1e-6, 4.0e-6, 4.3e-6))

# Of the jaw it is the motor's, of those that follow their part of the gears'. Links alone weigh so little that a stiff
# servo would shake them.
JAW_ARMATURE = 0.008
LINK_ARMATURE = 0.002
PAD_ARMATURE = 0.0005
# Friction of the rubber, its torsion and rolling; only the first two count at four contact dimensions.
PAD_FRICTION = (1.0, 0.01, 0.0002)
# Stiffness in 1/s² and damping in 1/s. MuJoCo leaves out the centripetal acceleration of contacts, so what is carried
# round a bend creeps outwards, the more the softer the damping: 1.7 mm in a lift and a swing of 0.8 rad with a time
# constant of two steps, as stiff as that form goes (480/s), 0.47 mm with this. Above 960/s, two over the step of
# 1/480 s, contacts are unstable; at 860/s and 57600/s² a cube of 10 g was lost.
PAD_SOLREF = (-40000.0, -840.0)
PAD_SOLIMP = (0.95, 0.99, 0.001, 0.5, 2.0)
# Gears, not rubber: at full grip the two sides differ by less than 0.01 mm and pads lean by less than 0.01°; by 0.34 mm
# and 0.23° for an instant when fingers knock at full speed.
GEAR_SOLREF = (2 / 480, 1.0)
GEAR_SOLIMP = (0.999, 0.9999, 0.001, 0.5, 2.0)


def lean_rad(jaw_rad: float | Array) -> Array:
    """How far each link leans out of the approach direction."""
    return np.asarray(jaw_rad, float) + SHUT_LEAN_RAD


def gap_m(jaw_rad: float | Array) -> Array:
    """Distance between the pads' faces."""
    return 2 * (PIVOT_M[1] + LINK_M * np.sin(lean_rad(jaw_rad)) - PAD_INSIDE_M)


def reach_m(jaw_rad: float | Array) -> Array:
    """Middle of the pads along the approach axis, from the mounting face: an open hand reaches 13 mm less far."""
    return PIVOT_M[0] + LINK_M * np.cos(lean_rad(jaw_rad)) + PAD_AHEAD_M


def jaw_law() -> JawLaw:
    """The opening of the 2F-85 as a function of its joint."""
    angles = np.linspace(0.0, OPEN_RAD, 401)
    middles = np.zeros((len(angles), 3))
    middles[:, 0] = reach_m(angles) - TOOL_M
    return JawLaw(angles_rad=angles, gaps_m=gap_m(angles), middles_m=middles)


def hand() -> Hand:
    """The fingers, seen from the tool frame."""
    law = jaw_law()
    return parallel_hand(law.angles_rad, law.gaps_m, law.middles_m[:, 0], PAD_SIZE_M[0])


def add_2f85(spec: mujoco.MjSpec, flange: mujoco.MjsBody, quat: Array, jaw_rad: float) -> dict[str, mujoco.MjsBody]:
    """Mount the gripper on a flange, turned by `quat` there; its bodies by name.

    The model's own coordinates are the hand opened to `jaw_rad`, so that setting nothing but the jaw to that angle
    gives a hand that fits together.
    """
    hand = flange.add_body(name=HAND, quat=quat)
    PALM_MASS.give_to(hand)
    bodies = {HAND: hand}
    for side, sign in SIDES.items():
        link, pad = _add_finger(hand, side, sign, jaw_rad)
        bodies |= {f"{side}_link": link, f"{side}_pad": pad}
    hand.add_site(name="tool", pos=(TOOL_M, 0, 0), size=(0.001, 0.001, 0.001), group=4)
    _add_collision(bodies)
    for follower in FOLLOWERS:
        spec.add_equality(
            name=follower,
            type=mujoco.mjtEq.mjEQ_JOINT,
            objtype=mujoco.mjtObj.mjOBJ_JOINT,
            name1=follower,
            name2=JAW,
            data=(0, 1, *(0,) * 10),
            solref=GEAR_SOLREF,
            solimp=GEAR_SOLIMP,
        )
    # Fingers that meet with nothing between them rest on the jaw's stop, and no pad reports a grasp.
    for left in ("left_link", "left_pad"):
        for right in ("right_link", "right_pad"):
            spec.add_exclude(bodyname1=left, bodyname2=right)
    return bodies


def _add_finger(hand: mujoco.MjsBody, side: str, sign: float, jaw_rad: float) -> tuple[mujoco.MjsBody, mujoco.MjsBody]:
    half = -sign * float(lean_rad(jaw_rad)) / 2
    link = hand.add_body(
        name=f"{side}_link", pos=(PIVOT_M[0], 0, sign * PIVOT_M[1]), quat=(np.cos(half), 0, np.sin(half), 0)
    )
    LINK_MASS.give_to(link)
    if side == "left":
        _add_hinge(link, JAW, -sign, jaw_rad, JAW_ARMATURE)
    else:
        _add_hinge(link, "right_jaw", -sign, jaw_rad, LINK_ARMATURE)
    pad = link.add_body(name=f"{side}_pad", pos=(LINK_M, 0, 0), quat=(np.cos(half), 0, -np.sin(half), 0))
    mass = Mass(kg=PAD_MASS.kg, com_m=(PAD_MASS.com_m[0], 0, -sign * PAD_MASS.com_m[2]), inertia=PAD_MASS.inertia)
    mass.give_to(pad)
    _add_hinge(pad, f"{side}_pad", sign, jaw_rad, PAD_ARMATURE)
    return link, pad


def _add_hinge(body: mujoco.MjsBody, name: str, axis_y: float, jaw_rad: float, armature: float) -> None:
    body.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_HINGE,
        axis=(0, axis_y, 0),
        ref=jaw_rad,
        range=(0.0, OPEN_RAD),
        # Followers stop where the jaw does.
        limited=mujoco.mjtLimited.mjLIMITED_TRUE if name == JAW else mujoco.mjtLimited.mjLIMITED_FALSE,
        armature=armature,
    )


def _add_collision(bodies: dict[str, mujoco.MjsBody]) -> None:
    """Boxes that touch things, in group 3 (hidden)."""
    _add_box(bodies[HAND], "palm", (0.0, -0.032, -0.0375), (0.075, 0.032, 0.0375))
    long, wide, thick = PAD_SIZE_M
    near, far = PAD_AHEAD_M - long / 2, PAD_AHEAD_M + long / 2
    for side, sign in SIDES.items():
        _add_box(bodies[f"{side}_link"], f"{side}_link", (0.004, -0.0135, -0.006), (LINK_M, 0.0135, 0.006))
        # Faces look inwards, against the side they are on.
        face, back = -sign * PAD_INSIDE_M, -sign * (PAD_INSIDE_M - thick)
        _add_box(
            bodies[f"{side}_pad"],
            f"{side}_pad",
            (near, -wide / 2, min(face, back)),
            (far, wide / 2, max(face, back)),
            condim=4,
            priority=1,
            friction=PAD_FRICTION,
            solref=PAD_SOLREF,
            solimp=PAD_SOLIMP,
        )
        rear = back + sign * 0.009
        _add_box(
            bodies[f"{side}_pad"],
            f"{side}_holder",
            (-0.008, -wide / 2, min(back, rear)),
            (far - 0.002, wide / 2, max(back, rear)),
        )


def _add_box(
    body: mujoco.MjsBody,
    name: str,
    low_m: tuple[float, float, float],
    high_m: tuple[float, float, float],
    **more: object,
) -> None:
    low, high = np.array(low_m), np.array(high_m)
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=(low + high) / 2,
        size=(high - low) / 2,
        group=3,
        mass=0,
        **more,
    )
