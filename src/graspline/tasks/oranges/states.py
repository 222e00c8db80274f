"""The states of `oranges`, from choosing a fruit to leaving it on the plate."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least, at_most, failures, passes
from graspline.execution.happenings import Noticed, Targeted
from graspline.execution.requests import Announce, Motion, Reply, solved
from graspline.grasping.candidates import GraspRejected
from graspline.grasping.topdown import GraspPlan, plan_lift, plan_shift
from graspline.kinematics.so101 import forward
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.motion.guards import BothPadsTouch, ForceAbove, HoldLost, OnePadTouches, TrackingError
from graspline.motion.joint_moves import brake, jaw_move
from graspline.motion.joint_moves import hold as still
from graspline.perception.estimates import Estimate
from graspline.placement.book import PlacementBook, PlacementRecord
from graspline.placement.carry import CarryPlan, Grip, NoSpot
from graspline.placement.plate import Plate, Resting, inside_m
from graspline.placement.resting import Sighting, has_been_still, not_displaced, plate_not_shifted, rests_on
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.robots.so101 import TIP_M
from graspline.tasks.oranges.errand import (
    Errand,
    Where,
    free_spots,
    nominal_grip,
    plan_errand,
    plan_way,
)
from graspline.tasks.oranges.layout import nearest_first
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.sight import FruitEye, Survey, lying, plate_shape
from graspline.tasks.oranges.targets import chosen
from graspline.tasks.stages.carry import following_guards, hold_guards
from graspline.tasks.stages.grasp import Hold

Array = NDArray[np.float64]

# How far, and how often, the fixed jaw is brought up to a fruit that only the other one touches.
_FOLLOW_M = 0.006
_FOLLOW_TIMES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What has been done so far: which oranges are asked for, what was put where, and what was tried."""

    wanted: tuple[str, ...] = ()
    book: PlacementBook = field(default_factory=PlacementBook)
    # Grasps tried for each orange since it was last placed.
    tried: tuple[tuple[str, str], ...] = ()
    # Oranges for which no plan was found since the last look from elsewhere.
    skipped: tuple[str, ...] = ()

    def tried_for(self, name: str) -> tuple[str, ...]:
        return tuple(label for orange, label in self.tried if orange == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One errand: the orange, what was seen when it was chosen, and the plan once there is one."""

    target: str
    survey: Survey
    where: Where
    errand: Errand | None = None
    # The orange in the hand, once it is there.
    grip: Grip | None = None
    hold: Hold | None = None

    @property
    def pick(self) -> GraspPlan:
        assert self.errand is not None
        return self.errand.pick

    @property
    def carry(self) -> CarryPlan:
        assert self.errand is not None
        return self.errand.carry

    @property
    def held(self) -> Hold:
        assert self.hold is not None
        return self.hold

    @property
    def gripped(self) -> Grip:
        assert self.grip is not None
        return self.grip


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    job: Job
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    job: Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Gripped:
    job: Job
    # What the hand holds, for those who only know that it holds something.
    grip: Grip | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    progress: Progress


def on_plate(survey: Survey, settings: Oranges) -> dict[str, Estimate]:
    """Oranges that by this look lie inside the rim, on the plate's floor."""
    if survey.plate is None:
        return {}
    plate, rest = plate_shape(survey.plate), settings.rest
    found = {}
    for name, each in survey.things.items():
        if each.shape == "ball":
            x, y, z = each.position_m - survey.plate.position_m
            height = abs(z - plate.floor_m - each.radius_m)
            inside = x * x + y * y <= inside_m(plate, rest.inside_margin_m) ** 2
            if inside and height <= rest.height_m + 6 * each.position_sigma_m:
                found[name] = each
    return found


def where_of(target: str, survey: Survey, wanted: tuple[str, ...], settings: Oranges) -> Where:
    """What an errand depends on, by one look. The plate must have been seen."""
    assert survey.plate is not None
    plate = plate_shape(survey.plate)
    placed = on_plate(survey, settings)
    things = {name: lying(each, survey.plate) for name, each in survey.things.items()}
    around = dataclasses.replace(survey, things=things).others(target)
    inside = [each for name, each in things.items() if name != target and _over(each, plate)]
    to_come = [name for name in wanted if name in things and name not in placed and name != target]
    return Where(
        target=things[target],
        around=around,
        plate=plate,
        resting=tuple(
            Resting(
                name=each.name,
                x_m=float(each.position_m[0]),
                y_m=float(each.position_m[1]),
                radius_m=float(each.half_extents_m[:2].max()),
            )
            for each in inside
        ),
        still_to_come_m=tuple(things[name].radius_m for name in to_come),
    )


def _over(thing: Estimate, plate: Plate) -> bool:
    apart = np.hypot(thing.position_m[0] - plate.x_m, thing.position_m[1] - plate.y_m)
    return bool(apart < plate.radius_m + thing.half_extents_m[:2].max())


def idle(
    eye: FruitEye, settings: Oranges, progress: Progress
) -> Producing[Gives[Literal["selected"], Chosen] | Outcome[Literal["all_placed", "lost", "stuck", "plate_lost"]]]:
    """Look at everything and choose the next orange to fetch."""
    survey = yield from eye.survey()
    if not eye.knows_all():
        return Outcome("lost")
    if not progress.wanted:
        progress = dataclasses.replace(progress, wanted=chosen(settings, survey))
    if survey.plate is None:
        return Outcome("plate_lost")
    placed = on_plate(survey, settings)
    # What was placed and is hidden now is believed to lie where it was; the last look decides.
    remembered = {name for name in progress.book.placed() if name not in survey.things}
    left = [name for name in progress.wanted if name not in placed and name not in remembered]
    if not left:
        return Outcome("all_placed")
    seen = [survey.things[name] for name in left if name in survey.things]
    able = [each for each in seen if each.name not in progress.skipped]
    if not able:
        return Outcome("stuck" if seen else "lost")
    target = able[0] if settings.targets.order == "given" else nearest_first(able)[0]
    yield Announce(Targeted(target.name))
    job = Job(target=target.name, survey=survey, where=where_of(target.name, survey, progress.wanted, settings))
    return Gives("selected", Chosen(job=job, progress=progress), about=target.name)


def plan(
    last: Reply, robot: Robot, world: CollisionWorld, settings: Oranges, job: Job, progress: Progress
) -> Producing[
    Gives[Literal["planned"], Chosen] | Gives[Literal["refused"], Noted] | Outcome[Literal["plate_full", "no_way"]]
]:
    """Plan the whole errand, from here to the spot and away from it, before anything moves."""
    tried = progress.tried_for(job.target)
    found = yield from solved(plan_errand, robot, world, job.where, last.command, settings, tried)
    if isinstance(found, Errand):
        label = (job.target, found.pick.grasp.label)
        noted = dataclasses.replace(progress, tried=(*progress.tried, label))
        return Gives("planned", Chosen(job=dataclasses.replace(job, errand=found), progress=noted), about=job.target)
    if found.why == "plate_full":
        return Outcome("plate_full", found.evidence, about=job.target)
    if found.why == "plate_unreachable":
        return Outcome("no_way", found.evidence, about=job.target)
    skipped = dataclasses.replace(progress, skipped=(*progress.skipped, job.target))
    return Gives("refused", Noted(progress=skipped), found.evidence, about=job.target)


def approach(settings: Oranges, job: Job) -> Stage[Literal["above", "blocked"]]:
    """Travel to above the orange."""
    guards = (TrackingError(error_rad=settings.close.blocked_rad),)
    ended = yield Motion("approach", job.pick.approach, guards=guards)
    return Outcome("above" if ended.by == "completed" else "blocked", ended.evidence)


def posture_adjust(settings: Oranges, job: Job) -> Stage[Literal["aligned", "blocked"]]:
    """Turn the jaws to where they fit between the fruit and its neighbours, and open them."""
    posture = job.pick.posture
    assert posture is not None
    guards = (TrackingError(error_rad=settings.close.blocked_rad),)
    ended = yield Motion("posture_adjust", posture, guards=guards)
    return Outcome("aligned" if ended.by == "completed" else "blocked", ended.evidence)


def descend(last: Reply, robot: Robot, settings: Oranges, job: Job) -> Stage[Literal["green", "not_green", "blocked"]]:
    """Come down around the fruit; further in small steps while the posture is not green, but never to the table."""
    guards = (
        ForceAbove(force_n=settings.close.bump_n, for_s=0.02),
        TrackingError(error_rad=settings.close.blocked_rad),
    )
    ended = yield Motion("descend", job.pick.descend, guards=guards)
    while True:
        if ended.by != "completed":
            return Outcome("blocked", ended.evidence, about=job.target)
        evidence = green(ended, robot, settings, job)
        if passes(evidence):
            return Outcome("green", evidence, about=job.target)
        if tip_height_m(ended, robot) - settings.posture.creep_m < settings.posture.floor_m:
            return Outcome("not_green", evidence, about=job.target)
        down = functools.partial(plan_shift, up_m=-settings.posture.creep_m)
        path = yield from solved(down, robot, job.pick, ended.command, 0.0, settings.reach)
        if isinstance(path, GraspRejected):
            return Outcome("not_green", evidence, about=job.target)
        ended = yield Motion("descend", path, guards=guards)


def green(reply: Reply, robot: Robot, settings: Oranges, job: Job) -> Evidence:
    """Whether hand and fruit are as planned: leaning and turned as meant, around the fruit, the jaws open."""
    grasp, limits = job.pick.grasp, settings.posture
    planned = job.pick.descend.end[robot.arm]
    joints = reply.readings.joints[robot.arm]
    point, rotation = forward(np.stack([planned, joints]), np.array(grasp.tool_m))
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
    point, _ = forward(reply.readings.joints[None, robot.arm], np.array([TIP_M, 0.0, 0.0]))
    return float(point[0, 2])


def grasp(robot: Robot, settings: Oranges, job: Job) -> Stage[Literal["closed", "missed"]]:
    """Bring the fixed jaw up to the fruit, close the other gradually until both touch, and squeeze a little more."""
    close = settings.close
    ended = yield Motion("seat", job.pick.seat, guards=(OnePadTouches(pad="fixed", force_n=close.touch_n),))
    if ended.command.velocity.any():
        ended = yield Motion("brake", brake(robot, ended.command))
    shut = closing_end_rad(robot, settings, float(ended.command.position[robot.jaw]))
    both, moving = BothPadsTouch(force_n=close.touch_n), OnePadTouches(pad="moving", force_n=close.touch_n, for_s=0.1)
    for _ in range(_FOLLOW_TIMES):
        path = jaw_move(robot, ended.command, shut, speed_rad_s=close.speed_rad_s)
        ended = yield Motion("close", path, guards=(both, moving))
        if ended.by is both:
            touch_rad = float(ended.readings.joints[robot.jaw])
            path = jaw_move(robot, ended.command, touch_rad - close.squeeze_rad, speed_rad_s=close.speed_rad_s)
            ended = yield Motion("squeeze", path)
            if min(ended.readings.pad_forces_n()) >= close.touch_n:
                return Outcome("closed", ended.evidence)
        elif ended.by is not moving:
            return Outcome("missed", ended.evidence, about=job.target)
        # The fruit stands off the fixed jaw and would jam between the other one and the table: bring the hand up to it.
        if ended.command.velocity.any():
            ended = yield Motion("brake", brake(robot, ended.command))
        path = yield from solved(plan_shift, robot, job.pick, ended.command, _FOLLOW_M, settings.reach)
        if isinstance(path, GraspRejected):
            return Outcome("missed", path.evidence, about=job.target)
        ended = yield Motion("follow", path, guards=(OnePadTouches(pad="fixed", force_n=close.touch_n),))
        if ended.command.velocity.any():
            ended = yield Motion("brake", brake(robot, ended.command))
    return Outcome("missed", ended.evidence, about=job.target)


def closing_end_rad(robot: Robot, settings: Oranges, open_rad: float) -> float:
    """Where closing ends if nothing is touched: at an angle, or a share of the way from open to shut."""
    closing, shut = settings.closing, float(robot.limits.lower[robot.jaw])
    if closing.by == "angle":
        return max(closing.end_rad, shut)
    return open_rad + closing.end_percent / 100 * (shut - open_rad)


def settle(
    last: Reply, robot: Robot, eye: FruitEye, settings: Oranges, job: Job
) -> Producing[Gives[Literal["held"], Gripped] | Outcome[Literal["missed"]]]:
    """Let the hold settle and check that it is one: pads, jaw opening, and the fruit's place in the hand."""
    close = settings.close
    ended = yield Motion("settle", still(robot, last.command, close.settle_s))
    touch_rad = job.pick.grasp.touch_rad
    jaw_rad = float(ended.readings.joints[robot.jaw])
    grip = nominal_grip(job.pick, settings)
    grip = dataclasses.replace(grip, name=job.target, jaw_rad=float(ended.command.position[robot.jaw]))
    tool, rotation = ended.readings.tool_position_m, ended.readings.tool_rotation
    base = forward(ended.readings.joints[None, robot.arm], np.array(grip.centre_m))[0][0]
    seen = yield from eye.see_held(job.target, base)
    evidence: Evidence = (
        at_least("weaker_pad_force", min(ended.readings.pad_forces_n()), close.lost_n, "N"),
        at_most("jaw_off_touch", abs(jaw_rad - touch_rad), settings.closing.touch_error_rad, "rad"),
    )
    centre, sigma = base, job.where.target.position_sigma_m
    if seen is not None:
        centre, sigma = seen.position_m, seen.position_sigma_m
        off = float(np.linalg.norm(centre - base))
        evidence = (*evidence, at_most("off_in_hand", off, settings.closing.in_hand_m + 3 * sigma, "m"))
    if not passes(evidence):
        return Outcome("missed", evidence, about=job.target)
    hand = _gripper_frame(ended, robot)
    local = hand[1].T @ (centre - hand[0])
    grip = dataclasses.replace(grip, centre_m=(float(local[0]), float(local[1]), float(local[2])))
    hold = Hold(
        least_jaw_rad=touch_rad - settings.closing.touch_error_rad,
        tool_m=tool,
        object_m=centre,
        in_hand_m=rotation.T @ (centre - tool),
        position_sigma_m=sigma,
    )
    gripped = Gripped(job=dataclasses.replace(job, grip=grip, hold=hold), grip=grip)
    return Gives("held", gripped, evidence, about=job.target)


def _gripper_frame(reply: Reply, robot: Robot) -> tuple[Array, Array]:
    """Origin and rotation of the gripper frame, from the joints."""
    origin, rotation = forward(reply.readings.joints[None, robot.arm], np.zeros(3))
    return origin[0], rotation[0]


def lift(
    last: Reply, robot: Robot, eye: FruitEye, settings: Oranges, job: Job
) -> Stage[Literal["lifted", "dropped", "slipped", "blocked"]]:
    """Raise the orange to carrying height, the hold checked on every tick."""
    centre = forward(last.command.position[None, robot.arm], np.array(job.gripped.centre_m))[0][0]
    raised = settings.carry.clear_height_m + job.gripped.radius_m - float(centre[2])
    path = yield from solved(plan_lift, robot, job.pick, last.command, max(raised, 0.005), settings.reach)
    if isinstance(path, GraspRejected):
        return Outcome("blocked", path.evidence, about=job.target)
    ended = yield _holding("lift", path, eye, settings, job)
    return _outcome("lifted", ended, job)


def held_m(reply: Reply, robot: Robot, job: Job) -> Array:
    """Where what is in the hand must be, by the joints."""
    return forward(reply.readings.joints[None, robot.arm], np.array(job.gripped.centre_m))[0][0]


def _holding(name: str, path: Any, eye: FruitEye, settings: Oranges, job: Job) -> Motion:
    watch = eye.watch(job.target, job.held.in_hand_m)
    # One picture may deceive where fruit overlaps; two in a row must say so.
    sure_s = max(settings.hold.sure_s, 1.5 / watch.rate_hz)
    keep = settings.hold.model_copy(update={"sure_s": sure_s})
    guards = (*hold_guards(job.held, settings.close, keep), *following_guards(job.held, keep))
    return Motion(name, path, guards=guards, watch=watch)


def _outcome(good: Any, ended: Reply, job: Job) -> Outcome[Any]:
    match ended.by:
        case "completed":
            return Outcome(good, ended.evidence, about=job.target)
        case HoldLost():
            return Outcome("dropped", ended.evidence, about=job.target)
        case TrackingError():
            return Outcome("blocked", ended.evidence, about=job.target)
        case _:
            return Outcome("slipped", ended.evidence, about=job.target)


def retreat(
    last: Reply,
    robot: Robot,
    eye: FruitEye,
    world: CollisionWorld,
    settings: Oranges,
    job: Job,
    progress: Progress,
) -> Producing[
    Gives[Literal["clear"], Working]
    | Outcome[Literal["dropped", "slipped", "blocked", "plate_full", "no_way", "plate_lost"]]
]:
    """Look where the plate is now, plan the way there from how the orange really sits, and draw back if that helps."""
    survey = yield from eye.survey_holding(job.target, held_m(last, robot, job), job.survey)
    if survey.plate is None:
        return Outcome("plate_lost", about=job.target)
    where = where_of(job.target, survey, progress.wanted, settings)
    carry: CarryPlan | NoSpot = NoSpot(refused=())
    wished = job.carry
    if _shift_m(job.survey, survey) <= settings.plate.shift_m and not _taken(wished.spot_m, where, settings):
        # The spot that was planned for, as long as it is still free.
        spots = [wished.spot_m]
        carry = yield from solved(
            plan_way, robot, world, where, job.gripped, last.command, settings, spots, wished.posture
        )
    if isinstance(carry, NoSpot):
        free = free_spots(where, settings)
        if not free:
            return Outcome("plate_full", carry.evidence, about=job.target)
        carry = yield from solved(plan_way, robot, world, where, job.gripped, last.command, settings, free)
    if isinstance(carry, NoSpot):
        return Outcome("no_way", carry.evidence, about=job.target)
    errand = Errand(pick=job.pick, carry=carry)
    working = Working(job=dataclasses.replace(job, errand=errand, survey=survey, where=where))
    if carry.retreat is None:
        return Gives("clear", working, about=job.target)
    ended = yield _holding("retreat", carry.retreat, eye, settings, job)
    outcome = _outcome("clear", ended, job)
    return Gives("clear", working, outcome.evidence, about=job.target) if outcome.name == "clear" else outcome


def _shift_m(before: Survey, after: Survey) -> float:
    assert before.plate is not None
    assert after.plate is not None
    return float(np.linalg.norm(after.plate.position_m - before.plate.position_m))


def transport(
    last: Reply, eye: FruitEye, settings: Oranges, job: Job
) -> Stage[Literal["arrived", "dropped", "slipped", "blocked"]]:
    """Carry the orange to above its spot; a move that is already done is skipped."""
    start, spot = last.readings.tool_position_m, job.carry.spot_m
    facts = {"start_m": tuple(float(each) for each in start), "target_m": spot, "strategy": job.carry.strategy}
    yield Announce(Noticed(what="transport", about=job.target, facts=facts))
    if job.carry.transport is None:
        return Outcome("arrived", about=job.target)
    ended = yield _holding("transport", job.carry.transport, eye, settings, job)
    return _outcome("arrived", ended, job)


def lower(
    last: Reply, robot: Robot, eye: FruitEye, settings: Oranges, job: Job, progress: Progress
) -> Stage[Literal["lowered", "dropped", "slipped", "blocked", "plate_moved", "spot_taken"]]:
    """See whether the plate is still where it was and the spot still free, and set the orange down there."""
    survey = yield from eye.survey_holding(job.target, held_m(last, robot, job), job.survey)
    shift = _shift_m(job.survey, survey) if survey.plate is not None else float("nan")
    moved = at_most("plate_shift", shift, settings.plate.shift_m, "m")
    if not moved.passed:
        return Outcome("plate_moved", (moved,), about=job.target)
    where = where_of(job.target, survey, progress.wanted, settings)
    taken = _taken(job.carry.spot_m, where, settings)
    if taken:
        return Outcome("spot_taken", taken, about=job.target)
    ended = yield _holding("lower", job.carry.lower, eye, settings, job)
    return _outcome("lowered", ended, job)


def _taken(spot_m: tuple[float, float], where: Where, settings: Oranges) -> Evidence:
    """What lies where the orange would come to lie, with the distances that are missing."""
    x, y = spot_m
    return failures(
        tuple(
            at_least(
                f"apart_from_{each.name}",
                float(np.hypot(each.x_m - x, each.y_m - y)),
                each.radius_m + where.target.radius_m + settings.carry.clearance_m / 2,
                "m",
            )
            for each in where.resting
        )
    )


def release(
    robot: Robot, eye: FruitEye, settings: Oranges, job: Job, progress: Progress
) -> Producing[Outcome[Literal["released", "missed_plate"]] | Gives[Literal["not_released"], Noted]]:
    """Open the jaws and watch the orange come to rest on the plate."""
    ended = yield Motion("release", job.carry.open)
    began = seen_s = ended.time_s
    window: list[Sighting] = []
    while True:
        survey = yield from eye.survey()
        seen = survey.things.get(job.target)
        if seen is not None and survey.plate is not None:
            error, seen_s = seen.position_sigma_m, ended.time_s
            window.append(_sighting(seen, survey))
            evidence = _at_rest(tuple(window), seen.radius_m, survey, settings, error)
            yield Announce(_placement_check(seen, survey, evidence, settings))
            if passes(evidence):
                return Outcome("released", evidence, about=job.target)
            if passes(has_been_still(window, settings.rest, error)) and _out_of_hand(ended, settings):
                return Outcome("missed_plate", evidence, about=job.target)
        elif ended.time_s - seen_s >= settings.release.unseen_s:
            # Hidden by the hand, or gone: it is looked for again once the hand has left.
            return Outcome("released", about=job.target)
        if ended.time_s - began >= settings.release.limit_s:
            evidence = (at_most("release_time", ended.time_s - began, settings.release.limit_s, "s"),)
            position = window[-1].position_m if window else np.full(3, np.nan)
            record = PlacementRecord(name=job.target, position_m=position, succeeded=False, time_s=ended.time_s)
            noted = Noted(progress=dataclasses.replace(progress, book=progress.book.with_(record)))
            return Gives("not_released", noted, evidence, about=job.target)
        ended = yield Motion("release", still(robot, ended.command, settings.release.check_s))


def _placement_check(seen: Estimate, survey: Survey, evidence: Evidence, settings: Oranges) -> Noticed:
    """One look at a released orange, for the log: where it is, what bounds it, and how it fares."""
    assert survey.plate is not None
    plate = plate_shape(survey.plate)
    low, high = survey.plate.position_m - plate.radius_m, survey.plate.position_m + plate.radius_m
    margin, at = settings.rest.inside_margin_m, seen.position_m
    top = plate.floor_m + 2 * seen.radius_m
    facts = {
        "position_m": tuple(float(each) for each in at),
        "plate_min_m": (float(low[0]), float(low[1]), 0.0),
        "plate_max_m": (float(high[0]), float(high[1]), top),
        "x_ok": bool(low[0] + margin <= at[0] <= high[0] - margin),
        "y_ok": bool(low[1] + margin <= at[1] <= high[1] - margin),
        "z_ok": bool(0.0 <= at[2] <= top),
        "result": "placed" if passes(evidence) else "not yet",
    }
    return Noticed(what="placement check", about=seen.name, facts=facts, evidence=evidence, detail=True)


def _out_of_hand(reply: Reply, settings: Oranges) -> bool:
    return max(reply.readings.pad_forces_n()) < settings.close.lost_n


def _sighting(seen: Estimate, survey: Survey) -> Sighting:
    assert survey.plate is not None
    return Sighting(time_s=survey.time_s, position_m=seen.position_m, plate_m=survey.plate.position_m)


def _at_rest(
    window: tuple[Sighting, ...], radius_m: float, survey: Survey, settings: Oranges, error_m: float
) -> Evidence:
    assert survey.plate is not None
    recent = tuple(each for each in window if each.time_s >= window[-1].time_s - settings.rest.still_s - 1e-9)
    return (
        *rests_on(recent, radius_m, plate_shape(survey.plate), settings.rest, error_m),
        *has_been_still(window, settings.rest, error_m),
    )


def withdraw(
    last: Reply, robot: Robot, eye: FruitEye, settings: Oranges, job: Job, progress: Progress
) -> Producing[Gives[Literal["placed", "disturbed", "not_placed"], Noted] | Outcome[Literal["unseen", "blocked"]]]:
    """Take the hand away and look again: the orange still rests there, and nothing else was moved."""
    guards = (TrackingError(error_rad=settings.close.blocked_rad),)
    ended = yield Motion("withdraw", job.carry.withdraw, guards=guards)
    if ended.by != "completed":
        return Outcome("blocked", ended.evidence, about=job.target)
    window: list[Sighting] = []
    while True:
        survey = yield from eye.survey()
        seen = survey.things.get(job.target)
        if seen is None or survey.plate is None:
            return Outcome("unseen", (at_least("sightings", len(window), 2),), about=job.target)
        window.append(_sighting(seen, survey))
        if window[-1].time_s - window[0].time_s >= settings.rest.still_s - 1e-9:
            break
        ended = yield Motion("withdraw", still(robot, ended.command, settings.release.check_s))
    error = seen.position_sigma_m
    rests = _at_rest(tuple(window), seen.radius_m, survey, settings, error)
    kept = (*_neighbours(job, survey, settings, error), *_plate_kept(job, survey, settings, error))
    yield Announce(_placement_check(seen, survey, rests, settings))
    good = passes(rests)
    record = PlacementRecord(name=job.target, position_m=seen.position_m, succeeded=good, time_s=window[-1].time_s)
    tried = tuple(each for each in progress.tried if not (good and each[0] == job.target))
    noted = Noted(progress=dataclasses.replace(progress, book=progress.book.with_(record), tried=tried, skipped=()))
    if not good:
        return Gives("not_placed", noted, rests, about=job.target)
    return Gives("placed" if passes(kept) else "disturbed", noted, (*rests, *kept), about=job.target)


def _neighbours(job: Job, survey: Survey, settings: Oranges, error_m: float) -> Evidence:
    """Fruit that lay on the plate before has not been moved on it."""
    before, after = job.survey, survey
    assert before.plate is not None
    assert after.plate is not None
    names = [name for name in on_plate(before, settings) if name != job.target and name in after.things]
    return not_displaced(
        {name: before.things[name].position_m - before.plate.position_m for name in names},
        {name: after.things[name].position_m - after.plate.position_m for name in names},
        settings.rest,
        error_m,
    )


def _plate_kept(job: Job, survey: Survey, settings: Oranges, error_m: float) -> Evidence:
    assert job.survey.plate is not None
    assert survey.plate is not None
    return plate_not_shifted(job.survey.plate.position_m, survey.plate.position_m, settings.rest, error_m)
