"""The states of `oranges` from choosing a fruit to a hold of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from graspline.evidence import Evidence, at_least, at_most, passes
from graspline.execution.notifications import Targeted
from graspline.execution.requests import Announce, Free, Motion, Reply, solved
from graspline.grasping.topdown import plan_shift
from graspline.kinematics.arms import arm_of
from graspline.machine.outcome import Gives, Outcome, Producing
from graspline.motion.guards import Guard, ObjectMoved, OnePadTouches
from graspline.motion.joint_moves import hold as still
from graspline.motion.path import CONTINUITY, Path
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.spatial.poses import Pose
from graspline.tasks.oranges.layout import nearest_first
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.pick_state import (
    ChosenJob,
    Errand,
    Holding,
    Job,
    NotedProgress,
    OrangesCell,
    OrangesProgress,
    Working,
    in_gripper_m,
    nominal_hold,
    on_plate,
    plan_pick_and_place,
    where_of,
)
from graspline.tasks.oranges.plate_watch import minding_plate
from graspline.tasks.oranges.sight import PLATE_UNSEEN
from graspline.tasks.oranges.targets import chosen
from graspline.tasks.stages.free import over_object, towards
from graspline.tasks.stages.grasp import HoldReference, bump, reaching, touch_both
from graspline.tasks.stages.rest import stopped
from graspline.tasks.stages.sight import UNSEEN


def idle(
    cell: OrangesCell, progress: OrangesProgress
) -> Producing[Gives[Literal["selected"], ChosenJob] | Outcome[Literal["all_placed", "lost", "stuck", "plate_lost"]]]:
    """Look at everything and choose the next orange to fetch."""
    settings, survey = cell.settings, (yield from cell.eye.survey())
    if not cell.eye.knows_all():
        return Outcome("lost", UNSEEN)
    if not progress.wanted:
        progress = replace(progress, wanted=chosen(settings, survey))
    if survey.plate is None:
        return Outcome("plate_lost", PLATE_UNSEEN)
    placed = on_plate(survey, settings)
    # What was placed and is hidden now is believed to lie where it was; the last look decides.
    remembered = {name for name in progress.placed if name not in survey.things}
    left = [name for name in progress.wanted if name not in placed and name not in remembered]
    if not left:
        return Outcome("all_placed")
    seen = [survey.things[name] for name in left if name in survey.things]
    able = [each for each in seen if each.name not in progress.skipped]
    if not able:
        if not seen:
            return Outcome("lost", UNSEEN)
        return Outcome("stuck", (at_least("oranges_that_can_be_fetched", 0, 1),))
    target = able[0] if settings.targets.order == "given" else nearest_first(settings.the_robot, able)[0]
    yield Announce(Targeted(target.name))
    job = Job(target=target.name, survey=survey, where=where_of(target.name, survey, progress.wanted, settings))
    return Gives("selected", ChosenJob(job=job, progress=progress), about=target.name)


def plan(
    last: Reply, cell: OrangesCell, job: Job, progress: OrangesProgress
) -> Producing[
    Gives[Literal["planned"], ChosenJob]
    | Gives[Literal["refused"], NotedProgress]
    | Outcome[Literal["plate_full", "no_way"]]
]:
    """Plan the whole pick and place, from here to the spot and away from it, before anything moves."""
    tried = progress.tried_for(job.target)
    found = yield from solved(plan_pick_and_place, cell.world, job.where, last.command, cell.settings, tried)
    if isinstance(found, Errand):
        label = (job.target, found.pick.grasp.label)
        noted = replace(progress, tried=(*progress.tried, label))
        return Gives("planned", ChosenJob(job=replace(job, plan=found), progress=noted), about=job.target)
    if found.check == "plate_full":
        return Outcome("plate_full", found.evidence, about=job.target)
    if found.check == "plate_unreachable":
        return Outcome("no_way", found.evidence, about=job.target)
    skipped = replace(progress, skipped=(*progress.skipped, job.target))
    return Gives("refused", NotedProgress(progress=skipped), found.evidence, about=job.target)


def approach(
    cell: OrangesCell, job: Job, progress: OrangesProgress
) -> Producing[Outcome[Literal["above", "blocked"]] | Gives[Literal["moved"], NotedProgress]]:
    """Travel to above the orange, as long as it lies where it was seen."""
    return (yield from _over("above", "approach", job.pick.approach, cell, job, progress))


def posture_adjust(
    cell: OrangesCell, job: Job, progress: OrangesProgress
) -> Producing[Outcome[Literal["aligned", "blocked"]] | Gives[Literal["moved"], NotedProgress]]:
    """Turn the jaws to where they fit between the fruit and its neighbours, and open them."""
    assert job.pick.posture is not None
    return (yield from _over("aligned", "posture_adjust", job.pick.posture, cell, job, progress))


def _over(good: Any, name: str, path: Path, cell: OrangesCell, job: Job, progress: OrangesProgress) -> Producing[Any]:
    """A motion to above the fruit."""
    around, speed = job.where.around, cell.settings.reach.travel_speed
    free = towards(cell.robot, cell.world, path, job.where.target, around, speed)
    ended = yield _reaching(name, path, cell, job, free=free)
    if isinstance(ended.by, ObjectMoved):
        return _moved(ended, job, progress)
    return Outcome(good if ended.by == "completed" else "blocked", ended.evidence)


def _reaching(name: str, path: Path, cell: OrangesCell, job: Job, *contact: Guard, free: Free | None = None) -> Motion:
    target, strayed_m = job.where.target, cell.settings.posture.off_fruit_m
    watch = cell.eye.watch_lying(target)
    return reaching(name, path, target, watch, cell.settings.close, *contact, strayed_m=strayed_m, free=free)


def _moved(ended: Reply, job: Job, progress: OrangesProgress) -> Gives[Literal["moved"], NotedProgress]:
    """The fruit lies elsewhere, or nowhere."""
    return Gives("moved", NotedProgress(progress=progress.untried(job.target)), ended.evidence, about=job.target)


@minding_plate(give_up=True)
def descend(
    last: Reply, cell: OrangesCell, job: Job, progress: OrangesProgress
) -> Producing[
    Gives[Literal["green"], Working]
    | Gives[Literal["moved"], NotedProgress]
    | Outcome[Literal["not_green", "blocked", "plate_moved"]]
]:
    """Come down around the fruit, further in small steps while the posture is not green, but never to the table."""
    robot, settings = cell.robot, cell.settings
    free = over_object(robot, job.pick.descend, job.where.target)
    ended = yield _reaching("descend", job.pick.descend, cell, job, bump(settings.close), free=free)
    while True:
        if isinstance(ended.by, ObjectMoved):
            return _moved(ended, job, progress)
        if ended.by != "completed":
            return Outcome("blocked", ended.evidence, about=job.target)
        evidence = green(ended, robot, settings, job)
        if passes(evidence):
            return Gives("green", Working(job=job), evidence, about=job.target)
        if tip_height_m(ended, robot) - settings.posture.creep_m < settings.posture.floor_m:
            return Outcome("not_green", evidence, about=job.target)
        down_m = -settings.posture.creep_m
        path = yield from solved(plan_shift, robot, job.pick, ended.command, 0.0, settings.reach.whole(), down_m)
        if isinstance(path, Refusal):
            return Outcome("not_green", evidence, about=job.target)
        ended = yield _reaching("descend", path, cell, job, bump(settings.close))


def green(reply: Reply, robot: Robot, settings: Oranges, job: Job) -> Evidence:
    """Whether hand and fruit are as planned: leaning and turned as meant, around the fruit, the jaws open."""
    grasp, limits = job.pick.grasp, settings.posture
    planned = job.pick.descend.end[robot.arm]
    joints = reply.readings.joints[robot.arm]
    point, rotation = arm_of(robot).forward(np.stack([planned, joints]), np.array(grasp.tool_m))
    tilt = float(np.arccos(np.clip(rotation[0, :, 0] @ rotation[1, :, 0], -1, 1)))
    heading = float(np.arccos(np.clip(rotation[0, :, 2] @ rotation[1, :, 2], -1, 1)))
    off = float(np.linalg.norm(point[1, :2] - job.where.target.position_m[:2]))
    error = 3 * job.where.target.position_sigma_m
    return (
        at_most("tilt_error", tilt, limits.tilt_error_rad, "rad"),
        at_most("heading_error", heading, limits.heading_error_rad, "rad"),
        at_most("off_fruit", off, limits.off_fruit_m + error, "m"),
        at_least("jaw_angle", float(reply.readings.joints[robot.jaw]), grasp.touch_rad, "rad"),
    )


def tip_height_m(reply: Reply, robot: Robot) -> float:
    """How high the fixed fingertip is, from the joints."""
    point, _ = arm_of(robot).forward(reply.readings.joints[None, robot.arm], np.array([robot.hand.tip_m, 0.0, 0.0]))
    return float(point[0, 2])


@minding_plate(give_up=False)
def grasp(
    last: Reply, cell: OrangesCell, job: Job, progress: OrangesProgress
) -> Producing[Gives[Literal["closed"], Working] | Outcome[Literal["missed"]]]:
    """Bring the fixed jaw up to the fruit, close the other gradually until both touch, and squeeze a little more."""
    robot, settings, close = cell.robot, cell.settings, cell.settings.close
    seat: Path | Refusal = job.pick.seat
    if np.abs(seat.positions[0] - last.command.position).max() > CONTINUITY:
        # The hand crept on after its planned way down: the same way aside from where it is.
        ends, _ = arm_of(robot).forward(seat.positions[[0, -1]], np.array(job.pick.grasp.tool_m))
        along_m = float(np.linalg.norm(ends[1] - ends[0]))
        seat = yield from solved(plan_shift, robot, job.pick, last.command, along_m, settings.reach.whole())
        if isinstance(seat, Refusal):
            return Outcome("missed", seat.evidence, about=job.target)
    ended = yield Motion("seat", seat, guards=(OnePadTouches(pad="fixed", force_n=close.touch_n),))
    ended = yield from stopped(ended, robot)
    shut = closing_end_rad(robot, settings, float(ended.command.position[robot.jaw]))
    touched = yield from touch_both(ended, robot, job.pick, close, settings.reach.whole(), shut)
    if isinstance(touched, Reply):
        return Gives("closed", Working(job=job), touched.evidence)
    return Outcome("missed", touched, about=job.target)


def closing_end_rad(robot: Robot, settings: Oranges, open_rad: float) -> float:
    """Where closing ends if nothing is touched: at an angle, or a share of the way from open to shut."""
    closing, shut = settings.closing, float(robot.limits.lower[robot.jaw])
    if closing.by == "angle":
        return max(closing.end_rad * robot.jaw_unit, shut)
    return open_rad + closing.end_percent / 100 * (shut - open_rad)


@minding_plate(give_up=False)
def settle(
    last: Reply, cell: OrangesCell, job: Job, progress: OrangesProgress
) -> Producing[Gives[Literal["held"], Holding] | Outcome[Literal["missed"]]]:
    """Let the hold settle and check that it is one: pads, jaw opening, and the fruit's place in the hand."""
    robot, settings, close = cell.robot, cell.settings, cell.settings.close
    ended = yield Motion("settle", still(robot, last.command, close.settle_s))
    touch_rad, error_rad = job.pick.grasp.touch_rad, settings.closing.touch_error_rad * robot.jaw_unit
    jaw_rad = float(ended.readings.joints[robot.jaw])
    held, _ = nominal_hold(job.pick, settings)
    held = replace(held, name=job.target, jaw_rad=float(ended.command.position[robot.jaw]))
    tool, rotation = ended.readings.tool_position_m, ended.readings.tool_rotation
    base = arm_of(robot).forward(ended.readings.joints[None, robot.arm], np.array(held.centre_m))[0][0]
    seen = yield from cell.eye.see_held(job.target, base)
    evidence: Evidence = (
        at_least("weaker_pad_force", min(ended.readings.pad_forces_n()), close.lost_n, "N"),
        at_most("jaw_off_touch", abs(jaw_rad - touch_rad), error_rad, "rad"),
    )
    centre, sigma = base, job.where.target.position_sigma_m
    if seen is not None:
        centre, sigma = seen.position_m, seen.position_sigma_m
        off = float(np.linalg.norm(centre - base))
        evidence = (*evidence, at_most("off_in_hand", off, settings.closing.in_hand_m + 3 * sigma, "m"))
    if not passes(evidence):
        return Outcome("missed", evidence, about=job.target)
    held = replace(held, X_HO=Pose(position_m=in_gripper_m(ended, robot, centre), rotation=held.X_HO.rotation))
    hold = HoldReference(
        least_jaw_rad=touch_rad - error_rad,
        tool_m=tool,
        object_m=centre,
        in_hand_m=rotation.T @ (centre - tool),
        position_sigma_m=sigma,
    )
    holding = Holding(job=replace(job, held=held, hold=hold), held=held)
    return Gives("held", holding, evidence, about=job.target)
