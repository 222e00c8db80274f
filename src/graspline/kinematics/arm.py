"""What every arm can be asked, closed form or not: forward, solve, branches, limits, and why a pose is not reached.

A target is a tool point, a pitch and a yaw. Pitch π/2 points straight down and 0 straight ahead, in the vertical plane
through the first axis; yaw is the heading, seen from above, of the opening direction, from the fixed finger to the
moving one. An arm of five joints can reach such targets, one of six or seven can, too, and planning needs no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, Measurement, at_least, at_most

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]

STRAIGHT_DOWN_RAD = float(np.pi / 2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ArmLimits:
    """What a solution is held against: what an arm may miss a target by, and the range of each of its joints."""

    # Name and unit of each thing but joints that a branch may miss, such as ("wrist_beyond_reach", "m").
    misses: tuple[tuple[str, str], ...]
    joints: tuple[str, ...]
    lower_rad: Array  # (n,)
    upper_rad: Array
    # The joints that slide, in metres.
    slides: tuple[str, ...] = ()

    def sampled(self, random: np.random.Generator, count: int) -> Array:
        """Joint positions (count, n), evenly within the limits; a joint without any turns all the way round."""
        lower, upper = self.lower_rad, self.upper_rad
        low, high = np.where(np.isfinite(lower), lower, -np.pi), np.where(np.isfinite(upper), upper, np.pi)
        return random.uniform(low, high, (count, len(low)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Solutions:
    """For each of N targets, all branches of the arm, solved or refused.

    `excess` says by how much each limit is missed; a branch is a solution where all of them are at most 0.
    """

    joints_rad: Array  # (N, branches, n)
    # (N, branches, misses + n): what the arm misses, in the order of its limits; then each joint beyond its range
    excess: Array
    # (N, branches): which branches are solutions
    reached: Flags
    limits: ArmLimits

    @staticmethod
    def joined(parts: Sequence[Solutions]) -> Solutions:
        """Those of the targets of several, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return Solutions(
            joints_rad=np.concatenate([each.joints_rad for each in parts]),
            excess=np.concatenate([each.excess for each in parts]),
            reached=np.concatenate([each.reached for each in parts]),
            limits=parts[0].limits,
        )

    def of(self, rows: slice) -> Solutions:
        """Those of some of the targets."""
        return Solutions(
            joints_rad=self.joints_rad[rows], excess=self.excess[rows], reached=self.reached[rows], limits=self.limits
        )

    def best(self) -> tuple[Array, Flags]:
        """Joint angles (N, n) of the first branch that reaches, and which targets are reached (N,)."""
        reached = self.reached
        branch = np.argmax(reached, axis=1)
        joints = np.take_along_axis(self.joints_rad, branch[:, None, None], axis=1)[:, 0]
        return joints, np.any(reached, axis=1)

    def posed(self) -> Array:
        """Joint angles (N, n) of the first branch that has the hand where it is to be, beyond joint limits or not."""
        there = np.logical_and.reduce(self.excess[..., : len(self.limits.misses)] <= 0, axis=-1)
        branch = np.argmax(there, axis=1)
        return np.take_along_axis(self.joints_rad, branch[:, None, None], axis=1)[:, 0]

    def explain(self, index: int, branches: slice = slice(None)) -> Evidence:
        """Why target `index` is refused: every limit missed by its best branch among these, with the measured value."""
        limits = self.limits
        excess, joints = self.excess[index, branches], self.joints_rad[index, branches]
        branch = int(np.argmin(np.maximum(excess, 0).sum(axis=-1)))
        for column, (name, unit) in enumerate(limits.misses):
            if excess[branch, column] > 0:
                return (at_most(name, excess[branch, column], 0.0, unit),)
        found: list[Measurement] = []
        for joint, name in enumerate(limits.joints):
            beyond = excess[branch, len(limits.misses) + joint]
            if beyond > 0:
                angle = joints[branch, joint]
                over = angle > (limits.upper_rad[joint] + limits.lower_rad[joint]) / 2
                relate = at_most if over else at_least
                limit = angle - beyond * (1 if over else -1)
                found.append(relate(name, angle, limit, "m" if name in limits.slides else "rad"))
        return tuple(found)


