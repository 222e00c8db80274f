"""Which robot does a task: a parameter of every task whose scene is a table with any arm at it."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from graspline.errors import GrasplineError, InputError, WiringError
from graspline.kinematics.arms import arm_of
from graspline.parameters import Parameters, Range
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
            raise InputError(f"robot {name!r}: {error}") from None
    return robot


class OnRobot(Parameters):
    """A task's parameters begin with its robot.

    >>> from graspline import stages
    >>> stages.CubeParameters(robot="so101").the_robot.joints[-1]
    'gripper'
    """

    # Distances from the robot and speeds over them, by `section.key`, whose defaults are those of an arm of relative
    # size 1: a larger one has them in proportion.
    scaled: ClassVar[tuple[str, ...]] = ()

    robot: str = Field(
        default=DEFAULT_ROBOT, description="robot that does it: a registered name, MODULE:NAME or description file"
    )

    @model_validator(mode="before")
    @classmethod
    def _scaled_to_robot(cls, given: Any) -> Any:
        """Fill in what is not given, so that parameters that are saved say it in numbers."""
        size = _relative_size(given.get("robot")) if isinstance(given, dict) else 1.0
        if size == 1.0:
            return given
        filled = dict(given)
        for path in cls.scaled:
            section, _, key = path.partition(".")
            asked = filled.get(section, {})
            if isinstance(asked, dict) and key not in asked:
                usual = getattr(cls.model_fields[section].default, key)
                filled[section] = {**asked, key: _times(usual, size)}
        return filled

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
        """The robot that does the task."""
        return ROBOTS.find(self.robot)


def _relative_size(name: object) -> float:
    """1 for a robot that is not known, which is refused elsewhere."""
    try:
        return ROBOTS.find(name).relative_size if isinstance(name, str) else 1.0
    except GrasplineError:
        return 1.0


def _times(usual: Range | float, size: float) -> Range | float:
    """To whole centimetres, and centimetres per second."""
    if isinstance(usual, Range):
        return Range(round(usual.low * size, 2), round(usual.high * size, 2))
    return round(usual * size, 2)
