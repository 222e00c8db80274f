"""A pose: position and rotation that travel together. `X_WO = X_WG @ X_GO`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.spatial.rotations import quaternion_from_matrix

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pose:
    """Where one frame is in another, (3,), and how it is turned there, (3, 3), its axes as columns."""

    position_m: Array
    rotation: Array

    @property
    def quaternion(self) -> Array:
        """(4,), w first."""
        return quaternion_from_matrix(self.rotation)

    def __matmul__(self, other: Pose) -> Pose:
        """The other, which is given in this frame, in this one's own parent."""
        return Pose(position_m=self.apply(other.position_m), rotation=self.rotation @ other.rotation)

    def apply(self, point_m: Array) -> Array:
        """A point (3,) of this frame in its parent."""
        return self.position_m + self.rotation @ point_m

    def seen_from(self, frame: Pose) -> Pose:
        """The same in another frame of the same parent."""
        turned = frame.rotation.T
        return Pose(position_m=turned @ (self.position_m - frame.position_m), rotation=turned @ self.rotation)

    def inverse(self) -> Pose:
        """The parent in this frame."""
        return Pose(position_m=-self.rotation.T @ self.position_m, rotation=self.rotation.T)
