"""Whether joints move as this robot can, in the units that the dataset declares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.datasets.check.contents import Contents
from graspline.datasets.check.findings import Findings
from graspline.datasets.format.rows import Row
from graspline.episodes.units import joint_names, units_of

Array = NDArray[np.float64]

# MuJoCo's joint limits give way a little when something presses.
_GIVE_RAD = 0.02
# Roundings of a number of some hundreds to float32.
_ROUNDING = 1e-4


def check_motion(
    contents: Contents, name: str, row: Row, state: NDArray[Any], action: NDArray[Any], found: Findings
) -> None:
    """Of one episode: `state` and `action` are (n, nu), in the dataset's units."""
    robot, settings = contents.dataset.scene.robot, contents.dataset.settings
    units, episode = units_of(robot, settings.units), row["episode_index"]
    joints, limits = joint_names(robot), robot.limits
    for column, values, give_rad in (("observation.state", state, _GIVE_RAD), ("action", action, 0.0)):
        low, high = units.outward(limits.lower - give_rad), units.outward(limits.upper + give_rad)
        for joint in np.flatnonzero(((values < low - _ROUNDING) | (values > high + _ROUNDING)).any(axis=0)):
            seen = f"{values[:, joint].min():.2f} to {values[:, joint].max():.2f}"
            message = f"{column} of {joints[joint]} is {seen}, and can be {low[joint]:.2f} to {high[joint]:.2f}"
            found.problem(name, f"{message} ({settings.units})", episode)
    farthest = units.scale * limits.velocity / settings.fps + _ROUNDING
    steps = np.abs(np.diff(action.astype(np.float64), axis=0))
    for joint in np.flatnonzero((steps > farthest).any(axis=0)):
        frame, step = int(steps[:, joint].argmax()), steps[:, joint].max()
        message = f"action of {joints[joint]} goes {step:.2f} in one frame, and can go {farthest[joint]:.2f}"
        found.problem(name, f"{message} ({settings.units}), after frame {frame}", episode)
    if len(action) > 1 and (np.array_equal(action, state) or np.array_equal(action[:-1], state[1:])):
        found.problem(name, "action is the state itself, in every frame: not what was commanded", episode)
