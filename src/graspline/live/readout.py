"""Where the tool is and what the hand feels, from this tick's readings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.engine.layout import Readings
from graspline.kinematics.reach import TcpConvention
from graspline.scenes.scene import Scene
from graspline.spatial.poses import Pose
from graspline.spatial.rotations import matrix_from_quaternion

Array = NDArray[np.float64]

# The site that the readings of the tool are taken at.
_TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Readout:
    """One tick's readings as people want them."""

    joints_rad: Array
    tcp: Pose
    gripper: Pose
    tool_mid_m: Array
    jaw_gap_m: float
    jaw_rad: float
    pad_forces_n: tuple[float, float]


class Instruments:
    """Turns readings into readouts for one scene."""

    def __init__(self, scene: Scene) -> None:
        self._robot = scene.robot
        site = scene.model.site(_TOOL)
        # The tool in the frame of the body that carries it: the gripper.
        self._p_GT, self._R_GT = np.array(site.pos), matrix_from_quaternion(np.array(site.quat))

    def read(self, readings: Readings, tcp: TcpConvention) -> Readout:
        robot, joints = self._robot, readings.joints.copy()
        R_WT, p_WT = readings.tool_rotation, readings.tool_position_m.copy()
        gap_m = float(robot.jaw_law.gap_m(joints[robot.jaw]))
        middle = p_WT + R_WT @ robot.jaw_law.middle_m(float(joints[robot.jaw]))
        R_WG = R_WT @ self._R_GT.T
        return Readout(
            joints_rad=joints,
            tcp=Pose(position_m=middle if tcp == "between" else p_WT, rotation=R_WT),
            gripper=Pose(position_m=p_WT - R_WG @ self._p_GT, rotation=R_WG),
            tool_mid_m=middle,
            jaw_gap_m=gap_m,
            jaw_rad=float(joints[robot.jaw]),
            pad_forces_n=readings.pad_forces_n(),
        )
