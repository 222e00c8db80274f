"""Which part of a motion leads through free space, where the arm may be pushed off its path."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from graspline.execution.requests import Free
from graspline.kinematics.arms import arm_of
from graspline.motion.joint_moves import joint_move
from graspline.motion.path import Command, Path, check_path
from graspline.perception.core.beliefs import Belief
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# How far open fingertips stay above the top of an object until they come down along its sides.
_OVER_M = 0.006
# From this height on an object that is lifted may be pushed, and down to this height one that is set down.
HELD_CLEAR_M = 0.02


def straight_to(
    robot: Robot,
    world: CollisionWorld,
    around: tuple[Belief, ...],
    end: Array,
    speed: float,
) -> Callable[[Command], Path | None]:
    """Plans straight on in joint space to where a motion ends, checked like any plan."""

    def again(start: Command) -> Path | None:
        path = joint_move(robot, start, end, speed=speed)
        if check_path(path, robot) is not None:
            return None
        world.place(around)
        return path if world.first_collision(world.samples(path.positions)) is None else None

    return again


def over_object(robot: Robot, path: Path, estimate: Belief) -> Free:
    """While open fingertips are above an object that the motion brings them down to."""
    top_m = float(estimate.position_m[2] + np.abs(estimate.rotation[2]) @ estimate.half_extents_m)
    if estimate.shape == "ball":
        top_m = float(estimate.position_m[2]) + estimate.radius_m
    return Free(until=_last(_heights_m(robot, path) >= top_m + _OVER_M))


def towards(
    robot: Robot, world: CollisionWorld, path: Path, estimate: Belief, others: tuple[Belief, ...], speed: float
) -> Free:
    """A way to above an object, which can be planned again, or one that comes down to it in the end."""
    free = over_object(robot, path, estimate)
    if free.until != path.ticks:
        return free
    return Free(again=straight_to(robot, world, (estimate, *others), path.end, speed))


def above_end(robot: Robot, path: Path, height_m: float = HELD_CLEAR_M) -> Free:
    """While the hand is so high above where the motion ends."""
    heights_m = _heights_m(robot, path)
    return Free(until=_last(heights_m - heights_m[-1] >= height_m))


def above_start(robot: Robot, path: Path, height_m: float = HELD_CLEAR_M) -> Free:
    """Once the hand is so high above where the motion starts."""
    heights_m = _heights_m(robot, path)
    high = heights_m - heights_m[0] >= height_m
    return Free(since=int(np.argmax(high)) if high.any() else path.ticks)


def _heights_m(robot: Robot, path: Path) -> Array:
    return arm_of(robot).forward(path.positions, np.array([robot.hand.tip_m, 0.0, 0.0]))[0][:, 2]


def _last(flags: NDArray[np.bool_]) -> int:
    """The last row at which a flag is set; 0 if there is none."""
    return len(flags) - 1 - int(np.argmax(flags[::-1])) if flags.any() else 0
