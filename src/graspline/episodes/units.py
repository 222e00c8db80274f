"""Joints as LeRobot names and measures them: degrees about the middle of the range, the gripper in percent.

Only dataset columns and the environment speak these units; everything else is in SI.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.robots.robot import Robot

Array = NDArray[np.float64]
Convention = Literal["degrees", "normalized"]

CONVENTIONS: tuple[Convention, ...] = ("degrees", "normalized")


@functools.cache
def joint_names(robot: Robot) -> tuple[str, ...]:
    """The names of `observation.state` and `action`."""
    return tuple(f"{joint}.pos" for joint in robot.joints)


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """One robot's joints in one convention.

    `degrees` measures body joints in degrees from the model's zero, which is the middle of the calibrated range, and
    those that slide in millimetres;
    `normalized` runs from -100 to 100 over the range. The gripper is 0 shut and 100 open in both.
    """

    scale: Array
    offset: Array

    def outward(self, joints_rad: Array) -> Array:
        """Joint positions (..., nu) in these units."""
        return joints_rad * self.scale + self.offset

    def inward(self, values: Array) -> Array:
        """The same values in radians."""
        return (values - self.offset) / self.scale


def units_of(robot: Robot, convention: Convention) -> Units:
    """The units of a robot's joints in a convention."""
    lower, upper = robot.limits.lower, robot.limits.upper
    scale, offset = np.where(robot.sliding, 1000.0, np.degrees(1.0)), np.zeros(len(lower))
    if convention == "normalized":
        scale = 200 / (upper - lower)
        offset = -100 - scale * lower
    scale[robot.jaw] = 100 / (upper[robot.jaw] - lower[robot.jaw])
    offset[robot.jaw] = -scale[robot.jaw] * lower[robot.jaw]
    return Units(scale, offset)
