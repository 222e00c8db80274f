"""What every robot is: names, limits, servo gains and a builder. Data, no solving."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.robots.hand import Hand

Array = NDArray[np.float64]

# The reach of an arm for which tasks state their distances.
USUAL_REACH_M = 0.47

# Visible geoms need a contact bit, or rays skip those that share a body with a colliding geom. Nothing
# answers to it.
VISUAL_CONTYPE = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class JawLaw:
    """Gap between the fingertips against jaw angle, measured from the geometry; monotonic over the range.

    `middles_m`, (n, 3), is where the middle between the pads is in the tool frame.
    """

    angles_rad: Array
    gaps_m: Array
    middles_m: Array
    # Joints that the model couples to the jaw, by name: where each is at these angles, (n,).
    followers: Mapping[str, Array] = field(default_factory=dict)

    def gap_m(self, angle_rad: Array | float) -> Array:
        """The opening of the jaws at an angle."""
        return np.asarray(np.interp(angle_rad, self.angles_rad, self.gaps_m))

    def angle_rad(self, gap_m: Array | float) -> Array:
        """The jaw angle at an opening."""
        return np.asarray(np.interp(gap_m, self.gaps_m, self.angles_rad))

    def middle_m(self, angle_rad: float) -> Array:
        """(3,): the middle between the pads in the tool frame."""
        return np.array([np.interp(angle_rad, self.angles_rad, column) for column in self.middles_m.T])


@dataclass(frozen=True, slots=True, kw_only=True)
class JointLimits:
    """Per joint, in command order: the range, and how fast a path may move it."""

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    jerk: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Servo:
    """Position servos: torque = kp (s - q) - kv q̇, held within ±force; `damping` is the joint's own.

    The set point s follows the control u with time constant `smoothing_s`. Without that, a stiff servo fed at the
    control rate jerks from one set point to the next at full torque.
    """

    kp: Array
    kv: Array
    damping: Array
    force: Array
    smoothing_s: float
    # Whether controls lead by the acceleration, too. Where it is high, a servo that is led by velocity alone swings.
    led_by_acceleration: bool = False

    @property
    def lag_s(self) -> Array:
        """How far a joint trails a control that moves steadily; controls lead by this."""
        return self.smoothing_s + (self.kv + self.damping) / self.kp

    def lag_s2(self, held_s: float) -> Array:
        """How far it trails, beyond `lag_s`, a control that speeds up steadily and is held for so long at a time."""
        own_s = (self.kv + self.damping) / self.kp
        return self.smoothing_s * own_s + self.lag_s * held_s / 2 + held_s**2 / 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Robot:
    """One robot. Joint order here is the order of commands, readings and controls."""

    name: str
    joints: tuple[str, ...]
    jaw: int
    limits: JointLimits
    servo: Servo
    home: Array
    # How far from each joint's axis anything that it moves can be, (nu,).
    levers_m: Array
    jaw_law: JawLaw
    control_hz: int
    substeps: int
    cameras: tuple[str, ...]
    # Geoms that grip.
    pads: tuple[str, ...]
    # Torsional and rolling friction of the pads; the sliding friction varies from episode to episode.
    pad_friction: tuple[float, float] = (0.01, 0.0002)
    # What it is painted with; the visible geoms are named BODY_PAINT.
    paints: tuple[str, ...]
    add_to: Callable[[mujoco.MjSpec], None]
    # What planners of grasps ask about its fingers.
    hand: Hand
    # What settings that turn a jaw by an angle mean in the jaw's own unit: 1 for a jaw that swings, and for one that
    # slides as many metres as bring its fingers together as far as a radian does.
    jaw_unit: float = 1.0
    # `module:NAME` of the arm's closed form, an `Arm`; empty for an arm that is solved numerically. Of a robot on
    # wheels the module, a `WholeBody`.
    closed_form: str = ""
    # What stands on a table: from x, to x, half its width.
    footprint_m: tuple[float, float, float] = (-0.1, 0.1, 0.1)
    # Joints at which the gripper points straight down, clear of what lies on a table; None where there are none.
    down: Array | None = None
    # Joints that slide, in metres; all others turn.
    slides: tuple[str, ...] = ()
    # Where the tool's frame is, in words.
    tool_at: str = "between the closed fingertips"
    # What LeRobot calls it; empty where that has no name for it.
    lerobot_name: str = ""
    # Where a page looks at it from, and at what, in W: the robot and all it reaches fill the picture. Without them a
    # page looks from as far away as its reach asks for.
    seen_from_m: tuple[float, float, float] | None = None
    seen_at_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    # Joints that move a base on wheels along x, along y and about z, in its odometry frame; none where it is fixed.
    base_joints: tuple[str, ...] = ()
    # Joints without a servo that move that frame in the world, in the same order, as wheels slip.
    slip_joints: tuple[str, ...] = ()
    # Geoms that plans keep farther from everything than the rest of the robot, and how much farther.
    keeps_m: Mapping[str, float] = field(default_factory=dict)

    @property
    def sliding(self) -> NDArray[np.bool_]:
        """(nu,): which joints slide."""
        return np.isin(self.joints, self.slides)

    @property
    def reach_m(self) -> float:
        """How far from its first axis the arm reaches at the most."""
        return float(self.levers_m[0])

    @property
    def relative_size(self) -> float:
        """Its reach over that of the arm for which tasks state their distances: 1 for an SO-101."""
        return self.reach_m / USUAL_REACH_M

    @property
    def dt_s(self) -> float:
        """The length of a control step."""
        return 1.0 / self.control_hz

    @property
    def arm(self) -> slice:
        """The joints that carry the hand; the jaw is last."""
        return slice(0, self.jaw)

    def model(self) -> mujoco.MjModel:
        """A model of nothing but this robot."""
        spec = mujoco.MjSpec()
        # MjSpec reads degrees unless set otherwise, and joint ranges and references then shrink silently.
        spec.compiler.degree = False
        self.add_to(spec)
        return spec.compile()


@functools.cache
def with_arm_limits(robot: Robot, velocity_rad_s: float, acceleration_rad_s2: float, jerk_rad_s3: float) -> Robot:
    """The same robot whose paths keep these limits in every joint of the arm that turns."""
    turning = ~robot.sliding & (np.arange(len(robot.joints)) != robot.jaw)
    own = robot.limits
    limits = replace(
        own,
        velocity=np.where(turning, velocity_rad_s, own.velocity),
        acceleration=np.where(turning, acceleration_rad_s2, own.acceleration),
        jerk=np.where(turning, jerk_rad_s3, own.jerk),
    )
    return replace(robot, limits=limits)
