"""Every robot by name, ours and those of other distributions, and by description file; see `graspline.registry`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from graspline.errors import InputError
from graspline.registry import Registry

if TYPE_CHECKING:
    from graspline.robots.robot import Robot

# How a description file is called, and how a model.
_DESCRIPTIONS, _MODELS = (".yaml", ".yml"), (".xml", ".urdf")


def is_description(named: str) -> bool:
    """Whether this is the path of a description file rather than a name."""
    return named.endswith(_DESCRIPTIONS)


class _Robots(Registry["Robot"]):
    """Robots are found by their description files, too."""

    own = "MODULE:NAME or as a description file (.yaml)"

    def find(self, named: str) -> Robot:
        """The robot of this name, at this place `module:NAME`, or of this description file.

        Raises InputError if there is none, or with everything that is wrong with its description.
        """
        if is_description(named):
            # Imported when it is needed: robots of ours need none of it.
            from graspline.robots.mjcf import robot_from_file

            return robot_from_file(named)
        if named.endswith(_MODELS):
            raise InputError(
                f"robot {named!r}: a model alone does not say where its tool and home are; write a description of it "
                f"with `graspline new robot {named}`, and give that"
            )
        return super().find(named)


ROBOTS = _Robots("graspline.robots", "robot", "graspline.robots.robot:Robot")
"""Every installed robot by name; those of other distributions are entry points of the group `graspline.robots`.

>>> from graspline import ROBOTS
>>> ROBOTS["so101"].joints[0]
'shoulder_pan'

`find` also takes a place `module:NAME`, and the description file of a robot of your own:

>>> from graspline import InputError
>>> try:
...     ROBOTS.find("no_such_arm.yaml")
... except InputError as error:
...     print(error)
no_such_arm.yaml: cannot be read: No such file or directory
"""

# The robot of a task that names none.
DEFAULT_ROBOT = "so101"
# That of a sorting line.
LINE_ROBOT = "ur5e"


def default_robot() -> Robot:
    """The robot of a scene that names none."""
    return ROBOTS[DEFAULT_ROBOT]


def kept_name(named: str) -> str:
    """What finds the same robot again from another folder or process."""
    return str(Path(named).resolve()) if is_description(named) else named
