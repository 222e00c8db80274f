"""What is done when something went wrong, and the way home. Joints are never set: every way is planned and checked."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, Measurement, at_least, at_most, passes
from graspline.execution.requests import Motion, Reply, Request, solved
from graspline.kinematics.arms import arm_of
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.motion.guards import TrackingError
from graspline.motion.joint_moves import hold as still
from graspline.motion.joint_moves import jaw_move
from graspline.motion.path import Command, Path
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.placement.carry import no_support, plan_carry, plan_raise
from graspline.placement.held import held_ball
from graspline.placement.plate import Plate
from graspline.placement.query import CarryQuery, Support
from graspline.placement.resting import FruitSighting, has_been_still, is_still_now, rests_on
from graspline.planning.routes import free_way
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.tasks.oranges.feasible import home_joints
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.pick_state import (
    Job,
    NotedProgress,
    OrangesCell,
    OrangesProgress,
    carry_query,
    in_gripper_m,
    on_plate,
)
from graspline.tasks.oranges.sight import Survey, lying, plate_shape
from graspline.tasks.oranges.targets import chosen
from graspline.tasks.stages.grasp import open_and_rise
from graspline.tasks.stages.place import homewards
from graspline.tasks.stages.rest import stopped
from graspline.tasks.stages.take_over import held_by, let_go, stop

Array = NDArray[np.float64]

# Where to look from when something is hidden: straight ahead, then with the arm out of the way on either side.
_ASIDE_RAD = (0.0, 1.3, -1.3)
_TRAVEL = 0.5
# How long a fruit that was lost may roll before it is looked for.
_ROLL_S = 0.6
# How long to wait before looking again.
_PASS_S = 0.4


def back_off(last: Reply, cell: OrangesCell, job: Job) -> Stage[Literal["ready"]]:
    """Leave a failed grasp: open, and rise the way the hand came."""
    reply = yield from stopped(last, cell.robot)
    yield from open_and_rise(reply, cell.robot, job.pick, cell.settings.close)
    return Outcome("ready")


def regroup(last: Reply, cell: OrangesCell, job: Job) -> Stage[Literal["ready"]]:
    """A fruit was lost on the way: stop, open the hand and give the fruit time to come to rest."""
    robot, speed = cell.robot, cell.settings.close.speed_rad_s
    reply = yield from stopped(last, robot)
    opened = max(float(reply.command.position[robot.jaw]), job.pick.grasp.touch_rad)
    reply = yield Motion("open", jaw_move(robot, reply.command, opened, speed_rad_s=speed))
    yield Motion("wait", still(robot, reply.command, _ROLL_S))
    return Outcome("ready")


def put_back(
    last: Reply, cell: OrangesCell, job: Job, held: HeldObject | None
) -> Stage[Literal["put_back", "stranded"]]:
    """Set a fruit that cannot be placed, or that slipped in the hand, back onto the table."""
    reply = yield from set_down(last, cell, held)
    if isinstance(reply, Reply):
        return Outcome("put_back", about=job.target)
    return Outcome("stranded", reply.evidence, about=job.target)


def step_aside(
    last: Reply, cell: OrangesCell, progress: OrangesProgress
) -> Producing[Gives[Literal["aside"], NotedProgress] | Outcome[Literal["stranded"]]]:
    """Take the arm out of the way and look from there; what could not be planned before is tried again."""
    survey = yield from cell.eye.survey()
    target = home_joints(cell.settings).copy()
    target[0] = _ASIDE_RAD[cell.eye.aside()]
    path = way_to(cell, last.command, target, survey)
    if isinstance(path, Refusal):
        return Outcome("stranded", (at_least("checked_ways_home", 0, 1), *path.evidence))
    ended = yield Motion("step_aside", path, guards=(TrackingError(error_rad=cell.settings.close.blocked_rad),))
    # Whatever hid it, a hand or a failing eye, may pass.
    yield Motion("wait", still(cell.robot, ended.command, _PASS_S))
    return Gives("aside", NotedProgress(progress=replace(progress, skipped=())))


def return_home(last: Reply, cell: OrangesCell, held: HeldObject | None) -> Stage[Literal["home", "stranded"]]:
    """Drive home along a checked path with open jaws; what is still in the hand is set down first.

    If there is no checked path the arm holds where it is and says so.
    """
    reply, close = (yield from stopped(last, cell.robot)), cell.settings.close
    if min(reply.readings.pad_forces_n()) >= close.lost_n and held is not None:
        down = yield from set_down(reply, cell, held)
        if not isinstance(down, Reply):
            return Outcome("stranded", down.evidence)
        reply = down
    survey = yield from cell.eye.survey()

    def home_from(start: Command) -> Path | Refusal:
        return way_to(cell, start, home_joints(cell.settings), survey)

    return (yield from homewards(reply, home_from, close))


def way_to(cell: OrangesCell, start: Command, target: Array, survey: Survey) -> Path | Refusal:
    """A checked way to an arm pose, the jaws as they are: straight, or by retracting it or raising it first."""
    return free_way(cell.robot, cell.world, start, target, _obstacles(survey), speed=_TRAVEL)


def _obstacles(survey: Survey, *held: str) -> tuple[Belief, ...]:
    """Everything but what is in the hand."""
    return tuple(each if each.shape == "plate" else lying(each, survey.plate) for each in survey.others(*held))


def set_down(last: Reply, cell: OrangesCell, held: HeldObject | None) -> Generator[Request, Reply, Reply | Refusal]:
    """Lower what is in the hand onto a free place on the table, open and leave; or why there is none."""
    robot, reply = cell.robot, (yield from stopped(last, cell.robot))
    if held is None:
        return no_support("")
    held_m = arm_of(robot).forward(reply.readings.joints[None, robot.arm], np.array(held.centre_m))[0][0]
    nothing = Survey(things={}, plate=None, time_s=reply.time_s)
    survey = yield from cell.eye.survey_holding(held.name, held_m, nothing)
    held = replace(held, jaw_rad=float(reply.command.position[robot.jaw]))
    query = carry_query(cell.world, held, reply.command, _obstacles(survey, held.name), cell.settings)
    up = yield from solved(plan_raise, query)
    if up is not None:
        reply = yield Motion("raise", up)
        query = replace(query, start=reply.command)
    free = _free_on_table(query, survey)
    found = yield from solved(plan_carry, query, [Support(x_m=x, y_m=y) for x, y in free])
    if isinstance(found, Refusal):
        return found
    for name, path in (*found.across, ("lower", found.lower), ("open", found.open), ("withdraw", found.withdraw)):
        reply = yield Motion(name, path)
    return reply


def take_over(last: Reply, cell: OrangesCell) -> Stage[Literal["ready"]]:
    """Free the hand from whatever another driver was doing: by a checked way to a free place if there is one."""
    robot, close = cell.robot, cell.settings.close
    reply = yield from stop(last, robot)
    survey = yield from cell.eye.survey()
    held = held_by(reply, robot, close, tuple(survey.things.values()))
    if held is not None and held.shape == "ball":
        down = yield from set_down(reply, cell, _in_hand(reply, robot, held))
        reply = down if isinstance(down, Reply) else reply

    def see_all() -> Generator[Request, Reply, tuple[Belief, ...]]:
        seen = yield from cell.eye.survey()
        return seen.others()

    yield from let_go(reply, robot, cell.world, close, see_all)
    return Outcome("ready")


def _in_hand(reply: Reply, robot: Robot, held: Belief) -> HeldObject:
    """How a fruit sits in the hand, by where it is seen."""
    arm, joints = arm_of(robot), reply.readings.joints[robot.arm]
    rotation = arm.forward(joints[None], np.zeros(3))[1][0]
    centre = in_gripper_m(reply, robot, held.position_m)
    yaw, pitch = float(np.arctan2(rotation[1, 2], rotation[0, 2])), float(arm.pitch_rad(joints[None])[0])
    branches = arm.solve(held.position_m[None], pitch, yaw, centre, backwards=False).joints_rad[0]
    branch = int(np.argmin(np.abs(branches - joints).max(axis=-1)))
    jaw_rad = float(reply.command.position[robot.jaw])
    return held_ball(held.name, centre, held.radius_m, jaw_rad=jaw_rad, branch=branch)


def remaining(settings: Oranges, inputs: dict[str, Any]) -> Generator[Request, Reply, Mapping[str, Array]]:
    """Where oranges are seen that are asked for and not on the plate; the first look decides which are asked for."""
    survey = yield from cast(OrangesCell, inputs["cell"]).eye.survey()
    progress = cast(OrangesProgress, inputs["progress"])
    if not progress.wanted:
        progress = inputs["progress"] = replace(progress, wanted=chosen(settings, survey))
    placed = on_plate(survey, settings)
    return {
        name: survey.things[name].position_m for name in progress.wanted if name in survey.things and name not in placed
    }


def _free_on_table(query: CarryQuery, survey: Survey) -> list[tuple[float, float]]:
    """Places on the table with room for the fruit, nearest to where the hand is first."""
    radius, here = query.held.spread_m, query.held_m()
    axis_x_m, axis_y_m = query.arm.axis_m
    grid = [
        (axis_x_m + distance * np.cos(azimuth), axis_y_m + distance * np.sin(azimuth))
        for distance in np.arange(0.16, 0.32, 0.02)
        for azimuth in np.arange(-1.5, 1.51, 0.15)
    ]
    free = []
    for x, y in [(float(here[0]), float(here[1])), *grid]:
        at = np.array([[x, y, radius]])
        room = [each.distance_m(at) for each in query.obstacles]
        clear = all(apart is None or apart[0] >= radius + 0.02 for apart in room)
        if survey.plate is not None:
            plate = plate_shape(survey.plate)
            clear &= float(np.hypot(x - plate.x_m, y - plate.y_m)) >= plate.radius_m + radius + 0.01
        if clear:
            free.append((float(x), float(y)))
    return sorted(free, key=lambda each: float(np.hypot(each[0] - here[0], each[1] - here[1])))[:8]


def all_placed(
    windows: dict[str, tuple[FruitSighting, ...]],
    radii_m: dict[str, float],
    plate: Plate,
    settings: Oranges,
    error_m: float = 0.0,
) -> Evidence:
    """The goal, written once: every orange asked for rests on the plate, inside its rim."""
    found: list[Measurement] = []
    for name, window in windows.items():
        for each in rests_on(window, radii_m[name], plate, settings.rest, error_m):
            found.append(replace(each, name=f"{name} {each.name}"))
    return tuple(found)


def confirm(
    last: Reply, cell: OrangesCell, progress: OrangesProgress
) -> Producing[Outcome[Literal["confirmed"]] | Gives[Literal["refuted"], NotedProgress]]:
    """From home, look at every orange that was asked for, several times, and hold what is seen against the goal."""
    reply, settings, dt_s = last, cell.settings, cell.robot.dt_s
    windows: dict[str, list[FruitSighting]] = {name: [] for name in progress.wanted}
    radii: dict[str, float] = {}
    plate, error, began = None, 0.0, last.time_s
    while True:
        survey = yield from cell.eye.survey()
        plate = survey.plate
        if plate is None or any(name not in survey.things for name in progress.wanted):
            missing = sum(name not in survey.things for name in progress.wanted)
            return Gives("refuted", _forgotten(progress), (at_most("oranges_not_seen", missing, 0),))
        for name in progress.wanted:
            seen = survey.things[name]
            radii[name], error = seen.radius_m, max(error, seen.position_sigma_m)
            windows[name].append(
                FruitSighting(time_s=survey.time_s, position_m=seen.position_m, plate_m=plate.position_m)
            )
        waited_s = reply.time_s - began
        if waited_s > settings.rest.still_s + dt_s / 2:
            break
        # The last two looks are a tick apart, so that nothing has begun to move unseen.
        pause_s = settings.release.check_s if waited_s < settings.rest.still_s - 1e-9 else dt_s
        reply = yield Motion("confirm", still(cell.robot, reply.command, pause_s))
    fixed = {name: tuple(window) for name, window in windows.items()}
    evidence = all_placed(fixed, radii, plate_shape(plate), settings, error)
    slowest = min(fixed.values(), key=lambda window: has_been_still(window, settings.rest, error)[0].value)
    fastest = max(fixed.values(), key=lambda window: is_still_now(window, settings.rest, error)[0].value)
    evidence = (*evidence, *has_been_still(slowest, settings.rest, error), *is_still_now(fastest, settings.rest, error))
    if passes(evidence):
        return Outcome("confirmed", evidence)
    return Gives("refuted", _forgotten(progress), evidence)


def _forgotten(progress: OrangesProgress) -> NotedProgress:
    """Nothing is believed to be placed any more unless it is seen there."""
    return NotedProgress(progress=replace(progress, records=(), skipped=()))
