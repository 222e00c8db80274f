"""From a hold to an object that stands where it was to be put: plan, carry, lower, release, and the way home."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from graspline.evidence import at_least
from graspline.execution.notifications import Targeted
from graspline.execution.requests import Announce, Free, Motion, Reply, Request, solved
from graspline.grasping.topdown import GraspPlan
from graspline.kinematics.arms import arm_of
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.motion.guards import HoldLost, TrackingError
from graspline.motion.joint_moves import brake, jaw_move, joint_move
from graspline.motion.path import Command, Path
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.placement.carry import plan_carry
from graspline.placement.query import CarryPlan, CarryQuery, Support
from graspline.placement.transfer import TransferQuery, plan_transfer
from graspline.planning.collision import CollisionWorld
from graspline.planning.routes import free_way
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.tasks.stages.carry import apart_guard, held_outcome, hold_guards
from graspline.tasks.stages.free import above_end
from graspline.tasks.stages.grasp import HoldReference
from graspline.tasks.stages.parameters import ArmSettings, TouchParameters
from graspline.tasks.stages.rest import stopped
from graspline.tasks.stages.sight import UNSEEN, Eye, resting

# So much higher than planned a thing may come to stand.
_EARLY_M = 0.008


@dataclass(frozen=True, slots=True, kw_only=True)
class OnObject:
    """On top of another object, in its middle, wherever it is seen."""

    name: str


@dataclass(frozen=True, slots=True)
class WhereItLay:
    """Back to where it was first seen."""


Destination = Support | OnObject | WhereItLay
"""Where an object is put: a point of the table or of a plate's floor, on another object, or back where it was."""


