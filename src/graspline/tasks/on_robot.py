"""Which robot does a task: a parameter of every task whose scene is a table with any arm at it."""

from __future__ import annotations

from pydantic import Field, field_validator

from graspline.errors import GrasplineError
from graspline.parameters import Parameters
from graspline.robots.catalogue import DEFAULT_ROBOT, ROBOTS
from graspline.robots.robot import Robot


class OnRobot(Parameters):
    """A task's parameters begin with its robot.

    >>> from graspline import stages
    >>> stages.CubeParameters(robot="so101").the_robot.joints[-1]
    'gripper'
    """

    robot: str = Field(default=DEFAULT_ROBOT, description="robot that does it: a registered name or MODULE:NAME")

    @field_validator("robot")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            ROBOTS.find(name)
        except GrasplineError as error:
            raise ValueError(str(error)) from None
        return name

    @property
    def the_robot(self) -> Robot:
        return ROBOTS.find(self.robot)
