"""Holding on: lift, and stand still with the object in the hand, the hold checked on every tick."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.execution.requests import Motion, Reply, solved
from graspline.grasping.candidates import GraspRejected
from graspline.grasping.straight import ReachParameters
from graspline.grasping.topdown import GraspPlan, plan_lift
from graspline.machine.outcome import Outcome, Stage
from graspline.motion.guards import Apart, Guard, HoldLost, LeftBehind, Slipped, TrackingError, Unsteady
from graspline.motion.joint_moves import hold as still
from graspline.parameters import Parameters
from graspline.robots.robot import Robot
from graspline.tasks.stages.free import above_start
from graspline.tasks.stages.grasp import CloseParameters, Hold, TouchParameters
from graspline.tasks.stages.sight import Eye

Array = NDArray[np.float64]


class SlipParameters(Parameters):
    """When a hold counts as lost."""

    slip_m: float = Field(default=0.012, gt=0, le=0.05, description="how far the object may move in the hand")
    ratio: float = Field(default=0.7, gt=0, le=1, description="share of the hand's way the object must follow")
    travel_m: float = Field(
        default=0.02, gt=0, le=0.2, description="way of the hand below which that share says nothing"
    )
    sure_s: float = Field(default=0.1, ge=0, le=1, description="how long what is seen of the object must say so")


class ApartHold(SlipParameters):
    """When a hold counts as lost, by the distance of its object from the tool too."""

    apart_sideways_m: float = Field(
        default=0.05, gt=0, le=0.2, description="farther from the tool sideways than this, nothing is held"
    )
    apart_in_height_m: float = Field(
        default=0.05, gt=0, le=0.2, description="farther from the tool in height than this, nothing is held"
    )


class FollowedHold(ApartHold):
    """When a hold counts as lost whose object is followed on its way."""

    variance_m2: float = Field(
        default=4e-6, gt=0, le=1e-3, description="how much the distance from the tool may vary over ten sightings"
    )


class StillHold(SlipParameters):
    """When a hold counts as lost, and how long it is kept still."""

    still_s: float = Field(default=1.0, ge=0, le=10, description="how long the raised object is held still")

    def whole(self) -> HoldParameters:
        """The same for stages that tasks share; what a task does not offer is at its default."""
        return HoldParameters.model_construct(**dict(self))


class CarriedHold(StillHold, ApartHold):
    """When a hold counts as lost, how long it is kept still, and how far its object may be from the tool."""


class HoldParameters(CarriedHold, FollowedHold):
    """Everything that stages may ask for; a task offers the part of it that it uses."""


def lift(
    last: Reply,
    robot: Robot,
    eye: Eye,
    target: str,
    plan: GraspPlan,
    hold: Hold,
    close: CloseParameters,
    keep: HoldParameters,
    reach: ReachParameters,
) -> Stage[Literal["lifted", "dropped", "slipped", "blocked"]]:
    """Raise the object in a straight line."""
    path = yield from solved(plan_lift, robot, plan, last.command, reach.lift_m, reach)
    if isinstance(path, GraspRejected):
        return Outcome("blocked", path.evidence)
    guards = hold_guards(hold, close, keep)
    ended = yield Motion("lift", path, guards=guards, watch=eye.watch(target), free=above_start(path))
    ended = yield from _made_sure(ended, robot, hold, close)
    return _outcome("lifted", ended, target)


def hold_still(
    last: Reply, robot: Robot, eye: Eye, target: str, hold: Hold, close: CloseParameters, keep: HoldParameters
) -> Stage[Literal["held", "dropped", "slipped"]]:
    """Stand still with the object in the hand."""
    path = still(robot, last.command, keep.still_s)
    # Standing still there is no way to follow and nothing to run into.
    lost, slipped, *_ = hold_guards(hold, close, keep)
    guards = (lost, slipped)
    ended = yield Motion("hold", path, guards=guards, watch=eye.watch(target))
    ended = yield from _made_sure(ended, robot, hold, close)
    return _outcome("held", ended, target)


def _made_sure(ended: Reply, robot: Robot, hold: Hold, close: CloseParameters) -> Generator[Motion, Reply, Reply]:
    """If the hold was in doubt on the very last tick, the end of a motion that came before the guard could tell."""
    lost = HoldLost(least_jaw_rad=hold.least_jaw_rad, force_n=close.lost_n)
    if ended.by == "completed" and min(ended.readings.pad_forces_n()) < close.lost_n:
        ended = yield Motion("make_sure", still(robot, ended.command, 2 * lost.for_s), guards=(lost,))
    return ended


def hold_guards(hold: Hold, close: TouchParameters, keep: SlipParameters) -> tuple[Guard, ...]:
    """What ends a motion with something in the hand: no force, a closing jaw, an object that moves in it or stays."""
    # Two sightings are compared, the one at the start of the hold and the one now.
    error_m = 4 * hold.position_sigma_m
    return (
        HoldLost(least_jaw_rad=hold.least_jaw_rad, force_n=close.lost_n),
        Slipped(offset_m=_triple(hold.in_hand_m), slip_m=keep.slip_m + error_m, for_s=keep.sure_s),
        LeftBehind(
            hand_start_m=_triple(hold.tool_m),
            object_start_m=_triple(hold.object_m),
            ratio=keep.ratio,
            travel_m=keep.travel_m + 3 * error_m,
            for_s=keep.sure_s,
        ),
        TrackingError(error_rad=close.blocked_rad),
    )


def following_guards(hold: Hold, keep: FollowedHold) -> tuple[Guard, ...]:
    """Further signals that an object is still held, for those that see it: absolute distance and steadiness."""
    error_m = 3 * hold.position_sigma_m
    return (
        apart_guard(hold, keep),
        Unsteady(variance_m2=keep.variance_m2 + error_m * error_m, for_s=keep.sure_s),
    )


def apart_guard(hold: Hold, keep: ApartHold) -> Apart:
    """Ends a motion once its object is seen farther from the tool than anything held can be."""
    error_m = 3 * hold.position_sigma_m
    return Apart(
        sideways_m=keep.apart_sideways_m + error_m, height_m=keep.apart_in_height_m + error_m, for_s=keep.sure_s
    )


def _triple(vector: Array) -> tuple[float, float, float]:
    return float(vector[0]), float(vector[1]), float(vector[2])


def _outcome(good: Any, ended: Reply, target: str) -> Outcome[Any]:
    match ended.by:
        case "completed":
            return Outcome(good, ended.evidence, about=target)
        case HoldLost():
            return Outcome("dropped", ended.evidence, about=target)
        case TrackingError():
            return Outcome("blocked", ended.evidence, about=target)
        case _:
            return Outcome("slipped", ended.evidence, about=target)
