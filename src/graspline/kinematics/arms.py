"""The arm of any robot: its own closed form, or the numerical one."""

from __future__ import annotations

import functools
import importlib
from typing import cast

from graspline.errors import WiringError
from graspline.kinematics.arm import Arm
from graspline.kinematics.numeric import NumericArm
from graspline.kinematics.whole_body import WholeBody
from graspline.robots.robot import Robot


@functools.cache
def arm_of(robot: Robot) -> Arm:
    """What planners ask about a robot's arm. Raises WiringError where its joints are no arm that can be solved for."""
    if robot.base_joints:
        raise WiringError(f"{robot.name} drives as it reaches; its arm alone is not solved for")
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


@functools.cache
def whole_body_of(robot: Robot) -> WholeBody:
    """What planners ask about a robot whose base takes part in every reach. Raises WiringError where it has none."""
    if not (robot.base_joints and robot.closed_form):
        raise WiringError(f"{robot.name} has no kinematics of a whole body: it needs base_joints and a closed form")
    return cast(WholeBody, importlib.import_module(robot.closed_form))
