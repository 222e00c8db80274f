"""A UR5e's hand along lines: one posture, one rotation, joints counted through."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics import ur5e
from graspline.robots.ur5e import HOME

Array = NDArray[np.float64]

# Elbow and wrist 2 keep home's sign. Pan and wrist 3 stay within little more than half a turn of home: taken as near as
# may be to where they are, move by move, they would wind up until a limit stops them.
_UNWOUND_RAD = 3.3
_LOWER, _UPPER = ur5e.ARM_LOWER.copy(), ur5e.ARM_UPPER.copy()
_LOWER[[0, 5]], _UPPER[[0, 5]] = HOME[[0, 5]] - _UNWOUND_RAD, HOME[[0, 5]] + _UNWOUND_RAD
_LOWER[2] = _UPPER[4] = 0.0
_LOWER[4] = -np.pi


@dataclass(frozen=True, slots=True)
class Ur5eHand:
    """What moves of a UR5e's tool are planned with; `tool_m` is how far it lies before the flange."""

    tool_m: float = ur5e.TOOL_M

    def forward(self, joints_rad: Array) -> tuple[Array, Array]:
        return ur5e.forward(joints_rad, self.tool_m)

    def follow(self, points_m: Array, rotation: Array, near_rad: Array) -> Array | None:
        found = ur5e.continuous(points_m, rotation, near_rad, _LOWER, _UPPER, tool_m=self.tool_m)
        return found.joints_rad if found.complete else None
