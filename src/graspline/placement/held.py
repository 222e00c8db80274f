"""What is in the hand, as everything that carries it sees it."""

from __future__ import annotations

from dataclasses import dataclass

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


def held_after(robot: Robot, estimate: Belief, grasp: Grasp, branch: int, along_m: float | None = None) -> HeldObject:
    """An upright object as it will be in the hand once that has closed: against the fixed finger, or in the middle.

    It is held `along_m` from the gripper frame's origin; by default where the grasp meets it.
    """
    return HeldObject(
        name=estimate.name,
        centre_m=(grasp.tool_m[0] if along_m is None else along_m, 0.0, robot.hand.across_m(0.0, grasp.width_m / 2)),
        spread_m=estimate.spread_m,
        half_height_m=estimate.half_height_m,
        jaw_rad=grasp.touch_rad,
        open_rad=grasp.open_rad,
        branch=branch,
    )
