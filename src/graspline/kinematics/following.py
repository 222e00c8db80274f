"""A UR5e's hand along lines: one posture, one rotation, joints counted through."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics import ur5e

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ur5eHand:
    """What moves of a UR5e's tool are planned with; `tool_m` is how far it lies before the flange."""

    tool_m: float = ur5e.TOOL_M

    def forward(self, joints_rad: Array) -> tuple[Array, Array]:
        return ur5e.forward(joints_rad, self.tool_m)

    def follow(self, points_m: Array, rotation: Array, near_rad: Array) -> Array | None:
        found = ur5e.continuous(points_m, rotation, near_rad, tool_m=self.tool_m)
        return found.joints_rad if found.complete else None
