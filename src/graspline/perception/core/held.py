"""What is in a hand, as believed from when the hand closed around it, or as planned before."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.perception.core.beliefs import Belief, Shape
from graspline.spatial.poses import Pose

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldObject:
    """What it is, where it is in the hand, and what the hand does with it and feels of it, where a task knows that.

    H is the frame of the hand: the tool's, as readings give it and collisions are checked; in plans with an `Arm` the
    gripper's, from which its tool points count.
    """

    name: str
    shape: Shape
    half_extents_m: Array
    X_HO: Pose  # of its middle
    # The position of the jaw that is commanded, and the one that lets go of it; of a ball None: clear of it, but no
    # further, for others may lie beside it.
    jaw_rad: float = math.nan
    open_rad: float | None = None
    # Which branch of the arm holds it.
    branch: int = 0
    # Between the pads, as felt when they had closed; below this jaw angle nothing as wide is held.
    gap_m: float = math.nan
    least_jaw_rad: float = math.nan
    # Of hand and object beyond the wrist's sensor.
    mass_kg: float = math.nan
    # Of the plane it stood on: in the middle of its bottom, as O was turned then.
    stood: Pose | None = None
    # Whether it was taken from the top.
    top: bool = False

    @classmethod
    def of(cls, belief: Belief, hand: Pose) -> HeldObject:
        """What the hand holds once it has closed around this, its frame where it is."""
        return cls(
            name=belief.name,
            shape=belief.shape,
            half_extents_m=belief.half_extents_m,
            X_HO=belief.pose.seen_from(hand),
        )

    @property
    def centre_m(self) -> tuple[float, float, float]:
        """The centre, relative to the hand."""
        x, y, z = self.X_HO.position_m.tolist()
        return x, y, z

    @property
    def round(self) -> bool:
        """A ball may be turned in any way, and is let go by the least opening."""
        return self.shape == "ball"

    @property
    def spread_m(self) -> float:
        """How far it reaches around its own z axis."""
        half_x, half_y, _ = self.half_extents_m
        return float(np.hypot(half_x, half_y)) if self.shape == "box" else float(half_x)

    @property
    def half_height_m(self) -> float:
        """How far it reaches along its own z axis."""
        return float(self.half_extents_m[2])

    @property
    def X_HB(self) -> Pose:
        """Where the middle of the bottom is that it stood on."""
        assert self.stood is not None, "its bottom is not known"
        return self.stood

    @property
    def R_OH(self) -> Array:
        """How the hand was turned when the object stood upright, and has to be for that."""
        return self.X_HB.rotation.T

    def at(self, pose: Pose) -> Belief:
        """The same where its middle is at a pose."""
        return Belief.exact(self.name, pose.position_m, pose.quaternion, self.half_extents_m, shape=self.shape)
