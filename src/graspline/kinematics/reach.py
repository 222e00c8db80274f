"""How each arm brings its tool to a pose: the closed form a session uses, by the name of the robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence
from graspline.kinematics import so101, ur5e
from graspline.robots.gripper_2f85 import TOOL_M
from graspline.robots.so101 import FIXED_TIP_M, SO101
from graspline.robots.ur5e import UR5E

Array = NDArray[np.float64]

# Where the tool centre point is: where the robot's readings have it, on the tip of an SO-101's fixed jaw or between the
# shut fingertips of others, or midway between the jaws as they are.
TcpConvention = Literal["fixed_tip", "between"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPose:
    """Where the tool centre point is, how it points and where its jaw opens to; see `kinematics.so101`.

    The tool points along a plane through the arm's pan axis, as an arm of five joints has to.
    """

    position_m: Array
    pitch_rad: float
    yaw_rad: float | None


class Reach(Protocol):
    """The kinematics of one arm, for people who name poses."""

    @property
    def example_m(self) -> tuple[float, float, float]:
        """A place that the arm reaches from above."""
        ...

    def tool_m(self, tcp: TcpConvention, gap_m: float) -> Array:
        """The tool centre point in the gripper's frame."""
        ...

    def pose(self, joints_rad: Array, tool_m: Array) -> ToolPose: ...

    def solve(self, poses: list[ToolPose], tool_m: Array, near_rad: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Arm joints (N, branches, n) for poses that all have a yaw or all none, and which of them are solutions.

        Joints that turn more than once around take the turn nearest to `near_rad` (nu,).
        """
        ...

    def explain(self, pose: ToolPose, tool_m: Array) -> Evidence:
        """Which limits a pose that is not reached misses, and by how much."""
        ...


class So101Reach:
    """The SO-101's closed form."""

    example_m = (0.2, 0.0, 0.08)

    def tool_m(self, tcp: TcpConvention, gap_m: float) -> Array:
        along, lateral, opening = FIXED_TIP_M
        return np.array([along, lateral, opening + (gap_m / 2 if tcp == "between" else 0.0)])

    def pose(self, joints_rad: Array, tool_m: Array) -> ToolPose:
        position, rotation = so101.forward(joints_rad, tool_m)
        opening = rotation[0, :, 2]
        # The three joints of the arm's plane turn about one axis.
        pitch = float(joints_rad[1:4].sum())
        return ToolPose(position_m=position[0], pitch_rad=pitch, yaw_rad=float(np.arctan2(opening[1], opening[0])))

    def solve(self, poses: list[ToolPose], tool_m: Array, near_rad: Array) -> tuple[Array, NDArray[np.bool_]]:
        solved = self._solved(poses, tool_m)
        return solved.joints_rad, solved.reached

    def explain(self, pose: ToolPose, tool_m: Array) -> Evidence:
        return self._solved([pose], tool_m).explain(0)

    @staticmethod
    def _solved(poses: list[ToolPose], tool_m: Array) -> so101.Solutions:
        yaws = [each.yaw_rad for each in poses if each.yaw_rad is not None]
        positions = np.stack([each.position_m for each in poses])
        pitches = np.array([each.pitch_rad for each in poses])
        return so101.solve(positions, pitches, np.array(yaws) if yaws else None, tool_m)


class Ur5eReach:
    """The UR5e's closed form: eight branches, and as many for each of some headings where the jaw may open in any."""

    example_m = (0.5, 0.0, 0.3)

    def tool_m(self, tcp: TcpConvention, gap_m: float) -> Array:
        if tcp == "fixed_tip":
            return np.array([TOOL_M, 0.0, 0.0])
        # Fingertips swing forward when they close.
        return np.array([TOOL_M, 0.0, 0.0]) + UR5E.jaw_law.middle_m(float(UR5E.jaw_law.angle_rad(gap_m)))

    def pose(self, joints_rad: Array, tool_m: Array) -> ToolPose:
        position, rotation = ur5e.forward(joints_rad[UR5E.arm], tool_m[0])
        approach, opening = rotation[:, 0], rotation[:, 2]
        ahead = _heading(position) @ approach
        pitch = float(np.arctan2(-approach[2], ahead))
        return ToolPose(position_m=position, pitch_rad=pitch, yaw_rad=float(np.arctan2(opening[1], opening[0])))

    def solve(self, poses: list[ToolPose], tool_m: Array, near_rad: Array) -> tuple[Array, NDArray[np.bool_]]:
        near = near_rad[UR5E.arm]
        yaws = _ANY_YAW if poses[0].yaw_rad is None else None
        turned = [
            (each.position_m, _pointing(each, yaw))
            for each in poses
            for yaw in ((each.yaw_rad or 0.0,) if yaws is None else yaws)
        ]
        positions, rotations = (np.stack(parts) for parts in zip(*turned, strict=True))
        solved = ur5e.solve(positions, rotations, tool_m[0], near[-1])
        turns = 2 * np.pi * np.rint((near - solved.joints_rad) / (2 * np.pi))
        joints = solved.joints_rad + turns
        outside = (joints < ur5e.ARM_LOWER) | (joints > ur5e.ARM_UPPER)
        joints = np.where(outside, solved.joints_rad, joints)
        return joints.reshape(len(poses), -1, len(near)), solved.reached.reshape(len(poses), -1)

    def explain(self, pose: ToolPose, tool_m: Array) -> Evidence:
        return ur5e.solve(pose.position_m[None], _pointing(pose, pose.yaw_rad or 0.0), tool_m[0]).explain(0)


# Headings of a jaw that may open in any; half a turn further it is the same jaw.
_ANY_YAW = tuple(np.arange(6) * np.pi / 6)
# A tool that points flatter than this has its jaw level, whatever the yaw.
_FLAT = 1e-3


def _heading(position_m: Array) -> Array:
    """(3,): level, from the pan axis to there."""
    angle = np.arctan2(position_m[1], position_m[0])
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def _pointing(pose: ToolPose, yaw_rad: float) -> Array:
    """(3, 3): a tool that points outwards at the pose's pitch and opens, seen from above, along a heading."""
    outwards = _heading(pose.position_m)
    approach = np.cos(pose.pitch_rad) * outwards - np.sin(pose.pitch_rad) * np.array([0.0, 0.0, 1.0])
    opening = np.array([np.cos(yaw_rad), np.sin(yaw_rad), 0.0])
    if abs(approach[2]) > _FLAT:
        opening[2] = -(approach @ opening) / approach[2]
    else:
        left = np.array([-outwards[1], outwards[0], 0.0])
        opening = left if left @ opening >= 0 else -left
    opening /= np.linalg.norm(opening)
    return np.stack([approach, np.cross(opening, approach), opening], axis=1)


REACHES: Mapping[str, Reach] = MappingProxyType({SO101.name: So101Reach(), UR5E.name: Ur5eReach()})
