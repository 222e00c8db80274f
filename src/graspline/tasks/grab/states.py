"""What `grab` adds to the stages all tasks share: checking, moving as told, putting down, and looking again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Measurement, at_least, at_most, passes
from graspline.execution.happenings import Noticed, Targeted
from graspline.execution.requests import Announce, Free, Motion, Reply, solved
from graspline.grasping.candidates import GraspRejected
from graspline.grasping.grab import GrabPlan, GrabQuery, GrabRejected, GrabVariables
from graspline.grasping.straight import ReachParameters
from graspline.grasping.topdown import GraspPlan
from graspline.grasping.workspace import WorkspaceParameters
from graspline.kinematics.so101 import forward
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.motion.guards import ForceAbove, HoldLost, ObjectMoved, TrackingError
from graspline.motion.joint_moves import brake, jaw_move, joint_move
from graspline.motion.joint_moves import hold as still
from graspline.motion.path import Command, Path
from graspline.perception.estimates import Estimate
from graspline.perception.speeds import fitted_speed, speed_now
from graspline.placement.set_down import (
    Carried,
    SetDown,
    SetDownParameters,
    SetDownQuery,
    plan_set_down,
    resting_evidence,
)
from graspline.planning.collision import CollisionWorld
from graspline.planning.ways import free_way
from graspline.robots.robot import Robot
from graspline.tasks.grab.parameters import GrabGoal
from graspline.tasks.grab.pick import plan_pick, told
from graspline.tasks.stages.carry import HoldParameters, apart_guard, hold_guards
from graspline.tasks.stages.free import above_end, towards
from graspline.tasks.stages.grasp import STRAYED_M, CloseParameters, Hold
from graspline.tasks.stages.sight import UNSEEN, Eye, moved_guards, resting

Array = NDArray[np.float64]

# So much higher than planned a thing may come to stand.
_EARLY_M = 0.008
# Between two sightings of the final check.
SIGHTING_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where on the table something is put; None is where it was first seen."""

    place_m: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    estimate: Estimate
    others: tuple[Estimate, ...]
    spot: Spot


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    grab: GrabPlan
    plan: GraspPlan
    reach: ReachParameters
    carried: Carried


def look(eye: Eye, target: str, spot: Spot) -> Producing[Gives[Literal["seen"], Seen] | Outcome[Literal["lost"]]]:
    """See everything on the table, the target among it."""
    yield Announce(Targeted(target))
    survey = yield from eye.survey()
    found = [each for each in survey if each.name == target]
    if not found:
        return Outcome("lost", UNSEEN, about=target)
    estimate = resting(found[0])
    place = spot.place_m or (float(estimate.position_m[0]), float(estimate.position_m[1]))
    others = tuple(each for each in survey if each.name != target)
    return Gives("seen", Seen(estimate=estimate, others=others, spot=Spot(place_m=place)), about=target)


def check(
    last: Reply,
    robot: Robot,
    world: CollisionWorld,
    estimate: Estimate,
    others: tuple[Estimate, ...],
    variables: GrabVariables,
    spot: Spot,
    reach: ReachParameters,
    workspace: WorkspaceParameters,
    put: SetDownParameters,
) -> Producing[Gives[Literal["planned"], Chosen] | Outcome[Literal["rejected"]]]:
    """Plan the whole pick as it was asked for; nothing has moved yet, and if any check fails nothing will."""
    query = GrabQuery(
        robot=robot,
        world=world,
        estimate=estimate,
        start=last.command,
        variables=variables,
        others=others,
        reach=reach,
        workspace=workspace,
    )
    assert spot.place_m is not None
    found = yield from solved(plan_pick, query, spot.place_m, put)
    if isinstance(found, GrabRejected):
        yield Announce(Noticed(what="rejected", about=estimate.name, facts={"why": found}))
        return Outcome("rejected", told(found), about=estimate.name)
    chosen = Chosen(grab=found.grab, plan=found.plan, reach=found.reach, carried=found.carried)
    return Gives("planned", chosen, about=estimate.name)


