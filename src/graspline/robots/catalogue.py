"""Every robot by name, ours and those of other distributions; see `graspline.registry`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from graspline.errors import InputError
from graspline.registry import Registry

if TYPE_CHECKING:
    from graspline.robots.robot import Robot

ROBOTS: Registry[Robot] = Registry("graspline.robots", "robot", "graspline.robots.robot:Robot")
"""Every installed robot by name; those of other distributions are entry points of the group `graspline.robots`.

>>> from graspline import ROBOTS
>>> ROBOTS["so101"].joints[0]
'shoulder_pan'
"""

# How a description file is called.
SUFFIXES = (".yaml", ".yml")
_MODELS = (".xml", ".urdf")
# The robot of a task that names none.
DEFAULT_ROBOT = "so101"
# That of a sorting line.
LINE_ROBOT = "ur5e"


def default_robot() -> Robot:
    """The robot of a scene that names none."""
    return ROBOTS[DEFAULT_ROBOT]


def find_robot(named: str) -> Robot:
    """The robot of this name, at this place `module:NAME`, or of this description file.

    Raises `InputError` if there is none, or with everything that is wrong with its description.
    """
    if is_file(named):
        # Imported when it is needed: robots of ours need none of it.
        from graspline.robots.mjcf import robot_from_file

        return robot_from_file(named)
    if named.endswith(_MODELS):
        raise InputError(
            f"robot {named!r}: a model alone does not say where its tool and home are; write a description of it with "
            f"`graspline new robot {named}`, and give that"
        )
    return ROBOTS.find(named)


def kept_name(named: str) -> str:
    """What finds the same robot again from another folder or process."""
    return str(Path(named).resolve()) if is_file(named) else named


def is_file(named: str) -> bool:
    """Whether a robot is named by its description file."""
    return named.endswith(SUFFIXES)
