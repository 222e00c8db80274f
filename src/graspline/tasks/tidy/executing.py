"""ExecuteGrasp: poses in order, each tried until one holds; then away from the table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import at_least, at_most, passes
from graspline.execution.requests import Motion, Reply
from graspline.grasping.hand_poses import HandPose
from graspline.grasping.reaching import UP, Reach
from graspline.machine.machine import Machine, by_name
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.machine.table import End, Retry
from graspline.motion.guards import BothPadsTouch
from graspline.motion.joint_moves import hold as still
from graspline.motion.joint_moves import jaw_move
from graspline.perception.beliefs import Belief
from graspline.perception.held import HeldObject
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.spatial.poses import Pose
from graspline.tasks.tidy.grasp_plans import plan_grasp, sort_poses
from graspline.tasks.tidy.house import House, before
from graspline.tasks.tidy.moving import (
    TABLE_AWAY_M,
    Stopped,
    around,
    carrying,
    felt_kg,
    hold_guard,
    play,
    straight,
    tool_at,
    travel,
    whole,
    without,
)
from graspline.tasks.tidy.nearing import TakenAway, approach, go_round, look_again, look_round, reach_in
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.robot import BODY
from graspline.tasks.tidy.sight import Eye

Array = NDArray[np.float64]

_CLOSING_RAD_S = 0.9
_SETTLE_S = 0.25
# One row in this number is kept of the way there.
_EVERY = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grasped:
    held: HeldObject


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Taken:
    """What ExecuteGrasp hands on."""

    held: HeldObject
    placement_surface_to_wrist: Pose
    top_grasp: bool
    # What is left on the table, and the room as it was seen last.
    things: tuple[Belief, ...]
    house: House
    # How it was taken, (T, nu): there, in, and up.
    swept: Array


def close(
    last: Reply,
    robot: Robot,
    settings: Tidy,
    reach: Reach,
    hand_kg: float,
    grasp_object_bb: Belief,
    grasp_object_name: str,
) -> Producing[Gives[Literal["closed"], Grasped] | Outcome[Literal["missed"]]]:
    """Close until both pads feel the thing, squeeze, and hold what is felt against its width."""
    grasp, width = settings.grasp, reach.pose.width_m
    shut = float(robot.limits.lower[robot.jaw])
    touch = BothPadsTouch(force_n=grasp.touch_n, for_s=0.03)
    ended = yield Motion("close", jaw_move(robot, last.command, shut, speed_rad_s=_CLOSING_RAD_S), guards=(touch,))
    felt_rad = float(ended.readings.joints[robot.jaw])
    ended = yield Motion(
        "squeeze", jaw_move(robot, ended.command, max(felt_rad - grasp.squeeze_rad, shut), speed_rad_s=_CLOSING_RAD_S)
    )
    ended = yield Motion("settle", still(robot, ended.command, _SETTLE_S))
    gap = float(robot.jaw_law.gap_m(float(ended.readings.joints[robot.jaw])))
    evidence = (
        at_least("weaker_pad_force", min(ended.readings.pad_forces_n()), grasp.touch_n, "N"),
        at_most("gap_error", abs(gap - width), grasp.width_m, "m"),
    )
    if not passes(evidence):
        return Outcome("missed", evidence, about=grasp_object_name)
    tool = tool_at(ended)
    bottom = grasp_object_bb.position_m - float(grasp_object_bb.half_extents_m[2]) * UP
    held = replace(
        HeldObject.of(whole(grasp_object_bb), tool),
        name=grasp_object_name,
        stood=Pose(position_m=bottom, rotation=np.eye(3)).seen_from(tool),
        gap_m=gap,
        least_jaw_rad=float(robot.jaw_law.angle_rad(max(gap - 0.012, 0.0))),
        mass_kg=hand_kg,
        top=reach.pose.top,
    )
    return Gives("closed", Grasped(held=held), evidence, about=grasp_object_name)


def lift(
    last: Reply, robot: Robot, settings: Tidy, hand_kg: float, held: HeldObject
) -> Producing[Gives[Literal["lifted"], Grasped] | Outcome[Literal["lost", "blocked"]]]:
    """Straight up, and feel what it weighs."""
    guard = hold_guard(held, settings.grasp)
    reply = yield from straight(last, robot, settings.grasp.lift_m * UP, (guard,), name="lift", speed=0.7)
    if isinstance(reply, Stopped):
        return Outcome("lost" if reply.lost else "blocked", reply.evidence, about=held.name)
    reply = yield from play(robot, Motion("weigh", still(robot, reply.command, _SETTLE_S), guards=(guard,)))
    if isinstance(reply, Stopped):
        return Outcome("lost", reply.evidence, about=held.name)
    mass = felt_kg(reply)
    evidence = (
        at_least("weight", mass - hand_kg, settings.grasp.weight_kg, "kg"),
        at_least("weaker_pad_force", min(reply.readings.pad_forces_n()), settings.grasp.lost_n, "N"),
    )
    if not passes(evidence):
        return Outcome("lost", evidence, about=held.name)
    return Gives("lifted", Grasped(held=replace(held, mass_kg=mass)), evidence, about=held.name)


def leave(
    last: Reply,
    robot: Robot,
    world: CollisionWorld,
    house: House,
    settings: Tidy,
    things: tuple[Belief, ...],
    grasp_object_bb: Belief,
    reach: Reach,
    held: HeldObject,
) -> Producing[Gives[Literal["away"], Taken] | Outcome[Literal["lost", "blocked"]]]:
    """Back from the table with the thing, into a posture that carries it low and upright."""
    among = without(around(house, things), grasp_object_bb, held)
    base = before(house.table, TABLE_AWAY_M)
    gaze = house.table.in_world((0.0, 0.0, house.table.levels[0].position_m[2]))
    goals = carrying(held, last.command.position, base, gaze)
    reply = yield from travel(last, robot, world, among, goals, (hold_guard(held, settings.grasp),), speed=0.7)
    if isinstance(reply, Stopped):
        return Outcome("lost" if reply.lost else "blocked", reply.evidence, about=held.name)
    evidence = (
        at_least("weaker_pad_force", min(reply.readings.pad_forces_n()), settings.grasp.lost_n, "N"),
        at_least("jaw_angle", float(reply.readings.joints[robot.jaw]), held.least_jaw_rad, "rad"),
    )
    if not passes(evidence):
        return Outcome("lost", evidence, about=held.name)
    left = tuple(each for each in things if each is not grasp_object_bb)
    up = reach.at.copy()
    up[BODY.LIFT] += settings.grasp.lift_m
    swept = np.concatenate([reach.way.positions[::_EVERY], np.stack([reach.before, reach.at, up])])
    taken = Taken(
        held=held, placement_surface_to_wrist=held.X_HB, top_grasp=held.top, things=left, house=house, swept=swept
    )
    return Gives("away", taken, evidence, about=held.name)


def set_down(last: Reply, robot: Robot, reach: Reach) -> Stage[Literal["down"]]:
    """What cannot be lifted goes back to where it stood."""
    way = np.array([0.0, 0.0, float((reach.at - last.command.position)[BODY.LIFT])])
    yield from straight(last, robot, way, name="set_down", speed=0.3)
    return Outcome("down")


def back_off(last: Reply, robot: Robot, settings: Tidy, reach: Reach) -> Stage[Literal["ready"]]:
    """Open where the hand is and leave the way it came."""
    wide = float(reach.at[robot.jaw])
    reply = yield Motion("open", jaw_move(robot, last.command, wide, speed_rad_s=_CLOSING_RAD_S))
    # As far as it came in, whatever stopped it there.
    way = reach.before - reply.command.position
    out = np.array([way[0], way[1], max(way[BODY.LIFT], 0.0)])
    yield from straight(reply, robot, out, name="back_off", speed=0.5)
    return Outcome("ready")


def execute_grasp(settings: Tidy) -> Machine:
    """The component, with the seed's names at its edges."""
    again = Retry(to="plan_grasp", budget="grasps", otherwise=End("failed_to_grasp"))
    return Machine(
        name="execute_grasp",
        start="sort_poses",
        work_begins="approach",
        states={
            **by_name(sort_poses, plan_grasp, go_round, look_round, approach, look_again, reach_in),
            **by_name(close, lift, leave, set_down, back_off),
        },
        table={
            "sort_poses": {"sorted": "plan_grasp", "unreachable": End("failed_to_grasp")},
            "plan_grasp": {
                "planned": "approach",
                "far": Retry(to="go_round", budget="sides", otherwise="approach"),
                "none_left": End("failed_to_grasp"),
            },
            "go_round": {"there": "look_round", "blocked": "sort_poses"},
            "look_round": {"seen": "sort_poses", "unseen": "sort_poses", "gone": End("failed_to_grasp")},
            "approach": {"there": "look_again", "blocked": again},
            "look_again": {
                "seen": "reach_in",
                "unseen": "reach_in",
                "in_the_way": again,
                "gone": End("failed_to_grasp"),
            },
            "reach_in": {"around": "close", "blocked": "back_off"},
            "close": {"closed": "lift", "missed": "back_off"},
            "lift": {"lifted": "leave", "lost": "back_off", "blocked": "set_down"},
            "leave": {
                "away": End("execute_grasp_success"),
                "lost": End("failed_to_grasp"),
                "blocked": Retry(to="leave", budget="ways", otherwise="set_down"),
            },
            "set_down": {"down": "back_off"},
            "back_off": {"ready": again},
        },
        inputs={
            "world": CollisionWorld,
            "eye": Eye,
            "house": House,
            "settings": Tidy,
            "things": tuple[Belief, ...],
            "grasp_poses": tuple[HandPose, ...],
            "grasp_object_bb": Belief,
            "grasp_object_name": str,
            "contact_possible": bool,
            "taken_away": tuple[TakenAway, ...],
        },
        budgets={
            "grasps": settings.retries.grasps,
            "ways": settings.retries.ways,
            "sides": settings.retries.sides,
        },
        gives={
            "held": HeldObject,
            "placement_surface_to_wrist": Pose,
            "top_grasp": bool,
            "things": tuple[Belief, ...],
            "house": House,
            "swept": Array,
        },
        hands_back=("taken_away",),
        successes=("execute_grasp_success",),
    )
