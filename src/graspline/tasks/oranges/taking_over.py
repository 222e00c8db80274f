"""Taking over from another driver: what is in the hand is set down on the table, and the hand backs out."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Mapping
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from graspline.execution.requests import Reply, Request
from graspline.kinematics.arms import arm_of
from graspline.machine.outcome import Outcome, Stage
from graspline.perception.beliefs import Belief
from graspline.perception.held import HeldObject
from graspline.placement.held import held_ball
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.tasks.oranges.job import Progress, on_plate
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.recovery import set_down
from graspline.tasks.oranges.sight import FruitEye
from graspline.tasks.oranges.targets import chosen
from graspline.tasks.stages.take_over import held_by, let_go, stop

Array = NDArray[np.float64]


def take_over(
    last: Reply, robot: Robot, eye: FruitEye, world: CollisionWorld, settings: Oranges
) -> Stage[Literal["ready"]]:
    """Free the hand from whatever another driver was doing: by a checked way to a free place if there is one."""
    reply = yield from stop(last, robot)
    survey = yield from eye.survey()
    held = held_by(reply, robot, settings.close, tuple(survey.things.values()))
    if held is not None and held.shape == "ball":
        down = yield from set_down(reply, robot, eye, world, settings, _in_hand(reply, robot, held))
        reply = down if isinstance(down, Reply) else reply

    def see_all() -> Generator[Request, Reply, tuple[Belief, ...]]:
        seen = yield from eye.survey()
        return seen.others()

    yield from let_go(reply, robot, world, settings.close, see_all)
    return Outcome("ready")


def _in_hand(reply: Reply, robot: Robot, held: Belief) -> HeldObject:
    """How a fruit sits in the hand, by where it is seen."""
    joints = reply.readings.joints[robot.arm]
    arm = arm_of(robot)
    origin, rotation = arm.forward(joints[None], np.zeros(3))
    centre = rotation[0].T @ (held.position_m - origin[0])
    yaw = float(np.arctan2(rotation[0, 1, 2], rotation[0, 0, 2]))
    pitch = float(arm.pitch_rad(joints[None])[0])
    branches = arm.solve(held.position_m[None], pitch, yaw, centre, backwards=False).joints_rad[0]
    branch = int(np.argmin(np.abs(branches - joints).max(axis=-1)))
    jaw_rad = float(reply.command.position[robot.jaw])
    return held_ball(held.name, centre, held.radius_m, jaw_rad=jaw_rad, branch=branch)


def remaining(settings: Oranges, inputs: dict[str, Any]) -> Generator[Request, Reply, Mapping[str, Array]]:
    """Where oranges are seen that are asked for and not on the plate; the first look decides which are asked for."""
    survey = yield from cast(FruitEye, inputs["eye"]).survey()
    progress = cast(Progress, inputs["progress"])
    if not progress.wanted:
        progress = inputs["progress"] = dataclasses.replace(progress, wanted=chosen(settings, survey))
    placed = on_plate(survey, settings)
    return {
        name: survey.things[name].position_m for name in progress.wanted if name in survey.things and name not in placed
    }
