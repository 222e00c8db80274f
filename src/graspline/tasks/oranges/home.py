"""Where the arm goes when it is done."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arms import arm_of
from graspline.kinematics.tilts import steepest_pitch
from graspline.robots.robot import Robot
from graspline.tasks.oranges.parameters import Oranges

Array = NDArray[np.float64]

_MAX_TILT_RAD = 1.5


def home_joints(robot: Robot, settings: Oranges) -> Array:
    """The home pose of a configuration that has no problems."""
    home = settings.home
    found = _solved(robot, home.x_m, home.y_m, home.z_m)
    assert found is not None
    return found


def home_problems(settings: Oranges) -> list[str]:
    home = settings.home
    given = [each is not None for each in (home.x_m, home.y_m, home.z_m)]
    if any(given) and not all(given):
        return ["home: give all of x_m, y_m and z_m, or none"]
    if _solved(settings.the_robot, home.x_m, home.y_m, home.z_m) is None:
        return [f"home: the arm cannot reach ({home.x_m:g}, {home.y_m:g}, {home.z_m:g})"]
    return []


@functools.lru_cache(maxsize=16)
def _solved(robot: Robot, x_m: float | None, y_m: float | None, z_m: float | None) -> Array | None:
    """Joints with the fingertips there, the hand as steep as it gets; the robot's own home if none is asked for."""
    if x_m is None or y_m is None or z_m is None:
        return robot.home
    arm, tip_m = arm_of(robot), np.array([robot.hand.tool_m[0], 0.0, 0.0])
    position = np.array([[x_m, y_m, z_m]])
    pitch, reached = steepest_pitch(arm, position, None, tip_m, _MAX_TILT_RAD, 0.02)
    if not reached[0]:
        return None
    joints, found = arm.solve(position, pitch, None, tip_m, 0.02).best()
    return np.append(joints[0], robot.home[-1]) if found[0] else None