def lean_rad(rotation: Array) -> Array:
    """How far the opening axis of grippers turned like this, (N, 3, 3), is from horizontal."""
    return np.abs(np.arcsin(np.clip(rotation[:, 2, 2], -1, 1)))


def straight_down(yaw_rad: float) -> Array:
    """Rotation (3, 3) of a gripper that points straight down and opens along this heading, seen from above."""
    cosine, sine = np.cos(yaw_rad), np.sin(yaw_rad)
    return np.array([[0.0, -sine, cosine], [0.0, cosine, sine], [-1.0, 0.0, 0.0]])


class Arm(Protocol):
    """The kinematics of one robot's arm: every joint but the jaw.

    Points are in W, where the robot's base stands at the origin. The gripper frame has x along the fingers and z from
    the fixed finger to the moving one; `tool_m` is a point of it, (3,) or (N, 3).
    """

    @property
    def limits(self) -> ArmLimits:
        """The limits of its joints."""
        ...

    @property
    def axis_m(self) -> tuple[float, float]:
        """Where the first axis stands, which is upright: x and y."""
        ...

    @property
    def wrist(self) -> int:
        """The joint that turns the hand, and nothing else, about itself."""
        ...

    @property
    def folding(self) -> tuple[int, ...]:
        """The hinges that fold the arm in the vertical plane it stands in at home, from the base outwards.

        Shoulder, elbow and wrist of an arm that has them.
        """
        ...

    @property
    def at_once(self) -> int:
        """How many targets are solved in little more time than one: of more a planner asks for the likeliest first."""
        ...

    def solve(
        self,
        position_m: Array,
        pitch_rad: Array | float,
        yaw_rad: Array | float | None,
        tool_m: Array,
        margin_rad: Array | float = 0.0,
        *,
        backwards: bool = True,
        branch: Indices | int | None = None,
    ) -> Solutions:
        """Joint angles that bring the tool point to each position with this pitch and heading of the jaws.

        `position_m` is (N, 3); pitch, yaw and margin are (N,) or one for all, `tool_m` (N, 3) or (3,). Yaw None leaves
        the heading free. Solutions keep `margin_rad` from the joint limits. Without `backwards` branches that turn
        their back to the target are left out. Where only one `branch` is asked for, of all rows or of each, others may
        be left unsolved. Each row has the bits it gets alone, and along a steady motion of the target a branch that is
        a solution moves steadily, too.
        """
        ...

    def forward(self, joints_rad: Array, tool_m: Array) -> tuple[Array, Array]:
        """Position (N, 3) of the tool point and rotation (N, 3, 3) of the gripper for joints (N, at least n)."""
        ...

    def follow(self, points_m: Array, rotation: Array, near_rad: Array, tool_m: Array) -> Array | None:
        """Joints (T, n) that lead the tool point (3,) along points (T, 3), the gripper turned like this all the way.

        All of one branch, that which is nearest to `near_rad`, (at least n,), at the first point. None where any point
        is out of reach, where the branch ends on the way, or where it would wind up.
        """
        ...

    def pitch_rad(self, joints_rad: Array) -> Array:
        """The pitch of the gripper, (N,), for joints (N, at least n)."""
        ...

    def jaw_lean_rad(self, joints_rad: Array) -> Array:
        """How far the axis along which the jaw opens is from horizontal, (N,)."""
        ...

    def jaw_heading(self, position_m: Array, across_m: float, joints_rad: Array) -> float:
        """The yaw of jaws that point straight down at a position (3,) with the wrist turned as it is in `joints_rad`.

        What is at the position lies `across_m` off the gripper's x axis, towards the moving finger.
        """
        ...
