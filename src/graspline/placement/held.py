"""What is in the hand, as everything that carries it sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.grasping.candidates import Grasp
from graspline.perception.beliefs import Belief
from graspline.robots.robot import Robot


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldObject:
    """An object in the hand: where it is there, how large it is, and how the hand holds it."""

    name: str
    # Its centre in the gripper frame.
    centre_m: tuple[float, float, float]
    # How far it reaches around its upright axis, and along it; of a ball both are its radius.
    spread_m: float
    half_height_m: float
    # The position of the jaw that is commanded, and the one that lets go of it; of a ball None: clear of it, but no
    # further, for others may lie beside it.
    jaw_rad: float
    open_rad: float | None
    # Which branch of the arm holds it.
    branch: int

    @property
    def round(self) -> bool:
        """A ball may be turned in any way, and is let go by the least opening."""
        return self.open_rad is None


def held_after(
    robot: Robot,
    estimate: Belief,
    grasp: Grasp,
    branch: int,
    along_m: float | None = None,
    beside_m: NDArray[np.float64] | None = None,
) -> HeldObject:
    """An upright object as it will be in the hand once that has closed: against the fixed finger, or in the middle.

    It is held `along_m` from the gripper frame's origin; by default where the grasp meets it. The middle of a mesh is
    `beside_m`, (2,) in W, from the point half way between the sides that the hand closes on, and between its foot and
    top.
    """
    half_height_m = estimate.half_height_m
    along = grasp.tool_m[0] if along_m is None else along_m
    lateral, across = 0.0, robot.hand.across_m(0.0, grasp.width_m / 2)
    if estimate.rest is not None and beside_m is not None:
        half_height_m = (estimate.rest.height_m + estimate.rest.rise_m) / 2
        along += estimate.rest.height_m - half_height_m
        # The hand points straight down, so its y axis is to the left of where the jaws open to.
        cosine, sine = np.cos(grasp.yaw_rad), np.sin(grasp.yaw_rad)
        lateral = float(beside_m @ (-sine, cosine))
        across += float(beside_m @ (cosine, sine))
    return HeldObject(
        name=estimate.name,
        centre_m=(along, lateral, across),
        spread_m=estimate.spread_m,
        half_height_m=half_height_m,
        jaw_rad=grasp.touch_rad,
        open_rad=grasp.open_rad,
        branch=branch,
    )