def support_at(destination: Destination, estimate: Belief, others: tuple[Belief, ...]) -> Support | None:
    """The point and height that a destination means, as things are believed to be; None if its object is not seen."""
    match destination:
        case Support():
            return destination
        case WhereItLay():
            bottom_m = float(estimate.position_m[2]) - estimate.half_height_m
            return Support(x_m=float(estimate.position_m[0]), y_m=float(estimate.position_m[1]), z_m=bottom_m)
        case OnObject(name=name):
            found = next((each for each in others if each.name == name), None)
            if found is None:
                return None
            x, y, z = (float(each) for each in found.position_m)
            return Support(x_m=x, y_m=y, z_m=z + found.half_height_m, name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What one look shows: the target, everything else, and where the target is to be put."""

    estimate: Belief
    others: tuple[Belief, ...]
    support: Support
    destination: Destination


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferPlanned:
    """A grasp plan that a place plan follows, and what will be in the hand."""

    plan: GraspPlan
    held: HeldObject
    tried: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCarry:
    """The plan that carries and places the object."""

    way: CarryPlan


def look_around(
    eye: Eye, target: str, destination: Destination
) -> Producing[Gives[Literal["seen"], Around] | Outcome[Literal["lost"]]]:
    """See everything on the table, the target and what it is put on among it."""
    yield Announce(Targeted(target))
    survey = yield from eye.survey()
    found = [each for each in survey if each.name == target]
    if not found:
        return Outcome("lost", UNSEEN, about=target)
    estimate, others = resting(found[0]), tuple(each for each in survey if each.name != target)
    support = support_at(destination, estimate, tuple(resting(each) for each in others))
    if support is None:
        return Outcome("lost", UNSEEN, about=target)
    if isinstance(destination, WhereItLay):
        destination = support
    return Gives(
        "seen", Around(estimate=estimate, others=others, support=support, destination=destination), about=target
    )


def plan_to_place(
    last: Reply,
    robot: Robot,
    world: CollisionWorld,
    estimate: Belief,
    others: tuple[Belief, ...],
    support: Support,
    arm: ArmSettings,
    tried: tuple[str, ...],
) -> Producing[Gives[Literal["planned"], TransferPlanned] | Outcome[Literal["rejected"]]]:
    """Plan the grasp and the way to where the object is put, before anything moves."""
    query = TransferQuery(
        world=world,
        estimate=estimate,
        start=last.command,
        support=support,
        others=others,
        jaw=arm.jaw,
        reach=arm.reach,
        put=arm.put,
        tried=tried,
    )
    found = yield from solved(plan_transfer, query)
    if isinstance(found, Refusal):
        return Outcome("rejected", found.evidence, about=estimate.name)
    tried = (*tried, found.plan.grasp.label)
    planned = TransferPlanned(plan=found.plan, held=found.held, tried=tried)
    return Gives("planned", planned, about=estimate.name)


def carry(
    last: Reply,
    robot: Robot,
    eye: Eye,
    world: CollisionWorld,
    held: HeldObject,
    others: tuple[Belief, ...],
    support: Support,
    hold: HoldReference,
    arm: ArmSettings,
) -> Producing[Gives[Literal["carried"], PlannedCarry] | Outcome[Literal["dropped", "slipped", "blocked", "no_way"]]]:
    """Plan the way down from how the hand really is, and bring the object over its support."""
    query = CarryQuery(
        world=world,
        held=replace(held, jaw_rad=float(last.command.position[robot.jaw])),
        start=last.command,
        obstacles=others,
        settings=arm.put.whole(),
        margin_rad=arm.reach.joint_margin_rad / 2,
    )
    way = yield from solved(plan_carry, query, (support,))
    if isinstance(way, Refusal):
        return Outcome("no_way", way.evidence, about=held.name)
    guards = (*hold_guards(hold, arm.close, arm.hold), apart_guard(hold, arm.hold))
    # Nothing is left to be done where the hand is over the support already.
    ended, watch = replace(last, by="completed"), eye.watch(held.name)
    for name, path in way.across:
        ended = yield Motion(name, path, guards=guards, watch=watch, free=Free())
        if ended.by != "completed":
            return held_outcome("carried", ended, held.name)
    return Gives("carried", PlannedCarry(way=way), ended.evidence, about=held.name)


def lower(
    robot: Robot, held: HeldObject, way: CarryPlan, hold: HoldReference, arm: ArmSettings
) -> Stage[Literal["lowered", "dropped", "blocked"]]:
    """Let the object down until it stands."""
    ended = yield from _lowered(robot, way, hold, arm)
    return held_outcome("lowered", ended, held.name)


def _lowered(robot: Robot, way: CarryPlan, hold: HoldReference, arm: ArmSettings) -> Generator[Request, Reply, Reply]:
    # What is under it may take hold of it a little early, and move it in the hand.
    guards = tuple(
        each for each in hold_guards(hold, arm.close, arm.hold) if isinstance(each, HoldLost | TrackingError)
    )
    ended = yield Motion("lower", way.lower, guards=guards, free=above_end(robot, way.lower))
    if isinstance(ended.by, HoldLost | TrackingError) and _just_above(ended, robot, way):
        ended = yield Motion("brake", brake(robot, ended.command))
    return ended


def _just_above(reply: Reply, robot: Robot, way: CarryPlan) -> bool:
    """Whether what is in the hand stands already, a little earlier than was planned."""
    now, end = (
        arm_of(robot).forward(each[None, robot.arm], np.zeros(3))[0][0, 2]
        for each in (reply.command.position, way.lower.end)
    )
    return bool(now - end <= _EARLY_M)


def release(
    last: Reply, robot: Robot, held: HeldObject, way: CarryPlan, arm: ArmSettings
) -> Stage[Literal["released", "blocked"]]:
    """Open the jaws, leave the object's side and rise over it."""
    opened, below = float(way.open.end[robot.jaw]), way.withdraw.positions[0]
    ended = yield Motion("release", jaw_move(robot, last.command, opened, speed_rad_s=arm.put.open_speed_rad_s))
    if not np.array_equal(ended.command.position, below):
        yield Motion("centre", joint_move(robot, ended.command, below, speed=0.1))
    ended = yield Motion("withdraw", way.withdraw, guards=(TrackingError(error_rad=arm.close.blocked_rad),))
    return Outcome("released" if ended.by == "completed" else "blocked", ended.evidence, about=held.name)


def put_down(
    last: Reply,
    robot: Robot,
    eye: Eye,
    world: CollisionWorld,
    held: HeldObject,
    others: tuple[Belief, ...],
    support: Support,
    hold: HoldReference,
    arm: ArmSettings,
) -> Stage[Literal["put", "dropped", "slipped", "blocked", "no_way"]]:
    """Carry, lower and release in one state."""
    carried = yield from carry(last, robot, eye, world, held, others, support, hold, arm)
    if not isinstance(carried, Gives):
        return carried
    way = carried.data.way
    ended = yield from _lowered(robot, way, hold, arm)
    if ended.by != "completed":
        return held_outcome("put", ended, held.name)
    released = yield from release(ended, robot, held, way, arm)
    return Outcome("put" if released.name == "released" else "blocked", released.evidence, about=held.name)


def go_home(
    last: Reply, robot: Robot, eye: Eye, world: CollisionWorld, arm: ArmSettings
) -> Stage[Literal["home", "stranded"]]:
    """Open the jaws if anything is between them still, and go home by a checked way."""
    reply, close = last, arm.close
    reply = yield from stopped(reply, robot)
    if max(reply.readings.pad_forces_n()) >= close.lost_n:
        wide = float(robot.jaw_law.angle_rad(float(robot.jaw_law.gap_m(reply.command.position[robot.jaw])) + 0.02))
        reply = yield Motion("open", jaw_move(robot, reply.command, wide, speed_rad_s=close.speed_rad_s))
    survey = yield from eye.survey()
    around = tuple(resting(each) for each in survey)

    def home_from(start: Command) -> Path | Refusal:
        return free_way(robot, world, start, robot.home, around)

    return (yield from homewards(reply, home_from, close))


def homewards(
    last: Reply, way: Callable[[Command], Path | Refusal], close: TouchParameters
) -> Stage[Literal["home", "stranded"]]:
    """Go home by a way that is planned from where the arm is; without one it stays there and says so."""
    path = way(last.command)
    if isinstance(path, Refusal):
        return Outcome("stranded", (at_least("checked_ways_home", 0, 1), *path.evidence))
    guards = (TrackingError(error_rad=close.blocked_rad),)

    def again(start: Command) -> Path | None:
        return found if isinstance(found := way(start), Path) else None

    ended = yield Motion("return_home", path, guards=guards, free=Free(again=again))
    return Outcome("home") if ended.by == "completed" else Outcome("stranded", ended.evidence)