def move(
    robot: Robot,
    world: CollisionWorld,
    eye: Eye,
    estimate: Estimate,
    others: tuple[Estimate, ...],
    grab: GrabPlan,
    close: CloseParameters,
    reach: ReachParameters,
) -> Stage[Literal["arrived", "blocked", "moved"]]:
    """Open to the object's gap where the arm stands, travel, come down, and stop at the object, or once it is gone."""
    watch = eye.watch_lying(estimate)
    contact = (ForceAbove(force_n=close.bump_n, for_s=0.02), TrackingError(error_rad=close.blocked_rad))
    guards = (*contact, *moved_guards(estimate, STRAYED_M, watch))
    ended = yield Motion("open", grab.opening, guards=guards[1:], watch=watch)
    for stage in grab.stages:
        if ended.by != "completed":
            break
        free = towards(robot, world, stage.path, estimate, others, reach.travel_speed)
        ended = yield Motion(stage.name, stage.path, guards=guards, watch=watch, free=free)
    if isinstance(ended.by, ObjectMoved):
        return Outcome("moved", ended.evidence, about=grab.name)
    if ended.by != "completed":
        return Outcome("blocked", ended.evidence, about=grab.name)
    return Outcome("arrived", about=grab.name)


def put_down(
    last: Reply,
    robot: Robot,
    eye: Eye,
    world: CollisionWorld,
    target: str,
    carried: Carried,
    others: tuple[Estimate, ...],
    spot: Spot,
    hold: Hold,
    close: CloseParameters,
    keep: HoldParameters,
    reach: ReachParameters,
    put: SetDownParameters,
) -> Stage[Literal["put", "dropped", "slipped", "blocked", "no_way"]]:
    """Carry it over its spot, lower it, let go and leave."""
    assert spot.place_m is not None
    query = SetDownQuery(
        robot=robot,
        world=world,
        carried=carried,
        start=last.command,
        spot_m=spot.place_m,
        others=others,
        reach=reach,
        settings=put,
    )
    way = yield from solved(plan_set_down, query)
    if isinstance(way, GraspRejected):
        return Outcome("no_way", way.evidence, about=target)
    guards = (*hold_guards(hold, close, keep), apart_guard(hold, keep))
    ended = yield Motion("transport", way.transport, guards=guards, watch=eye.watch(target), free=Free())
    if ended.by == "completed":
        # The table may take hold of it a little early, and move it in the hand.
        kept = tuple(each for each in guards if isinstance(each, HoldLost | TrackingError))
        ended = yield Motion("lower", way.lower, guards=kept, free=above_end(way.lower))
        if isinstance(ended.by, HoldLost | TrackingError) and _just_above(ended, robot, way):
            ended = yield Motion("brake", brake(robot, ended.command))
    match ended.by:
        case "completed":
            pass
        case HoldLost():
            return Outcome("dropped", ended.evidence, about=target)
        case TrackingError():
            return Outcome("blocked", ended.evidence, about=target)
        case _:
            return Outcome("slipped", ended.evidence, about=target)
    opened = float(way.opening.end[robot.jaw])
    ended = yield Motion("release", jaw_move(robot, ended.command, opened, speed_rad_s=put.open_speed_rad_s))
    below = way.withdraw.positions[0]
    if not np.array_equal(ended.command.position, below):
        yield Motion("centre", joint_move(robot, ended.command, below, speed=0.1))
    ended = yield Motion("withdraw", way.withdraw, guards=(TrackingError(error_rad=close.blocked_rad),))
    return Outcome("put" if ended.by == "completed" else "blocked", ended.evidence, about=target)


def _just_above(reply: Reply, robot: Robot, way: SetDown) -> bool:
    """Whether what is in the hand stands already, a little earlier than was planned."""
    now, end = (
        forward(each[None, robot.arm], np.zeros(3))[0][0, 2] for each in (reply.command.position, way.lower.end)
    )
    return bool(now - end <= _EARLY_M)


