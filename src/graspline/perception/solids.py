"""What is believed to stand somewhere: perception's output, planning's input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.spatial.rotations import matrix_from_quaternion, yaw_of

Array = NDArray[np.float64]
Shape = Literal["box", "cylinder", "ball"]
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solid:
    """Something believed to be there, with one standard deviation of place and heading; in O.

    Cylinders stand along their own z. Furniture is solids as well.
    """

    # Of a known object, else "unknown".
    name: str
    shape: Shape
    # (3,), its middle.
    position_m: Array
    # w first.
    quaternion: Array
    # (3,); of a cylinder: radius, radius, half its height.
    half_extents_m: Array
    # Of each horizontal coordinate of the middle.
    position_sigma_m: float
    # Zero for what is round.
    yaw_sigma_rad: float

    @property
    def rotation(self) -> Array:
        return matrix_from_quaternion(self.quaternion)

    @property
    def yaw_rad(self) -> float:
        return float(yaw_of(self.quaternion))

    @property
    def top_m(self) -> float:
        """Height of its highest point."""
        return float(self.position_m[2] + self._reach_m[2])

    @property
    def bottom_m(self) -> float:
        """Height of its lowest point."""
        return float(self.position_m[2] - self._reach_m[2])

    @property
    def _reach_m(self) -> Array:
        """(3,): half the sides of the box along the axes of O around it."""
        rotation, half = np.abs(self.rotation), self.half_extents_m
        if self.shape == "ball":
            return half
        if self.shape == "box":
            return np.einsum("ij,j->i", rotation, half)
        leaning = np.sqrt(np.maximum(1 - rotation[:, 2] ** 2, 0.0))
        return half[0] * leaning + half[2] * rotation[:, 2]
