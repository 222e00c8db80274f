"""What a motion must keep to before any lane plays it, whatever made it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.execution.requests import Disturbed, Motion
from graspline.motion.path import CONTINUITY, Command, Path, check_corners, check_path
from graspline.robots.robot import Robot

Array = NDArray[np.float64]


def check_motion(motion: Motion, robot: Robot, command: Command, *, allow_truth: bool) -> None:
    """Refuse a motion that breaks the robot's limits, jumps from the command in force, or watches what it must not."""
    path = motion.path
    if path.dt_s != robot.dt_s:
        raise WiringError(
            f"motion {motion.name!r} is sampled every {path.dt_s} s, the robot ticks every {robot.dt_s} s"
        )
    if path.ticks < 1:
        raise WiringError(f"motion {motion.name!r} has no tick to play; a path has at least two rows")
    apart = _apart(path.positions[0], command.position)
    drift = 0.0 if motion.corners else _apart(path.velocities[0], command.velocity)
    if not (apart <= CONTINUITY and drift <= CONTINUITY):
        raise WiringError(
            f"motion {motion.name!r} starts {apart:.2g} rad and {drift:.2g} rad/s away from the command in force"
        )
    refused = check_corners(path, robot) if motion.corners else check_path(path, robot)
    if refused is not None:
        raise WiringError(f"motion {motion.name!r} breaks limits: {refused.measured}")
    if motion.disturbed is not None:
        _check_intention(motion, motion.disturbed, robot)
    by_truth = any(each is not None and each.look is None for each in (motion.watch, motion.place))
    if by_truth and not allow_truth:
        raise WiringError(f"motion {motion.name!r} watches truth, which this scenario does not name")


def _check_intention(motion: Motion, disturbed: Disturbed, robot: Robot) -> None:
    path, intended = motion.path, disturbed.intended
    if intended.shape != path.positions.shape or len(disturbed.off) != len(intended):
        raise WiringError(f"motion {motion.name!r} has {len(path.positions)} rows, what was intended {len(intended)}")
    refused = check_corners(Path(positions=intended, velocities=path.velocities, dt_s=path.dt_s), robot)
    if refused is not None:
        raise WiringError(f"what motion {motion.name!r} intends breaks limits: {refused.measured}")


def _apart(first: Array, second: Array) -> float:
    """The greatest difference of two rows; mostly they are the same to the last bit."""
    return 0.0 if first.tobytes() == second.tobytes() else float(np.abs(first - second).max())
