"""Which robot does a task: a parameter of every task whose scene is a table with any arm at it."""

from __future__ import annotations

from pydantic import Field, field_validator

from graspline.errors import GrasplineError, InputError, WiringError
from graspline.kinematics.arms import arm_of
from graspline.parameters import Parameters
from graspline.robots.catalogue import DEFAULT_ROBOT, ROBOTS, kept_name
from graspline.robots.robot import Robot


def able_robot(name: str) -> Robot:
    """The robot of this name, place or description file. Raises InputError where there is none that can do a task."""
    robot = ROBOTS.find(name)
    if not robot.closed_form:
        # Of any other arm it is not known yet whether it can be solved for.
        try:
            arm_of(robot)
        except WiringError as error:
            raise InputError(f"robot {error}") from None
    return robot


class OnRobot(Parameters):
    """A task's parameters begin with its robot.

    >>> from graspline import stages
    >>> stages.CubeParameters(robot="so101").the_robot.joints[-1]
    'gripper'
    """

    robot: str = Field(
        default=DEFAULT_ROBOT, description="robot that does it: a registered name, MODULE:NAME or description file"
    )

    @field_validator("robot")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            able_robot(name)
        except GrasplineError as error:
            raise ValueError(str(error)) from None
        return kept_name(name)

    @property
    def the_robot(self) -> Robot:
        return ROBOTS.find(self.robot)
