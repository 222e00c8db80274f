"""How each arm brings its tool to a pose: the closed form a session uses, by the name of the robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence
from graspline.kinematics import so101
from graspline.robots.so101 import FIXED_TIP_M, SO101

Array = NDArray[np.float64]

# Where the tool centre point is: on the tip of the fixed jaw, as the maker has it, or midway between the jaws.
TcpConvention = Literal["fixed_tip", "between"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPose:
    """Where the tool centre point is, how it points and where its jaw opens to; see `kinematics.so101`."""

    position_m: Array
    pitch_rad: float
    yaw_rad: float | None


class Reach(Protocol):
    """The kinematics of one arm, for people who name poses."""

    def tool_m(self, tcp: TcpConvention, gap_m: float) -> Array:
        """The tool centre point in the gripper's frame."""
        ...

    def pose(self, joints_rad: Array, tool_m: Array) -> ToolPose: ...

    def solve(self, poses: list[ToolPose], tool_m: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Arm joints (N, branches, n) for poses that all have a yaw or all none, and which of them are solutions."""
        ...

    def explain(self, pose: ToolPose, tool_m: Array) -> Evidence:
        """Which limits a pose that is not reached misses, and by how much."""
        ...


class So101Reach:
    """The SO-101's closed form."""

    def tool_m(self, tcp: TcpConvention, gap_m: float) -> Array:
        along, lateral, opening = FIXED_TIP_M
        return np.array([along, lateral, opening + (gap_m / 2 if tcp == "between" else 0.0)])

    def pose(self, joints_rad: Array, tool_m: Array) -> ToolPose:
        position, rotation = so101.forward(joints_rad, tool_m)
        opening = rotation[0, :, 2]
        # The three joints of the arm's plane turn about one axis.
        pitch = float(joints_rad[1:4].sum())
        return ToolPose(position_m=position[0], pitch_rad=pitch, yaw_rad=float(np.arctan2(opening[1], opening[0])))

    def solve(self, poses: list[ToolPose], tool_m: Array) -> tuple[Array, NDArray[np.bool_]]:
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


REACHES: Mapping[str, Reach] = MappingProxyType({SO101.name: So101Reach()})
