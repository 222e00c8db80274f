"""The arm of any robot: its own closed form, or the iterative solver."""

from __future__ import annotations

import functools
import importlib

from graspline.errors import WiringError
from graspline.kinematics.arm import Arm
from graspline.robots.robot import Robot


@functools.cache
def arm_of(robot: Robot) -> Arm:
    """What planners ask about a robot's arm."""
    if not robot.closed_form:
        raise WiringError(f"{robot.name} has no closed form")
    module, _, name = robot.closed_form.partition(":")
    return getattr(importlib.import_module(module), name)
