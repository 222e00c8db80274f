"""A way to an arm pose that touches nothing: straight in joint space, or around; and out of a contact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.motion.joint_moves import join, joint_move
from graspline.motion.path import Command, Path, at_rest, check_path
from graspline.perception.beliefs import Belief
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# Turns of shoulder, elbow and wrist that are tried to get out of a contact, as shares of each other: first those that
# lift and draw in; and how far, the nearest first.
_OUTWARDS = (
    (-1.0, 0.0, 0.0),
    (0.0, 0.0, -1.0),
    (0.0, 0.0, 1.0),
    (-1.0, 0.0, -1.0),
    (-1.0, 0.0, 1.0),
    (0.0, -1.0, 0.0),
    (0.0, 1.0, 0.0),
    (-1.0, -1.0, 0.0),
    (-1.0, 1.0, 0.0),
    (0.0, -1.0, 1.0),
    (0.0, 1.0, -1.0),
)
_OUT_RAD = (0.05, 0.1, 0.2, 0.35, 0.6, 1.0)
# How much deeper into a contact a way out of it may lead.
_DEEPER_M = 0.0005


def free_way(
    robot: Robot,
    world: CollisionWorld,
    start: Command,
    target: Array,
    around: tuple[Belief, ...],
    *,
    speed: float = 0.5,
) -> Path | None:
    """A checked way to an arm pose, the jaws as they are: straight, or in parts.

    Parts draw the arm in or raise it first, or turn the wrist last.
    """
    goal = np.append(target[robot.arm], start.position[robot.jaw])
    drawn, raised, unturned = goal.copy(), start.position.copy(), goal.copy()
    drawn[0] = start.position[0]
    # Close to the base the camera on the wrist may turn only once the arm is stretched.
    unturned[-2] = start.position[-2]
    # Lifting the shoulder takes the hand up and in, whatever it is above of.
    raised[1] = max(float(raised[1]) - 0.35, float(robot.limits.lower[1]) + 0.05)
    for stops in ((goal,), (drawn, goal), (raised, goal), (raised, drawn, goal), (unturned, goal)):
        path = joint_move(robot, start, stops[0], speed=speed)
        for stop in stops[1:]:
            path = join(path, joint_move(robot, at_rest(path.end), stop, speed=speed))
        if check_path(path, robot) is None and not _hits(world, path, around, start):
            return path
    return None


def way_out(robot: Robot, world: CollisionWorld, start: Command, around: tuple[Belief, ...]) -> Path | None:
    """From a contact to a pose that touches nothing, no deeper into anything on the way; None where there is none."""
    world.place(around)
    deepest_m = world.deepest_m(start.position[None]) - _DEEPER_M
    for angle in _OUT_RAD:
        for shares in _OUTWARDS:
            target = start.position.copy()
            target[1:4] += np.multiply(shares, angle)
            target = np.clip(target, robot.limits.lower, robot.limits.upper)
            if world.first_collision(target[None]) is not None:
                continue
            path = joint_move(robot, start, target, speed=0.3)
            if check_path(path, robot) is None and world.deepest_m(world.samples(path.positions)) >= deepest_m:
                return path
    return None


def _hits(world: CollisionWorld, path: Path, around: tuple[Belief, ...], start: Command) -> bool:
    """Whether the way touches anything but what the hand touches already where it stands."""
    world.place(around)
    if world.first_collision(start.position[None]) is not None:
        # Touching something from the start: it may be the very thing that was let go.
        world.place(tuple(each for each in around if not _beside(world, each, start)))
    return world.first_collision(world.samples(path.positions)) is not None


def _beside(world: CollisionWorld, thing: Belief, start: Command) -> bool:
    world.place((thing,))
    return world.first_collision(start.position[None]) is not None
