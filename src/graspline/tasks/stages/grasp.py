"""From a sighting to a hold: plan, approach, descend, close; and backing off from a grasp that failed."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least, at_most, passes
from graspline.execution.requests import Free, Motion, Reply, Request, Watch, solved
from graspline.grasping.cartesian_lines import ReachParameters
from graspline.grasping.topdown import GraspPlan, plan_grasp, plan_shift, reversed_path
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.motion.guards import BothPadsTouch, ForceAbove, Guard, ObjectMoved, OnePadTouches, TrackingError
from graspline.motion.joint_moves import hold as still
from graspline.motion.joint_moves import jaw_move, joint_move
from graspline.motion.path import Path
from graspline.perception.core.beliefs import Belief
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.tasks.stages.free import over_object, towards
from graspline.tasks.stages.parameters import ArmSettings, TouchParameters
from graspline.tasks.stages.rest import stopped
from graspline.tasks.stages.sight import Eye, moved_guards

Array = NDArray[np.float64]

# How far, and how often, the fixed jaw is brought up to something that only the other one touches.
_FOLLOW_M = 0.006
_FOLLOW_TIMES = 4
# What lies this far from where it was seen is no longer between the open jaws when they come.
STRAYED_M = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A grasp plan, and the objects that were tried."""

    plan: GraspPlan
    tried: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldReference:
    """What guards compare a hold with: how wide it is, and where hand and object are when it begins."""

    # Below this jaw angle the object no longer fits.
    least_jaw_rad: float
    tool_m: Array
    object_m: Array
    # The object in the tool frame.
    in_hand_m: Array
    position_sigma_m: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The hold that the closed jaws have."""

    hold: HoldReference


def plan(
    last: Reply,
    robot: Robot,
    world: CollisionWorld,
    estimate: Belief,
    others: tuple[Belief, ...],
    arm: ArmSettings,
    tried: tuple[str, ...],
) -> Producing[Gives[Literal["planned"], Planned] | Outcome[Literal["rejected"]]]:
    """Find a grasp that passes every check, another one than those tried before."""
    found = yield from solved(plan_grasp, robot, world, estimate, last.command, arm.jaw, arm.reach, tried, others)
    if isinstance(found, Refusal):
        return Outcome("rejected", found.evidence)
    return Gives("planned", Planned(plan=found, tried=(*tried, found.grasp.label)))


def reaching(
    name: str,
    path: Path,
    estimate: Belief,
    watch: Watch | None,
    close: TouchParameters,
    *contact: Guard,
    strayed_m: float = STRAYED_M,
    free: Free | None = None,
) -> Motion:
    """A motion to an object that ends where the arm is blocked, or once the object is not where it was seen."""
    guards = (*contact, TrackingError(error_rad=close.blocked_rad), *moved_guards(estimate, strayed_m, watch))
    return Motion(name, path, guards=guards, watch=watch, free=free)


def bump(close: TouchParameters) -> ForceAbove:
    """Ends a motion on the way down once a finger stands on something."""
    return ForceAbove(force_n=close.bump_n, for_s=0.02)


def approach(
    robot: Robot,
    world: CollisionWorld,
    eye: Eye,
    estimate: Belief,
    others: tuple[Belief, ...],
    plan: GraspPlan,
    arm: ArmSettings,
) -> Stage[Literal["reached", "blocked", "moved"]]:
    """Travel to above the object while the jaws open; stop if it is no longer there."""
    free = towards(robot, world, plan.approach, estimate, others, arm.reach.travel_speed)
    ended = yield reaching("approach", plan.approach, estimate, eye.watch_lying(estimate), arm.close, free=free)
    if isinstance(ended.by, ObjectMoved):
        yield from stopped(ended, robot)
        return Outcome("moved", ended.evidence, about=estimate.name)
    if ended.by != "completed":
        return Outcome("blocked", ended.evidence)
    return Outcome("reached")


def descend(
    robot: Robot, eye: Eye, estimate: Belief, plan: GraspPlan, arm: ArmSettings
) -> Stage[Literal["straddled", "blocked", "moved"]]:
    """Come down with the object between the open jaws, as long as it is there."""
    watch, free = eye.watch_lying(estimate), over_object(robot, plan.descend, estimate)
    ended = yield reaching("descend", plan.descend, estimate, watch, arm.close, bump(arm.close), free=free)
    if isinstance(ended.by, ObjectMoved):
        return Outcome("moved", ended.evidence, about=estimate.name)
    if ended.by != "completed":
        return Outcome("blocked", ended.evidence)
    return Outcome("straddled")


def seat(last: Reply, robot: Robot, plan: GraspPlan, arm: ArmSettings) -> Stage[Literal["seated"]]:
    """Bring the fixed jaw up to the object, so that closing does not wedge it between moving jaw and table."""
    ended = yield Motion("seat", plan.seat, guards=(OnePadTouches(pad="fixed", force_n=arm.close.touch_n),))
    yield from stopped(ended, robot)
    return Outcome("seated", ended.evidence)


def touch_both(
    last: Reply, robot: Robot, plan: GraspPlan, close: TouchParameters, reach: ReachParameters, shut_rad: float
) -> Generator[Request, Reply, Reply | Evidence]:
    """Close gradually until both pads touch, and squeeze a little more; or what was felt when that came to nothing."""
    both, moving = BothPadsTouch(force_n=close.touch_n), OnePadTouches(pad="moving", force_n=close.touch_n, for_s=0.1)
    ended = last
    for _ in range(_FOLLOW_TIMES):
        path = jaw_move(robot, ended.command, shut_rad, speed_rad_s=close.speed_rad_s)
        ended = yield Motion("close", path, guards=(both, moving))
        if ended.by is both:
            touch_rad = float(ended.readings.joints[robot.jaw])
            path = jaw_move(
                robot, ended.command, touch_rad - close.squeeze_rad * robot.jaw_unit, speed_rad_s=close.speed_rad_s
            )
            ended = yield Motion("squeeze", path)
            if min(ended.readings.pad_forces_n()) >= close.touch_n:
                return ended
        elif ended.by is not moving:
            return ended.evidence
        # It stands off the fixed jaw and would jam between the other one and the table: bring the hand up to it.
        ended = yield from stopped(ended, robot)
        path = yield from solved(plan_shift, robot, plan, ended.command, _FOLLOW_M, reach)
        if isinstance(path, Refusal):
            return path.evidence
        ended = yield Motion("follow", path, guards=(OnePadTouches(pad="fixed", force_n=close.touch_n),))
        ended = yield from stopped(ended, robot)
    return (at_least("weaker_pad_force", min(ended.readings.pad_forces_n()), close.touch_n, "N"),)


def close(
    last: Reply, robot: Robot, eye: Eye, target: str, plan: GraspPlan, arm: ArmSettings
) -> Producing[Gives[Literal["closed"], Closed] | Outcome[Literal["missed"]]]:
    """Close gradually until both pads touch, then squeeze a little more and check that something is held."""
    close = arm.close
    touched = yield from touch_both(last, robot, plan, close, arm.reach, float(robot.limits.lower[robot.jaw]))
    if not isinstance(touched, Reply):
        return Outcome("missed", touched, about=target)
    ended = yield Motion("settle", still(robot, touched.command, close.settle_s))
    jaw_rad = float(ended.readings.joints[robot.jaw])
    gap_error_m = abs(float(robot.jaw_law.gap_m(jaw_rad)) - plan.grasp.width_m)
    evidence = (
        at_least("weaker_pad_force", min(ended.readings.pad_forces_n()), close.lost_n, "N"),
        at_most("gap_off_width", gap_error_m, close.width_tolerance_m, "m"),
    )
    seen = yield from eye.see_gripped(target)
    if not passes(evidence) or seen is None:
        return Outcome("missed", evidence, about=target)
    least_gap_m = plan.grasp.width_m - close.width_tolerance_m
    least_jaw_rad = float(robot.jaw_law.angle_rad(max(least_gap_m, 0.0)))
    return Gives("closed", Closed(hold=_hold(least_jaw_rad, ended, seen)), evidence, about=target)


def _hold(least_jaw_rad: float, reply: Reply, seen: Belief) -> HoldReference:
    tool = reply.readings.tool_position_m
    rotation = reply.readings.tool_rotation
    return HoldReference(
        least_jaw_rad=least_jaw_rad,
        tool_m=tool,
        object_m=seen.position_m,
        in_hand_m=rotation.T @ (seen.position_m - tool),
        position_sigma_m=seen.position_sigma_m,
    )


def back_off(last: Reply, robot: Robot, plan: GraspPlan, arm: ArmSettings) -> Stage[Literal["ready"]]:
    """Leave a failed grasp: set down what is still in the hand, open, and rise the way the hand came."""
    reply = yield from stopped(last, robot)
    if min(reply.readings.pad_forces_n()) >= arm.close.lost_n:
        down = np.append(plan.seat.end[robot.arm], reply.command.position[robot.jaw])
        reply = yield Motion("set_down", joint_move(robot, reply.command, down, speed=0.2))
    yield from open_and_rise(reply, robot, plan, arm.close)
    return Outcome("ready")


def open_and_rise(
    last: Reply, robot: Robot, plan: GraspPlan, close: TouchParameters
) -> Generator[Request, Reply, None]:
    """From rest: open the hand, and rise the way it came down to the object."""
    low, high = plan.descend.end, plan.descend.positions[0]
    path = jaw_move(robot, last.command, plan.grasp.open_rad, speed_rad_s=close.speed_rad_s)
    reply = yield Motion("open", path)
    if np.abs(reply.command.position - low).max() < np.abs(reply.command.position - high).max():
        # From between the object's sides only the way it came leads out.
        yield Motion("centre", joint_move(robot, reply.command, low, speed=0.2))
        yield Motion("rise", reversed_path(plan.descend))
    else:
        yield Motion("rise", joint_move(robot, reply.command, high, speed=0.3))
