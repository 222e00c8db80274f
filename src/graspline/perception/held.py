"""What is in a hand, as it was believed to be when that closed around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.perception.beliefs import Belief, Shape
from graspline.spatial.poses import Pose

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Held:
    """Its shape and size, and X_TO: where its middle is in the tool frame."""

    shape: Shape
    half_extents_m: Array
    X_TO: Pose

    @classmethod
    def of(cls, belief: Belief, tool: Pose) -> Held:
        """What the hand holds once it has closed around this, its tool where it is."""
        return cls(shape=belief.shape, half_extents_m=belief.half_extents_m, X_TO=belief.pose.seen_from(tool))

    def at(self, pose: Pose, name: str) -> Belief:
        """The same where its middle is at a pose."""
        return Belief(
            name=name,
            shape=self.shape,
            position_m=pose.position_m,
            quaternion=pose.quaternion,
            half_extents_m=self.half_extents_m,
            position_sigma_m=0.0,
            yaw_sigma_rad=0.0,
        )
