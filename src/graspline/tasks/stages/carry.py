"""Holding on: lift, and stand still with the object in the hand, the hold checked on every tick."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graspline.execution.requests import Motion, Reply, Request, Watch, solved
from graspline.grasping.cartesian_lines import ReachParameters
from graspline.grasping.topdown import GraspPlan, plan_lift
from graspline.machine.outcome import Outcome, Stage
from graspline.motion.guards import Apart, Guard, HoldLost, LeftBehind, Slipped, TrackingError, Unsteady
from graspline.motion.joint_moves import hold as still
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.tasks.stages.free import above_start
from graspline.tasks.stages.grasp import HoldReference
from graspline.tasks.stages.parameters import ApartHold, ArmSettings, FollowedHold, SlipParameters, TouchParameters
from graspline.tasks.stages.sight import Eye

Array = NDArray[np.float64]


def lift(
    last: Reply, robot: Robot, eye: Eye, target: str, plan: GraspPlan, hold: HoldReference, arm: ArmSettings
) -> Stage[Literal["lifted", "dropped", "slipped", "blocked"]]:
    """Raise the object in a straight line."""
    guards, watch = hold_guards(hold, arm.close, arm.hold), eye.watch(target)
    ended = yield from raised(last, robot, plan, plan.lift_m, arm.reach, guards, watch)
    if isinstance(ended, Refusal):
        return Outcome("blocked", ended.evidence)
    ended = yield from _made_sure(ended, robot, hold, arm.close)
    return held_outcome("lifted", ended, target)


def raised(
    last: Reply,
    robot: Robot,
    plan: GraspPlan,
    lift_m: float,
    reach: ReachParameters,
    guards: tuple[Guard, ...],
    watch: Watch | None,
) -> Generator[Request, Reply, Reply | Refusal]:
    """Raise what is in the hand straight up until a guard fires; or why the arm cannot."""
    path = yield from solved(plan_lift, robot, plan, last.command, lift_m, reach)
    if isinstance(path, Refusal):
        return path
    return (yield Motion("lift", path, guards=guards, watch=watch, free=above_start(robot, path)))


def hold_still(
    last: Reply, robot: Robot, eye: Eye, target: str, hold: HoldReference, arm: ArmSettings
) -> Stage[Literal["held", "dropped", "slipped"]]:
    """Stand still with the object in the hand."""
    path = still(robot, last.command, arm.hold.still_s)
    # Standing still there is no way to follow and nothing to run into.
    lost, slipped, *_ = hold_guards(hold, arm.close, arm.hold)
    ended = yield Motion("hold", path, guards=(lost, slipped), watch=eye.watch(target))
    ended = yield from _made_sure(ended, robot, hold, arm.close)
    return held_outcome("held", ended, target)


def _made_sure(
    ended: Reply, robot: Robot, hold: HoldReference, close: TouchParameters
) -> Generator[Motion, Reply, Reply]:
    """If the hold was in doubt on the very last tick, the end of a motion that came before the guard could tell."""
    lost = HoldLost(least_jaw_rad=hold.least_jaw_rad, force_n=close.lost_n)
    if ended.by == "completed" and min(ended.readings.pad_forces_n()) < close.lost_n:
        ended = yield Motion("make_sure", still(robot, ended.command, 2 * lost.for_s), guards=(lost,))
    return ended


def hold_guards(hold: HoldReference, close: TouchParameters, keep: SlipParameters) -> tuple[Guard, ...]:
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


def following_guards(hold: HoldReference, keep: FollowedHold) -> tuple[Guard, ...]:
    """Further signals that an object is still held, for those that see it: absolute distance and steadiness."""
    error_m = 3 * hold.position_sigma_m
    return (
        apart_guard(hold, keep),
        Unsteady(variance_m2=keep.variance_m2 + error_m * error_m, for_s=keep.sure_s),
    )


def apart_guard(hold: HoldReference, keep: ApartHold) -> Apart:
    """Ends a motion once its object is seen farther from the tool than anything held can be."""
    error_m = 3 * hold.position_sigma_m
    return Apart(
        sideways_m=keep.apart_sideways_m + error_m, height_m=keep.apart_in_height_m + error_m, for_s=keep.sure_s
    )


def _triple(vector: Array) -> tuple[float, float, float]:
    return float(vector[0]), float(vector[1]), float(vector[2])


def held_outcome(good: Any, ended: Reply, target: str) -> Outcome[Any]:
    """How a motion with something in the hand ended: well, or by which guard."""
    match ended.by:
        case "completed":
            return Outcome(good, ended.evidence, about=target)
        case HoldLost():
            return Outcome("dropped", ended.evidence, about=target)
        case TrackingError():
            return Outcome("blocked", ended.evidence, about=target)
        case _:
            return Outcome("slipped", ended.evidence, about=target)