def leave(
    last: Reply, robot: Robot, eye: Eye, world: CollisionWorld, close: CloseParameters
) -> Stage[Literal["home", "stranded"]]:
    """Open the jaws if anything is between them still, and go home by a checked way."""
    reply = last
    if reply.command.moving:
        reply = yield Motion("brake", brake(robot, reply.command))
    if max(reply.readings.pad_forces_n()) >= close.lost_n:
        wide = float(robot.jaw_law.angle_rad(float(robot.jaw_law.gap_m(reply.command.position[robot.jaw])) + 0.02))
        reply = yield Motion("open", jaw_move(robot, reply.command, wide, speed_rad_s=close.speed_rad_s))
    survey = yield from eye.survey()
    around = tuple(resting(each) for each in survey)

    def home_from(start: Command) -> Path | None:
        return free_way(robot, world, start, robot.home, around)

    path = home_from(reply.command)
    if path is None:
        return Outcome("stranded", (at_least("checked_ways_home", 0, 1),))
    guards = (TrackingError(error_rad=close.blocked_rad),)
    ended = yield Motion("return_home", path, guards=guards, free=Free(again=home_from))
    return Outcome("home") if ended.by == "completed" else Outcome("stranded", ended.evidence)


def confirm(
    last: Reply,
    robot: Robot,
    eye: Eye,
    target: str,
    estimate: Estimate,
    spot: Spot,
    goal: GrabGoal,
) -> Stage[Literal["confirmed", "refuted"]]:
    """Look again, several times, and hold what is seen against the goal."""
    reply, window = last, list[Estimate]()
    for sighting in range(goal.sightings + 1):
        # It ends with two sightings a tick apart: what happens after the last cannot be vouched for.
        if sighting:
            pause_s = SIGHTING_S if sighting < goal.sightings else robot.dt_s
            reply = yield Motion("confirm", still(robot, reply.command, pause_s))
        seen = yield from eye.see(target)
        if seen is None:
            return Outcome("refuted", UNSEEN, about=target)
        window.append(seen)
    assert spot.place_m is not None
    times, points = np.array([each.time_s for each in window]), np.stack([each.position_m for each in window])
    sigma = window[-1].position_sigma_m
    speed, speed_error = fitted_speed(times, points, sigma)
    limits = goal_limits(goal, 2 * sigma / np.sqrt(len(window)), 3 * speed_error)
    evidence = (
        *resting_evidence(
            points.mean(axis=0), upright(window[-1]), speed, spot.place_m, half_height_m(estimate), limits
        ),
        at_home(robot, reply.readings.joints, goal),
        speed_now(times, points, goal.speed_m_s, sigma),
    )
    return Outcome("confirmed" if passes(evidence) else "refuted", evidence, about=target)


def goal_limits(
    goal: GrabGoal, error_m: float = 0.0, speed_error_m_s: float = 0.0
) -> tuple[float, float, float, float]:
    """The goal's limits, tightened by the error of where a thing is seen; a speed is judged as finely as it is seen."""
    return (
        goal.off_spot_m - error_m,
        goal.off_table_m + error_m,
        goal.lean_rad,
        goal.speed_m_s + speed_error_m_s,
    )


def at_home(robot: Robot, joints_rad: Array, goal: GrabGoal) -> Measurement:
    """How far the arm is from home, at its farthest joint."""
    off = np.abs(joints_rad[robot.arm] - robot.home[robot.arm]).max()
    return at_most("off_home", float(off), goal.off_home_rad, "rad")


def upright(thing: Estimate) -> float:
    """How much of its upright axis points up; a ball is always upright."""
    return 1.0 if thing.shape == "ball" else float(np.abs(thing.rotation[2]).max())


def half_height_m(thing: Estimate) -> float:
    """Half of how high it stands."""
    if thing.shape == "ball":
        return thing.radius_m
    return float(thing.half_extents_m[int(np.argmax(np.abs(thing.rotation[2])))])
