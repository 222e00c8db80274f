"""How an arm brings its tool to a pose that an operator names: its kinematics, and its tool centre point."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence
from graspline.kinematics.arm import STRAIGHT_DOWN_RAD, Arm, Solutions
from graspline.kinematics.arms import known_arm
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# Where the tool centre point is: where the robot's readings have it, on the tip of an SO-101's fixed jaw or between the
# shut fingertips of others, or midway between the jaws as they are.
TcpConvention = Literal["fixed_tip", "between"]

_TURN = 2 * np.pi
# Places that are tried for an example: so far apart, and as near to straight down as can be.
_EXAMPLE_STEP_M, _TILTS_RAD = 0.05, np.radians(np.arange(0, 85, 5))
# An example keeps clear of the joint limits, and of the table.
_EXAMPLE_MARGIN_RAD, _EXAMPLE_HEIGHT_M = 0.1, 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPose:
    """Where the tool centre point is, how it points and where its jaw opens to; see `kinematics.arm`."""

    position_m: Array
    pitch_rad: float
    yaw_rad: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OperatorKinematics:
    """The kinematics of one arm, for operators that name poses."""

    robot: Robot
    arm: Arm

    def tool_m(self, tcp: TcpConvention, gap_m: float) -> Array:
        """The tool centre point in the gripper's frame."""
        tool = np.array(self.robot.hand.tool_m if self.robot.hand else (0.0, 0.0, 0.0))
        if tcp == "fixed_tip":
            return tool
        law = self.robot.jaw_law
        # Where the middle is follows the jaw: fingertips may swing forward when they close.
        return tool + law.middle_m(float(law.angle_rad(gap_m)))

    def pose(self, joints_rad: Array, tool_m: Array) -> ToolPose:
        """Of a robot with its joints (nu,) there."""
        rows = joints_rad[None, self.robot.arm]
        position, rotation = self.arm.forward(rows, tool_m)
        opening = rotation[0, :, 2]
        pitch = float(self.arm.pitch_rad(rows)[0])
        return ToolPose(position_m=position[0], pitch_rad=pitch, yaw_rad=float(np.arctan2(opening[1], opening[0])))

    def solve(self, poses: list[ToolPose], tool_m: Array, near_rad: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Arm joints (N, branches, n) for poses that all have a yaw or all none, and which of them are solutions.

        Joints that turn more than once around take the turn nearest to `near_rad` (nu,).
        """
        solved, limits = self._solved(poses, tool_m), self.arm.limits
        turning = ~np.isin(limits.joints, limits.slides)
        turns = np.rint((near_rad[self.robot.arm] - solved.joints_rad) / _TURN) * turning
        joints = solved.joints_rad + _TURN * turns
        outside = (joints < limits.lower_rad) | (joints > limits.upper_rad)
        return np.where(outside, solved.joints_rad, joints), solved.reached

    def explain(self, pose: ToolPose, tool_m: Array) -> Evidence:
        """Which limits a pose that is not reached misses, and by how much."""
        return self._solved([pose], tool_m).explain(0)

    def _solved(self, poses: list[ToolPose], tool_m: Array) -> Solutions:
        yaws = [each.yaw_rad for each in poses if each.yaw_rad is not None]
        positions = np.stack([each.position_m for each in poses])
        pitches = np.array([each.pitch_rad for each in poses])
        return self.arm.solve(positions, pitches, np.array(yaws) if yaws else None, tool_m)

    def example(self) -> ToolPose:
        """A pose that the arm reaches from above: near where its tool is at home, and as steep as can be there."""
        tool_m = self.tool_m("fixed_tip", 0.0)
        robot, axis = self.robot, np.array(self.arm.axis_m)
        if robot.down is not None:
            return _rounded(self.pose(robot.down, tool_m), STRAIGHT_DOWN_RAD)
        home = self.pose(robot.home, tool_m)
        out = home.position_m[:2] - axis
        far = float(np.hypot(*out))
        radii, heights = (
            np.arange(first, last, _EXAMPLE_STEP_M) for first, last in ((far / 2, 1.5 * far), (_EXAMPLE_HEIGHT_M, far))
        )
        radius, height, tilt = (each.ravel() for each in np.meshgrid(radii, heights, _TILTS_RAD, indexing="ij"))
        points = np.column_stack([axis + radius[:, None] * out / max(far, 1e-9), height])
        pitch = STRAIGHT_DOWN_RAD - tilt
        reached = self.arm.solve(points, pitch, None, tool_m, _EXAMPLE_MARGIN_RAD).reached.any(axis=1)
        if not reached.any():
            return home
        steepest = np.flatnonzero(reached & (tilt == tilt[reached].min()))
        nearest = steepest[np.argmin(np.linalg.norm(points[steepest] - home.position_m, axis=1))]
        return _rounded(ToolPose(position_m=points[nearest], pitch_rad=0.0, yaw_rad=None), float(pitch[nearest]))


def _rounded(pose: ToolPose, pitch_rad: float) -> ToolPose:
    """To whole millimetres."""
    return ToolPose(position_m=np.round(pose.position_m, 3), pitch_rad=pitch_rad, yaw_rad=pose.yaw_rad)


@functools.cache
def reach_of(robot: Robot) -> OperatorKinematics | None:
    """None for a robot whose arm cannot be sent to a pose alone."""
    arm = known_arm(robot)
    return None if arm is None else OperatorKinematics(robot=robot, arm=arm)
