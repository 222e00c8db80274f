"""ExecuteGrasp: poses in order, each tried until one holds; then away from the table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import at_least, at_most, passes
from graspline.execution.requests import Motion, Reply
from graspline.grasping.hand_poses import HandPose
from graspline.grasping.whole_body_reach import UP, Reach
from graspline.machine.machine import Machine, by_name
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.machine.table import End, Retry
from graspline.motion.guards import BothPadsTouch
from graspline.motion.joint_moves import hold as still
from graspline.motion.joint_moves import jaw_move
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.spatial.poses import Pose
from graspline.tasks.tidy.approach import approach, go_round, look_again, look_round, reach_in
from graspline.tasks.tidy.base_motion import (
    Stopped,
    TidyCell,
    both_pads,
    ended,
    felt_kg,
    gap_m,
    hold_guard,
    play,
    still_held,
    straight,
    tool_at,
    travel,
)
from graspline.tasks.tidy.believed_room import House, around, whole
from graspline.tasks.tidy.grasp_plans import plan_grasp, sort_poses
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.postures import TABLE_AWAY_M, before, carrying, middle_of
from graspline.tasks.tidy.record import TableRecord
from graspline.tasks.tidy.robot import BODY

Array = NDArray[np.float64]

_CLOSING_RAD_S = 0.9
_SETTLE_S = 0.25
# So much narrower than what was felt nothing is held any more.
_NARROWER_M = 0.012
# One row in this number is kept of the way there.
_EVERY = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grasped:
    """What the hand holds."""

    held: HeldObject


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Taken(Grasped):
    """What ExecuteGrasp hands on: what it holds, and the room with what is left on the table."""

    house: House
    # How it was taken, (T, nu): there, in, and up.
    swept: Array


def close(
    last: Reply, cell: TidyCell, reach: Reach, hand_kg: float, target: Belief
) -> Producing[Gives[Literal["closed"], Grasped] | Outcome[Literal["missed"]]]:
    """Close until both pads feel the thing, squeeze, and hold what is felt against its width."""
    robot, grasp = cell.robot, cell.settings.grasp
    shut = float(robot.limits.lower[robot.jaw])
    path = jaw_move(robot, last.command, shut, speed_rad_s=_CLOSING_RAD_S)
    reply = yield Motion("close", path, guards=(BothPadsTouch(force_n=grasp.touch_n, for_s=0.03),))
    squeezed = max(float(reply.readings.joints[robot.jaw]) - grasp.squeeze_rad, shut)
    reply = yield Motion("squeeze", jaw_move(robot, reply.command, squeezed, speed_rad_s=_CLOSING_RAD_S))
    reply = yield Motion("settle", still(robot, reply.command, _SETTLE_S))
    gap = gap_m(reply, cell)
    evidence = (
        at_least("weaker_pad_force", min(reply.readings.pad_forces_n()), grasp.touch_n, "N"),
        at_most("gap_error", abs(gap - reach.pose.width_m), grasp.width_m, "m"),
    )
    if not passes(evidence):
        return Outcome("missed", evidence, about=target.name)
    tool, bottom = tool_at(reply), target.position_m - float(target.half_extents_m[2]) * UP
    held = replace(
        HeldObject.of(whole(target), tool),
        stood=Pose(position_m=bottom, rotation=np.eye(3)).seen_from(tool),
        gap_m=gap,
        least_jaw_rad=float(robot.jaw_law.angle_rad(max(gap - _NARROWER_M, 0.0))),
        mass_kg=hand_kg,
        top=reach.pose.top,
    )
    return Gives("closed", Grasped(held=held), evidence, about=target.name)


def lift(
    last: Reply, cell: TidyCell, held: HeldObject
) -> Producing[Gives[Literal["lifted"], Grasped] | Outcome[Literal["lost", "blocked"]]]:
    """Straight up, and feel what it weighs."""
    guard, grasp = hold_guard(cell, held), cell.settings.grasp
    reply = yield from straight(last, cell, grasp.lift_m * UP, guard, name="lift", speed=0.7)
    if not isinstance(reply, Stopped):
        reply = yield from play(cell, Motion("weigh", still(cell.robot, reply.command, _SETTLE_S), guards=(guard,)))
    if isinstance(reply, Stopped):
        return ended("lifted", reply, held.name)
    mass = felt_kg(reply)
    evidence = (at_least("weight", mass - held.mass_kg, grasp.weight_kg, "kg"), both_pads(reply, cell))
    if not passes(evidence):
        return Outcome("lost", evidence, about=held.name)
    return Gives("lifted", Grasped(held=replace(held, mass_kg=mass)), evidence, about=held.name)


def leave(
    last: Reply, cell: TidyCell, house: House, target: Belief, reach: Reach, held: HeldObject
) -> Producing[Gives[Literal["away"], Taken] | Outcome[Literal["lost", "blocked"]]]:
    """Back from the table with the thing, into a posture that carries it low and upright."""
    left = replace(house, things=tuple(each for each in house.things if each is not target))
    start, base = last.command.position, before(house.table, TABLE_AWAY_M)
    goals = carrying(held, start, base, middle_of(house.table))
    reply = yield from travel(last, cell, around(left, held), goals, speed=0.7)
    if isinstance(reply, Stopped):
        return ended("away", reply, held.name)
    evidence = still_held(reply, cell, held)
    if not passes(evidence):
        return Outcome("lost", evidence, about=held.name)
    up = reach.at.copy()
    up[BODY.LIFT] += cell.settings.grasp.lift_m
    swept = np.concatenate([reach.way.positions[::_EVERY], np.stack([reach.before, reach.at, up])])
    return Gives("away", Taken(held=held, house=left, swept=swept), evidence, about=held.name)


def set_down(last: Reply, cell: TidyCell, reach: Reach) -> Stage[Literal["down"]]:
    """What cannot be lifted goes back to where it stood."""
    way = np.array([0.0, 0.0, float((reach.at - last.command.position)[BODY.LIFT])])
    yield from straight(last, cell, way, name="set_down", speed=0.3)
    return Outcome("down")


def back_off(last: Reply, cell: TidyCell, reach: Reach) -> Stage[Literal["ready"]]:
    """Open where the hand is and leave the way it came."""
    wide = float(reach.at[cell.robot.jaw])
    reply = yield Motion("open", jaw_move(cell.robot, last.command, wide, speed_rad_s=_CLOSING_RAD_S))
    # As far as it came in, whatever stopped it there.
    way = reach.before - reply.command.position
    out = np.array([way[0], way[1], max(way[BODY.LIFT], 0.0)])
    yield from straight(reply, cell, out, name="back_off", speed=0.5)
    return Outcome("ready")


def execute_grasp(settings: Tidy) -> Machine:
    """The component, by the names it is known by."""
    failed = End("failed_to_grasp")
    again = Retry(to="plan_grasp", budget="grasps", otherwise=failed)
    return Machine(
        name="execute_grasp",
        start="sort_poses",
        work_begins="approach",
        states={
            **by_name(sort_poses, plan_grasp, go_round, look_round, approach, look_again, reach_in),
            **by_name(close, lift, leave, set_down, back_off),
        },
        table={
            "sort_poses": {"sorted": "plan_grasp", "unreachable": failed},
            "plan_grasp": {
                "planned": "approach",
                "far": Retry(to="go_round", budget="sides", otherwise="approach"),
                "none_left": failed,
            },
            "go_round": {"there": "look_round", "blocked": "sort_poses"},
            "look_round": {"seen": "sort_poses", "unseen": "sort_poses", "gone": failed},
            "approach": {"there": "look_again", "blocked": again},
            "look_again": {"seen": "reach_in", "unseen": "reach_in", "in_the_way": again, "gone": failed},
            "reach_in": {"around": "close", "blocked": "back_off"},
            "close": {"closed": "lift", "missed": "back_off"},
            "lift": {"lifted": "leave", "lost": "back_off", "blocked": "set_down"},
            "leave": {
                "away": End("execute_grasp_success"),
                "lost": failed,
                "blocked": Retry(to="leave", budget="ways", otherwise="set_down"),
            },
            "set_down": {"down": "back_off"},
            "back_off": {"ready": again},
        },
        inputs={
            "cell": TidyCell,
            "house": House,
            "record": TableRecord,
            "target": Belief,
            "grasp_poses": tuple[HandPose, ...],
        },
        budgets={name: getattr(settings.retries, name) for name in ("grasps", "ways", "sides")},
        gives={"held": HeldObject, "house": House, "swept": Array},
        hands_back=("record",),
        successes=("execute_grasp_success",),
    )
