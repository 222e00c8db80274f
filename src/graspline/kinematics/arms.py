"""Every arm whose workspace can be measured, by the name of its robot."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics import so101, ur5e
from graspline.kinematics.workspace import Arm
from graspline.robots.so101 import FIXED_TIP_M, LOWER, SO101, UPPER
from graspline.robots.ur5e import UR5E

_TOOL = np.array(FIXED_TIP_M)


def _so101_reaches_down(points: NDArray[np.float64], yaw: NDArray[np.float64]) -> NDArray[np.bool_]:
    reached = so101.solve(points, so101.STRAIGHT_DOWN_RAD, yaw, _TOOL).reached
    return np.any(reached, axis=1)


def _ur5e_reaches_down(points: NDArray[np.float64], yaw: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.any(ur5e.solve(points, ur5e.straight_down(yaw)).reached, axis=1)


ARMS: Mapping[str, Arm] = MappingProxyType(
    {
        SO101.name: Arm(
            name=SO101.name,
            axis_m=(so101.PAN_X_M, 0.0),
            lower_rad=LOWER[:5],
            upper_rad=UPPER[:5],
            radius_m=(0.0, 0.45),
            height_m=(-0.3, 0.3),
            forward=lambda joints: so101.forward(joints, _TOOL)[0],
            reaches_down=_so101_reaches_down,
        ),
        UR5E.name: Arm(
            name=UR5E.name,
            axis_m=(0.0, 0.0),
            lower_rad=ur5e.ARM_LOWER,
            upper_rad=ur5e.ARM_UPPER,
            radius_m=(0.0, 0.95),
            height_m=(-0.95, 0.8),
            forward=lambda joints: ur5e.forward(joints)[0],
            reaches_down=_ur5e_reaches_down,
        ),
    }
)
