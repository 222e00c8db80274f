"""A way out of a contact to a pose that touches nothing."""

from __future__ import annotations

import numpy as np

from graspline.kinematics.arms import arm_of
from graspline.motion.joint_moves import joint_move
from graspline.motion.path import Command, Path, check_path
from graspline.perception.core.beliefs import Belief
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot

# Turns of shoulder, elbow and wrist that are tried to get out of a contact, as shares of each other: first those that
# lift and retract; and how far, the nearest first.
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


def way_out(robot: Robot, world: CollisionWorld, start: Command, around: tuple[Belief, ...]) -> Path | None:
    """From a contact to a pose that touches nothing, no deeper into anything on the way; None where there is none."""
    world.place(around)
    folding = arm_of(robot).folding[:3]
    deepest_m = world.deepest_m(start.position[None]) - _DEEPER_M
    for angle in _OUT_RAD:
        for shares in _OUTWARDS:
            target = start.position.copy()
            target[list(folding)] += np.multiply(shares[: len(folding)], angle)
            target = np.clip(target, robot.limits.lower, robot.limits.upper)
            if not world.free(target):
                continue
            path = joint_move(robot, start, target, speed=0.3)
            if check_path(path, robot) is None and world.deepest_m(world.samples(path.positions)) >= deepest_m:
                return path
    return None
