"""The HSR's published chain: joints, limits, where hand, cameras and force sensor sit. Data, no solving.

Figures come from the maker's public description (hsr_description, hsrb4s). At all zeros the robot looks along +x and
the arm points straight up. The odometry frame O carries base_x, base_y and base_turn; the base stands on z = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

WHOLE_BODY_JOINTS = (
    "base_x",
    "base_y",
    "base_turn",
    "arm_lift",
    "arm_flex",
    "arm_roll",
    "wrist_flex",
    "wrist_roll",
)
HEAD_JOINTS = ("head_pan", "head_tilt")
HAND = "hand"
# In command order; the jaw is last.
JOINTS = (*WHOLE_BODY_JOINTS, *HEAD_JOINTS, HAND)
TORSO = "torso_lift"


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """One joint: where its frame sits in its parent's, unturned, and the axis it slides along or turns about."""

    name: str
    # The joint whose link carries this one; None stands for the odometry frame.
    parent: str | None
    kind: Literal["slide", "hinge"]
    origin_m: tuple[float, float, float]
    axis: tuple[float, float, float]
    # m or rad, and the same per second.
    lower: float
    upper: float
    velocity: float


# The base has no end of its own: a large room and two turns either way. It rolls at what its drive wheels' 20.8 rad/s
# and radius of 40 mm give.
ROOM_M = 10.0
TURNS_RAD = 4 * np.pi
BASE_SPEED = 0.83

CHAIN = (
    Joint(
        name="base_x",
        parent=None,
        kind="slide",
        origin_m=(0, 0, 0),
        axis=(1, 0, 0),
        lower=-ROOM_M,
        upper=ROOM_M,
        velocity=BASE_SPEED,
    ),
    Joint(
        name="base_y",
        parent="base_x",
        kind="slide",
        origin_m=(0, 0, 0),
        axis=(0, 1, 0),
        lower=-ROOM_M,
        upper=ROOM_M,
        velocity=BASE_SPEED,
    ),
    Joint(
        name="base_turn",
        parent="base_y",
        kind="hinge",
        origin_m=(0, 0, 0),
        axis=(0, 0, 1),
        lower=-TURNS_RAD,
        upper=TURNS_RAD,
        velocity=2.5,
    ),
    Joint(
        name="arm_lift",
        parent="base_turn",
        kind="slide",
        origin_m=(0, 0, 0.34),
        axis=(0, 0, 1),
        lower=0.0,
        upper=0.69,
        velocity=0.2,
    ),
    Joint(
        name="arm_flex",
        parent="arm_lift",
        kind="hinge",
        origin_m=(0.141, 0.078, 0),
        axis=(0, -1, 0),
        lower=-2.62,
        upper=0.0,
        velocity=1.2,
    ),
    Joint(
        name="arm_roll",
        parent="arm_flex",
        kind="hinge",
        origin_m=(0.005, 0, 0.345),
        axis=(0, 0, 1),
        lower=-2.09,
        upper=3.84,
        velocity=2.0,
    ),
    Joint(
        name="wrist_flex",
        parent="arm_roll",
        kind="hinge",
        origin_m=(0, 0, 0),
        axis=(0, -1, 0),
        lower=-1.92,
        upper=1.22,
        velocity=1.5,
    ),
    Joint(
        name="wrist_roll",
        parent="wrist_flex",
        kind="hinge",
        origin_m=(0, 0, 0),
        axis=(0, 0, 1),
        lower=-1.92,
        upper=3.67,
        velocity=1.5,
    ),
    Joint(
        name="head_pan",
        parent=TORSO,
        kind="hinge",
        origin_m=(0, 0, 0),
        axis=(0, 0, 1),
        lower=-3.84,
        upper=1.75,
        velocity=1.0,
    ),
    Joint(
        name="head_tilt",
        parent="head_pan",
        kind="hinge",
        origin_m=(0.02, 0, 0),
        axis=(0, -1, 0),
        lower=-1.57,
        upper=0.52,
        velocity=1.0,
    ),
    # Turns the left finger on its pivot in the palm; the right one mirrors it. See `FINGER_PIVOT_M`.
    Joint(
        name=HAND,
        parent="wrist_roll",
        kind="hinge",
        origin_m=(0.012, 0, 0.1405),
        axis=(-1, 0, 0),
        lower=-0.798,
        upper=1.24,
        velocity=1.0,
    ),
)
# Has no servo: it follows the arm's lift.
TORSO_JOINT = Joint(
    name=TORSO,
    parent="base_turn",
    kind="slide",
    origin_m=(0, 0, 0.752),
    axis=(0, 0, 1),
    lower=0.0,
    upper=0.345,
    velocity=0.1,
)
TORSO_FOLLOWS = 0.5

