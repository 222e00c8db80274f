"""Taking over from another driver: what is in the hand is set down where it is, and the hand backs out."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from graspline.execution.requests import Reply, Request
from graspline.machine.outcome import Outcome, Stage
from graspline.placement.query import Support
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.tasks.grab.parameters import Grab
from graspline.tasks.stages.parameters import ArmSettings
from graspline.tasks.stages.sight import Eye
from graspline.tasks.stages.take_over import let_go, stop

Array = NDArray[np.float64]

# Seen so far above where it stands, the thing is in the hand.
_RAISED_M = 0.02
# Among the inputs: whether it was.
_WAS_RAISED = "was_raised"


def take_over(last: Reply, robot: Robot, eye: Eye, world: CollisionWorld, arm: ArmSettings) -> Stage[Literal["ready"]]:
    """Free the hand from whatever another driver was doing."""
    reply = yield from stop(last, robot)
    yield from let_go(reply, robot, world, arm.close, eye.survey)
    return Outcome("ready")


def remaining(parameters: Grab, inputs: dict[str, Any]) -> Generator[Request, Reply, Mapping[str, Array]]:
    """Where the thing is seen, until it stands at its spot again after it was raised."""
    target, support = cast(str, inputs["target"]), cast(Support, inputs["destination"])
    seen = {each.name: each for each in (yield from cast(Eye, inputs["eye"]).survey())}
    if target not in seen:
        return {}
    thing = seen[target]
    x, y, z = thing.position_m
    inputs[_WAS_RAISED] = inputs.get(_WAS_RAISED, False) or z - thing.half_height_m > _RAISED_M
    off_m = float(np.hypot(x - support.x_m, y - support.y_m))
    stands = z - thing.half_height_m <= parameters.goal.off_table_m + 6 * thing.position_sigma_m
    done = inputs[_WAS_RAISED] and stands and off_m <= parameters.goal.off_spot_m
    return {} if done else {target: thing.position_m}
