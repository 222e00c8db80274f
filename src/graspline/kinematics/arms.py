"""The arm of any robot: its own closed form, or the numerical one."""

from __future__ import annotations

import functools
import importlib

from graspline.errors import WiringError
from graspline.kinematics.arm import Arm
from graspline.kinematics.numeric import NumericArm
from graspline.robots.robot import Robot


@functools.cache
def arm_of(robot: Robot) -> Arm:
    """What planners ask about a robot's arm. Raises WiringError where its joints are no arm that can be solved for."""
    if not robot.closed_form:
        return NumericArm(robot)
    module, _, name = robot.closed_form.partition(":")
    return getattr(importlib.import_module(module), name)


@functools.cache
def known_arm(robot: Robot) -> Arm | None:
    """The same; None where there is none, as for a base on wheels that takes part in every reach."""
    try:
        return arm_of(robot)
    except WiringError:
        return None