LOWER = np.array([joint.lower for joint in CHAIN])
UPPER = np.array([joint.upper for joint in CHAIN])
VELOCITY = np.array([joint.velocity for joint in CHAIN])
ORIGINS_M: dict[str, tuple[float, float, float]] = {joint.name: joint.origin_m for joint in (*CHAIN, TORSO_JOINT)}

# The palm, in the frame of the last wrist joint, whose z points out of it. The published palm frame is turned by half a
# turn about z against it; ours keeps the wrist's axes. The left finger is at +y.
PALM_M = ORIGINS_M[HAND]
# Where the fingers swing, in the palm, left and right (±y). Each opens outwards with the jaw's angle, and its tip turns
# back by as much and `TIP_LEAN_RAD` more, so that it always leans inwards by that. Along x tips are in the middle.
FINGER_PIVOT_M = (0.01675, 0.0245, -0.0175)
FINGER_LINK_M = 0.07
TIP_LEAN_RAD = 0.087
# From the end of a finger's link to the middle of its pad, in the leaning tip: towards the other finger, and ahead.
TIP_INWARDS_M, TIP_AHEAD_M = 0.0193, 0.0379
# The same along the palm's axes. Gap between the tips = 2 (TIP_ASIDE_M + FINGER_LINK_M sin q), how far they are ahead
# of the palm = TIP_OUT_M + FINGER_LINK_M cos q.
TIP_ASIDE_M = FINGER_PIVOT_M[1] - TIP_INWARDS_M * np.cos(TIP_LEAN_RAD) - TIP_AHEAD_M * np.sin(TIP_LEAN_RAD)
TIP_OUT_M = FINGER_PIVOT_M[2] - TIP_INWARDS_M * np.sin(TIP_LEAN_RAD) + TIP_AHEAD_M * np.cos(TIP_LEAN_RAD)
SHUT_RAD = -float(np.arcsin(TIP_ASIDE_M / FINGER_LINK_M))
SHUT_OUT_M = TIP_OUT_M + FINGER_LINK_M * float(np.cos(SHUT_RAD))

# The tool: between the tips when they touch; x out of the palm, z from the right finger to the left one.
TOOL_M = np.array([PALM_M[0], PALM_M[1], PALM_M[2] + SHUT_OUT_M])
R_WRIST_TOOL = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])

# Cameras as MuJoCo has them: x right, y up, looking along -z. The head's is in the frame of head_tilt, the hand's in
# that of wrist_roll: beside the palm, where the tool's y points away from, with the fingers above and below.
HEAD_CAMERA = "head"
HEAD_CAMERA_M = np.array([-0.0798, 0.022, 0.2152])
R_TILT_CAMERA = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
HAND_CAMERA = "hand"
HAND_CAMERA_M = np.array([PALM_M[0] - 0.039, 0.0, PALM_M[2] - 0.0045])
R_WRIST_CAMERA = np.array([[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]])

# The force-torque sensor, in the frame of wrist_roll: turned by half a turn about x, so z points into the wrist.
WRIST_FORCE_M = np.array([0.0, 0.0, 0.0735])
R_WRIST_FORCE = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]])
