"""The UR5e's closed form behind the protocol that all arms have: eight branches of one hand's direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics import ur5e
from graspline.kinematics.arm import Arm, ArmLimits, Indices, Solutions, lean_rad
from graspline.kinematics.jaw_headings import heading_that_keeps_wrist
from graspline.kinematics.pointing import cross, opening_towards
from graspline.robots.gripper_2f85 import TOOL_M
from graspline.robots.ur5e import ARM_JOINTS, HOME

Array = NDArray[np.float64]

WRIST = ARM_JOINTS.index("wrist_3")
# The gripper frame of the robot's hand is between its shut fingertips, this far ahead of the flange.
_TOOL = np.zeros(3)
_TURN = 2 * np.pi
# Headings of a jaw that may open in any; half a turn further it is the same jaw.
_ANY_YAW = np.arange(6) * np.pi / 6
_FACING = ur5e.BRANCHES // 2
_LIMITS = ArmLimits(
    misses=(("wrist_too_near_pan_axis", "m"), ("wrist_beyond_reach", "m")),
    joints=ARM_JOINTS,
    lower_rad=ur5e.ARM_LOWER,
    upper_rad=ur5e.ARM_UPPER,
)


def _middle() -> Array:
    """(8, 6): where the turns of each branch's joints are counted from: where it has them at home, within limits."""
    position, rotation = ur5e.forward(HOME[:6])
    joints = ur5e.solve(position, rotation, prefer_rad=HOME[WRIST]).joints_rad[0]
    joints = joints + _TURN * np.rint((HOME[:6] - joints) / _TURN)
    return np.clip(joints, ur5e.ARM_LOWER + np.pi, ur5e.ARM_UPPER - np.pi)


_MIDDLE = _middle()


@dataclass(frozen=True, slots=True)
class Ur5eArm:
    """Branches in the order of `ur5e.Solutions`; with a free heading as many for each of six."""

    limits: ArmLimits = _LIMITS
    axis_m: tuple[float, float] = (0.0, 0.0)
    wrist: int = WRIST

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
        position = np.atleast_2d(np.asarray(position_m, float))
        count = len(position)
        ways = 1 if yaw_rad is not None else len(_ANY_YAW)
        rows = np.repeat(np.arange(count), ways)
        yaw = np.tile(_ANY_YAW, count) if yaw_rad is None else np.full(count, yaw_rad)
        point, pitch = position[rows], np.full(count, pitch_rad)[rows]
        tool = np.broadcast_to(np.asarray(tool_m, float), (count, 3))[rows]
        rotation = _rotation(np.arctan2(point[:, 1], point[:, 0]), pitch, yaw)
        # The closed form has its point on the flange's axis.
        on_axis = point - rotation[..., 1] * tool[:, 1:2] - rotation[..., 2] * tool[:, 2:]
        found = ur5e.solve(on_axis, rotation, TOOL_M + tool[:, 0], HOME[WRIST])
        kept = slice(None if backwards else _FACING)
        joints, middle = found.joints_rad[:, kept], _MIDDLE[kept]
        joints = joints - _TURN * np.rint((joints - middle) / _TURN)
        margin = np.full(count, margin_rad)[rows, None, None]
        excess = np.empty((*joints.shape[:2], 8))
        excess[..., 0] = found.inside_m[:, None] - ur5e.TOLERANCE_M
        excess[..., 1] = found.beyond_m[:, kept] - ur5e.TOLERANCE_M
        np.maximum(ur5e.ARM_LOWER - joints, joints - ur5e.ARM_UPPER, out=excess[..., 2:])
        excess[..., 2:] += margin
        return Solutions(
            joints_rad=joints.reshape(count, -1, 6),
            excess=excess.reshape(count, -1, 8),
            reached=np.logical_and.reduce(excess <= 0, axis=-1).reshape(count, -1),
            limits=_LIMITS,
        )

    def forward(self, joints_rad: Array, tool_m: Array) -> tuple[Array, Array]:
        joints, tool = np.atleast_2d(np.asarray(joints_rad, float)), np.asarray(tool_m, float)
        point, rotation = ur5e.forward(joints[:, :6], TOOL_M + tool[..., 0])
        return point + rotation[..., 1] * tool[..., 1:2] + rotation[..., 2] * tool[..., 2:], rotation

    def pitch_rad(self, joints_rad: Array) -> Array:
        """(N,): in the plane of the tool point."""
        point, rotation = self.forward(joints_rad, _TOOL)
        azimuth = np.arctan2(point[:, 1], point[:, 0])
        ahead = np.cos(azimuth) * rotation[:, 0, 0] + np.sin(azimuth) * rotation[:, 1, 0]
        return np.arctan2(-rotation[:, 2, 0], ahead)

    def jaw_lean_rad(self, joints_rad: Array) -> Array:
        return lean_rad(self.forward(joints_rad, np.zeros(3))[1])

    def jaw_heading(self, position_m: Array, across_m: float, joints_rad: Array) -> float:
        # Wrist 3 turns about the approach.
        return heading_that_keeps_wrist(self, 1.0, _TOOL, position_m, across_m, joints_rad)


def _rotation(azimuth: Array, pitch: Array, yaw: Array) -> Array:
    """(N, 3, 3): hands that point outwards at a pitch and open, seen from above, along a heading."""
    cosine = np.cos(pitch)
    approach = np.stack([cosine * np.cos(azimuth), cosine * np.sin(azimuth), -np.sin(pitch)])
    opening = opening_towards(approach, np.cos(yaw), np.sin(yaw))
    return np.stack([approach, cross(opening, approach), opening]).transpose(2, 1, 0)


ARM: Arm = Ur5eArm()
