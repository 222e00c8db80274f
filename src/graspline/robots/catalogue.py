"""Every robot by name, ours and those of other distributions; see `graspline.registry`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graspline.registry import Registry

if TYPE_CHECKING:
    from graspline.robots.robot import Robot

ROBOTS: Registry[Robot] = Registry("graspline.robots", "robot", "graspline.robots.robot:Robot")
"""Every installed robot by name; those of other distributions are entry points of the group `graspline.robots`.

>>> from graspline import ROBOTS
>>> ROBOTS["so101"].joints[0]
'shoulder_pan'
"""

# The robot of a task that names none.
DEFAULT_ROBOT = "so101"
# That of a sorting line.
LINE_ROBOT = "ur5e"


def default_robot() -> Robot:
    """The robot of a scene that names none."""
    return ROBOTS[DEFAULT_ROBOT]
