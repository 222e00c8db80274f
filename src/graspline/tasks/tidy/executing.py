"""ExecuteGrasp: poses in order, each tried until one holds; then away from the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import at_least, at_most, passes
from graspline.execution.requests import Motion, Reply, solved
from graspline.grasping.hand_poses import HandPose
from graspline.grasping.reaching import (
    STRAIGHT_CLEARANCES_M,
    UP,
    Reach,
    ReachQuery,
    Refused,
    Step,
    Surroundings,
    Touching,
    held_of,
    in_the_way,
    order,
    plan_reach,
    told,
    tool_of,
)
from graspline.machine.machine import Machine
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.machine.table import End, Retry
from graspline.motion.guards import BothPadsTouch, ForceAbove
from graspline.motion.joint_moves import hold as still
from graspline.motion.joint_moves import jaw_move
from graspline.motion.waypoints import through
from graspline.perception.solids import UNKNOWN, Solid
from graspline.planning.whole_body import WholeBodyWorld
from graspline.robots.hsr_chain import JOINTS
from graspline.robots.robot import Robot
from graspline.scenes.household import KNOWN
from graspline.tasks.tidy.areas import area_of
from graspline.tasks.tidy.correcting import shown_since, slip_of, slip_since
from graspline.tasks.tidy.house import House, before
from graspline.tasks.tidy.moving import (
    BLOCKED,
    SPARE_M,
    TABLE_AWAY_M,
    Grip,
    Stopped,
    around,
    carrying,
    felt_kg,
    hand_above_m,
    looking_from,
    play,
    straight,
    transform,
    travel,
    whole,
    without,
)
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.sight import Eye, TableSeen

Array = NDArray[np.float64]

_CLOSING_RAD_S = 0.9
_SETTLE_S = 0.25
_TOP_BACK_M = 0.075
_LIFT = JOINTS.index("arm_lift")
# What stands on tables, by name.
_THINGS = {UNKNOWN, *(item.name for item in KNOWN)}
# Farther than this wheels are not to be trusted: first the robot goes to that side of the table, and looks from there.
_FAR_M = 1.0
# Of the way there every so many rows are kept.
_EVERY = 12
# A finger that stands on something feels this.
_BUMP_N = 15.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ordered:
    """Grasps still to be tried, each with the postures that reach it."""

    todo: tuple[tuple[HandPose, Array], ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reaching:
    todo: tuple[tuple[HandPose, Array], ...]
    refused: tuple[Refused, ...]
    reach: Reach
    # Of the hand alone, felt before it takes anything.
    hand_kg: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenRound:
    """Things, and the grasps of one, where they were seen from another side of the table."""

    things: tuple[Solid, ...]
    grasp_object_bb: Solid
    grasp_poses: tuple[HandPose, ...]
    house: House


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Corrected:
    """The same plans and the same things, where they were seen from close by, and what was not seen before."""

    todo: tuple[tuple[HandPose, Array], ...]
    reach: Reach
    things: tuple[Solid, ...]
    grasp_object_bb: Solid
    house: House


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gripping:
    grip: Grip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Taken:
    """What ExecuteGrasp hands on."""

    grip: Grip
    placement_surface_to_wrist: Array
    top_grasp: bool
    # What is left on the table, and the room as it was seen last.
    things: tuple[Solid, ...]
    house: House
    # How it was taken, (T, nu): there, in, and up.
    swept: Array


def sort_poses(
    last: Reply,
    robot: Robot,
    house: House,
    settings: Tidy,
    grasp_poses: tuple[HandPose, ...],
    grasp_object_bb: Solid,
    grasp_object_name: str,
) -> Producing[Gives[Literal["sorted"], Ordered] | Outcome[Literal["unreachable"]]]:
    """Closest first, those from the top last; after all of them, those with which it would not fit where it belongs."""
    room = house.shelf.level(area_of(settings.placing, grasp_object_name)).clear_m - settings.placing.above_m - SPARE_M
    fits = [tool_of(robot, pose)[2] - grasp_object_bb.bottom_m + hand_above_m(pose.rotation) for pose in grasp_poses]
    # As if it faced the thing: it has turned its arm aside to look.
    start = last.command.position.copy()
    apart = grasp_object_bb.position_m[:2] - start[:2]
    start[2] += float((np.arctan2(apart[1], apart[0]) - start[2] + np.pi) % (2 * np.pi) - np.pi)
    todo = list[tuple[HandPose, Array]]()
    for high in (False, True):
        poses = [pose for pose, needed in zip(grasp_poses, fits, strict=True) if (needed > room) == high]
        todo += yield from solved(order, robot, poses, start)
    if not any(len(postures) for _, postures in todo):
        return Outcome("unreachable")
    return Gives("sorted", Ordered(todo=tuple(todo), refused=()))


def plan_grasp(
    last: Reply,
    robot: Robot,
    world: WholeBodyWorld,
    house: House,
    settings: Tidy,
    things: tuple[Solid, ...],
    grasp_object_bb: Solid,
    todo: tuple[tuple[HandPose, Array], ...],
    refused: tuple[Refused, ...],
) -> Producing[Gives[Literal["planned", "far"], Reaching] | Outcome[Literal["none_left"]]]:
    """The next grasp that a whole plan is found for, and whether that is far away."""
    among = around(house, things)
    reach, left, why = yield from solved(
        first_reach, robot, world, settings, among, grasp_object_bb, last.command.position, todo
    )
    if reach is None:
        return Outcome("none_left", told((*refused, *why)), about=grasp_object_bb.name)
    found = Reaching(todo=left, refused=(*refused, *why), reach=reach, hand_kg=felt_kg(last))
    far = float(np.linalg.norm((reach.at - last.command.position)[:2])) > _FAR_M
    return Gives("far" if far else "planned", found)


def first_reach(
    robot: Robot,
    world: WholeBodyWorld,
    settings: Tidy,
    among: Surroundings,
    target: Solid,
    start: Array,
    todo: Sequence[tuple[HandPose, Array]],
) -> tuple[Reach | None, tuple[tuple[HandPose, Array], ...], tuple[Refused, ...]]:
    """The first grasp with a whole plan, what is left after it, and why others before it were refused."""
    refused: tuple[Refused, ...] = ()
    for clearance in STRAIGHT_CLEARANCES_M:
        why = list[Refused]()
        for index, (pose, postures) in enumerate(todo):
            query = replace(_query(robot, settings, among, target, start, pose, seed=index), clearance_m=clearance)
            found = plan_reach(robot, world, query, pose, postures)
            if isinstance(found, Reach):
                left = tuple(each for each in todo if each[0] is not pose)
                return found, left, tuple(why)
            why.append(found)
        refused = tuple(why)
    return None, (), refused


def _query(
    robot: Robot, settings: Tidy, among: Surroundings, target: Solid, start: Array, pose: HandPose, *, seed: int
) -> ReachQuery:
    """In around the thing, and up with it."""
    grasp = settings.grasp
    top = next(solid for solid in among.solids if solid.name == "table_top")
    held = held_of(whole(target), tool_of(robot, pose), pose.rotation)
    widest = float(robot.jaw_law.gaps_m[-1])
    lifting = without(among, target, held)
    touching: Touching = tuple(("held", each) for each in lifting.solids if each is top or each.name in _THINGS)
    return ReachQuery(
        start=start,
        jaw_rad=float(robot.jaw_law.angle_rad(min(pose.width_m + grasp.wider_m, widest))),
        inwards=Step(way_m=_inwards_m(settings, pose), around=among, touching=(("hand", whole(target)),)),
        # What stands free can be lifted straight up past anything.
        onwards=(Step(way_m=grasp.lift_m * UP, around=lifting, touching=touching),),
        seed=seed,
        gaze_m=target.position_m,
    )


def _inwards_m(settings: Tidy, pose: HandPose) -> Array:
    """The straight way in, (3,); from the top the lift has less to spare."""
    return (_TOP_BACK_M if pose.top else settings.grasp.back_m) * pose.rotation[:, 0]


def go_round(
    last: Reply, robot: Robot, world: WholeBodyWorld, house: House, things: tuple[Solid, ...], reach: Reach
) -> Stage[Literal["there", "blocked"]]:
    """To the side of the table that the thing is taken from, with a view of all of it."""
    goal = looking_from(robot, house.table, reach.at[:2])
    reply = yield from travel(last, robot, world, around(house, things), goal[None])
    return Outcome("blocked", reply.evidence) if isinstance(reply, Stopped) else Outcome("there")


def look_round(
    last: Reply,
    eye: Eye,
    house: House,
    things: tuple[Solid, ...],
    grasp_object_bb: Solid,
    grasp_poses: tuple[HandPose, ...],
) -> Producing[Gives[Literal["seen"], SeenRound] | Outcome[Literal["unseen"]]]:
    """The same things from there, and others that were hidden."""
    seen = yield from eye.table(last, house)
    slip = slip_since(things, grasp_object_bb, seen) if isinstance(seen, TableSeen) else None
    if slip is None or not isinstance(seen, TableSeen):
        return Outcome("unseen", about=grasp_object_bb.name)
    own = slip_of(slip, grasp_object_bb, seen)
    moved = {each: (own if each is grasp_object_bb else slip).solid(each) for each in things}
    found = SeenRound(
        things=(*moved.values(), *shown_since(tuple(moved.values()), seen)),
        grasp_object_bb=moved[grasp_object_bb],
        grasp_poses=tuple(own.pose(pose) for pose in grasp_poses),
        house=slip.house(house),
    )
    return Gives("seen", found, slip.told, about=grasp_object_bb.name)


def approach(last: Reply, robot: Robot, reach: Reach) -> Stage[Literal["there", "blocked"]]:
    """Along the planned way to before the thing."""
    reply = yield from play(robot, Motion("approach", reach.way, guards=(BLOCKED,)))
    return Outcome("blocked", reply.evidence) if isinstance(reply, Stopped) else Outcome("there")


def look_again(
    last: Reply,
    robot: Robot,
    world: WholeBodyWorld,
    eye: Eye,
    house: House,
    settings: Tidy,
    things: tuple[Solid, ...],
    grasp_object_bb: Solid,
    todo: tuple[tuple[HandPose, Array], ...],
    reach: Reach,
) -> Producing[Gives[Literal["seen", "in_the_way"], Corrected] | Outcome[Literal["unseen"]]]:
    """From close by: wheels have slipped on the way, and what was believed then is off by as much."""
    own = yield from solved(world.own_solids, last.readings.joints)
    seen = yield from eye.table(last, house, own)
    slip = slip_since(things, grasp_object_bb, seen) if isinstance(seen, TableSeen) else None
    if slip is None or not isinstance(seen, TableSeen):
        return Outcome("unseen", about=grasp_object_bb.name)
    one = slip_of(slip, grasp_object_bb, seen)
    moved = {each: (one if each is grasp_object_bb else slip).solid(each) for each in things}
    more = shown_since(tuple(moved.values()), seen)
    target = moved[grasp_object_bb]
    corrected = Corrected(
        todo=one.todo(todo),
        reach=one.reach(reach),
        things=(*moved.values(), *more),
        grasp_object_bb=target,
        house=slip.house(house),
    )
    if more:
        among = around(corrected.house, corrected.things)
        query = _query(robot, settings, among, target, last.command.position, corrected.reach.pose, seed=0)
        if (yield from solved(in_the_way, world, query, corrected.reach)):
            return Gives("in_the_way", corrected, slip.told, about=grasp_object_bb.name)
    return Gives("seen", corrected, slip.told, about=grasp_object_bb.name)


def reach_in(last: Reply, robot: Robot, settings: Tidy, reach: Reach) -> Stage[Literal["around", "blocked"]]:
    """Straight in until the thing is between the fingers, from where the way in begins."""
    way = _inwards_m(settings, reach.pose)
    bump = ForceAbove(force_n=_BUMP_N, for_s=0.03)
    here = last.command.position
    if not np.array_equal(here, reach.before):
        path = through(robot, np.stack([here, reach.before]), speed=0.5)
        reply = yield from play(robot, Motion("correct", path, guards=(BLOCKED, bump)))
        if isinstance(reply, Stopped):
            return Outcome("blocked", reply.evidence)
        last = reply
    reply = yield from straight(last, robot, way, (bump,), name="reach", speed=0.5)
    return Outcome("blocked", reply.evidence) if isinstance(reply, Stopped) else Outcome("around")


def close(
    last: Reply,
    robot: Robot,
    settings: Tidy,
    reach: Reach,
    hand_kg: float,
    grasp_object_bb: Solid,
    grasp_object_name: str,
) -> Producing[Gives[Literal["closed"], Gripping] | Outcome[Literal["missed"]]]:
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
    tool, rotation = ended.readings.tool_position_m, ended.readings.tool_rotation
    held = held_of(whole(grasp_object_bb), tool, rotation)
    bottom = grasp_object_bb.position_m - float(grasp_object_bb.half_extents_m[2]) * UP
    grip = Grip(
        name=grasp_object_name,
        held=held,
        X_TB=transform(rotation.T, rotation.T @ (bottom - tool)),
        gap_m=gap,
        least_jaw_rad=float(robot.jaw_law.angle_rad(max(gap - 0.012, 0.0))),
        mass_kg=hand_kg,
        top=reach.pose.top,
    )
    return Gives("closed", Gripping(grip=grip), evidence, about=grasp_object_name)


def lift(
    last: Reply, robot: Robot, settings: Tidy, hand_kg: float, grip: Grip
) -> Producing[Gives[Literal["lifted"], Gripping] | Outcome[Literal["lost", "blocked"]]]:
    """Straight up, and feel what it weighs."""
    guard = grip.guard(settings.grasp)
    reply = yield from straight(last, robot, settings.grasp.lift_m * UP, (guard,), name="lift", speed=0.7)
    if isinstance(reply, Stopped):
        return Outcome("lost" if reply.lost else "blocked", reply.evidence, about=grip.name)
    reply = yield from play(robot, Motion("weigh", still(robot, reply.command, _SETTLE_S), guards=(guard,)))
    if isinstance(reply, Stopped):
        return Outcome("lost", reply.evidence, about=grip.name)
    mass = felt_kg(reply)
    evidence = (
        at_least("weight", mass - hand_kg, settings.grasp.weight_kg, "kg"),
        at_least("weaker_pad_force", min(reply.readings.pad_forces_n()), settings.grasp.lost_n, "N"),
    )
    if not passes(evidence):
        return Outcome("lost", evidence, about=grip.name)
    return Gives("lifted", Gripping(grip=replace(grip, mass_kg=mass)), evidence, about=grip.name)


def leave(
    last: Reply,
    robot: Robot,
    world: WholeBodyWorld,
    house: House,
    settings: Tidy,
    things: tuple[Solid, ...],
    grasp_object_bb: Solid,
    reach: Reach,
    grip: Grip,
) -> Producing[Gives[Literal["away"], Taken] | Outcome[Literal["lost", "blocked"]]]:
    """Back from the table with the thing, into a posture that carries it low and upright."""
    among = without(around(house, things), grasp_object_bb, grip.held)
    base = before(house.table, TABLE_AWAY_M)
    gaze = house.table.in_world((0.0, 0.0, house.table.levels[0].position_m[2]))
    goals = carrying(grip, last.command.position, base, gaze)
    reply = yield from travel(last, robot, world, among, goals, (grip.guard(settings.grasp),), speed=0.7)
    if isinstance(reply, Stopped):
        return Outcome("lost" if reply.lost else "blocked", reply.evidence, about=grip.name)
    left = tuple(each for each in things if each is not grasp_object_bb)
    up = reach.at.copy()
    up[_LIFT] += settings.grasp.lift_m
    swept = np.concatenate([reach.way.positions[::_EVERY], np.stack([reach.before, reach.at, up])])
    taken = Taken(
        grip=grip, placement_surface_to_wrist=grip.X_TB, top_grasp=grip.top, things=left, house=house, swept=swept
    )
    return Gives("away", taken, about=grip.name)


def set_down(last: Reply, robot: Robot, reach: Reach) -> Stage[Literal["down"]]:
    """What cannot be lifted goes back to where it stood."""
    way = np.array([0.0, 0.0, float((reach.at - last.command.position)[_LIFT])])
    yield from straight(last, robot, way, name="set_down", speed=0.3)
    return Outcome("down")


def back_off(last: Reply, robot: Robot, settings: Tidy, reach: Reach) -> Stage[Literal["ready"]]:
    """Open where the hand is and leave the way it came."""
    wide = float(reach.at[robot.jaw])
    reply = yield Motion("open", jaw_move(robot, last.command, wide, speed_rad_s=_CLOSING_RAD_S))
    # As far as it came in, whatever stopped it there.
    way = reach.before[:4] - reply.command.position[:4]
    out = np.array([way[0], way[1], max(way[3], 0.0)])
    yield from straight(reply, robot, out, name="back_off", speed=0.5)
    return Outcome("ready")


def execute_grasp(settings: Tidy) -> Machine:
    """The component, with the seed's names at its edges."""
    again = Retry(to="plan_grasp", budget="grasps", otherwise=End("failed_to_grasp"))
    return Machine(
        name="execute_grasp",
        start="sort_poses",
        states={
            "sort_poses": sort_poses,
            "plan_grasp": plan_grasp,
            "go_round": go_round,
            "look_round": look_round,
            "approach": approach,
            "look_again": look_again,
            "reach_in": reach_in,
            "close": close,
            "lift": lift,
            "leave": leave,
            "set_down": set_down,
            "back_off": back_off,
        },
        table={
            "sort_poses": {"sorted": "plan_grasp", "unreachable": End("failed_to_grasp")},
            "plan_grasp": {
                "planned": "approach",
                "far": Retry(to="go_round", budget="sides", otherwise="approach"),
                "none_left": End("failed_to_grasp"),
            },
            "go_round": {"there": "look_round", "blocked": "sort_poses"},
            "look_round": {"seen": "sort_poses", "unseen": "sort_poses"},
            "approach": {"there": "look_again", "blocked": again},
            "look_again": {"seen": "reach_in", "unseen": "reach_in", "in_the_way": again},
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
            "world": WholeBodyWorld,
            "eye": Eye,
            "house": House,
            "settings": Tidy,
            "things": tuple[Solid, ...],
            "grasp_poses": tuple[HandPose, ...],
            "grasp_object_bb": Solid,
            "grasp_object_name": str,
        },
        budgets={
            "grasps": settings.retries.grasps,
            "ways": settings.retries.ways,
            "sides": settings.retries.sides,
        },
        gives={
            "grip": Grip,
            "placement_surface_to_wrist": Array,
            "top_grasp": bool,
            "things": tuple[Solid, ...],
            "house": House,
            "swept": Array,
        },
        successes=("execute_grasp_success",),
    )
