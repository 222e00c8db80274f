"""Placement: to the board a thing belongs on, into a free place, and a second look at how it stands there."""

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
    Step,
    Surroundings,
    order,
    plan_reach,
    told,
)
from graspline.machine.machine import Machine, by_name
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.machine.table import End, Retry
from graspline.motion.joint_moves import hold as still
from graspline.motion.joint_moves import jaw_move
from graspline.perception.beliefs import Belief
from graspline.perception.held import HeldObject
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.spatial.poses import Pose
from graspline.spatial.rotations import rotation_z
from graspline.tasks.tidy.areas import Area, area_of
from graspline.tasks.tidy.board_views import views_with
from graspline.tasks.tidy.house import House
from graspline.tasks.tidy.moving import (
    BLOCKED,
    SPARE_M,
    Stopped,
    around,
    hold_guard,
    parts_of,
    play,
    straight,
    travel,
    tug,
)
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.placed import check_place, placed_solid
from graspline.tasks.tidy.robot import BODY
from graspline.tasks.tidy.sight import BoardSeen, Eye

Array = NDArray[np.float64]

# How far in front of a place the straight way in begins.
_IN_M = 0.30
# The arm comes from the front, up to this much aside.
_ASIDE_RAD = np.radians([0.0, 15.0, -15.0, 30.0, -30.0])
_TOP_TURNS_RAD = np.arange(12) * (np.pi / 6)
# A thing is let go this far above where the board is believed to be, unless it has touched before.
_GAP_M = 0.003
_BELOW_M = 0.012
_TOUCH_N = 2.5
_RELEASE_M = 0.024
# Number of plans tried for one look at a board, and for places that are as deep as each other within this much:
# where the arm does not come in as far, it does not beside it, either.
_PLANS, _AS_DEEP, _AS_DEEP_M = 100, 3, 0.02
_OPEN_RAD_S = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    area: Area


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Offered:
    """A board as it was seen before anything was put there, and places still to be tried, farthest first."""

    seen: BoardSeen
    spots: tuple[Array, ...]
    house: House


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aimed:
    spots: tuple[Array, ...]
    reach: Reach
    # Where the thing's bottom is to be, (3,).
    spot_m: Array
    inwards_m: Array


def look_up(
    settings: Tidy, held: HeldObject, grasp_object_name: str, placement_surface_to_wrist: Pose
) -> Gives[Literal["assigned"], Assigned] | Outcome[Literal["too_high", "too_wide"]]:
    """The area it belongs in, and whether hand and thing fit in there at all."""
    area = area_of(settings.placing, grasp_object_name)
    held = replace(held, stood=placement_surface_to_wrist)
    high = at_most("height_needed", height_needed_m(held, settings), area.level.clear_m, "m")
    wide = at_most("width_needed", 2 * _radius_m(held), area.least_side_m, "m")
    if not (high.passed and wide.passed):
        return Outcome("too_wide" if high.passed else "too_high", (high, wide), about=held.name)
    return Gives("assigned", Assigned(area=area), (high, wide), about=held.name)


def height_needed_m(held: HeldObject, settings: Tidy) -> float:
    """From the board to the highest point of hand and thing on the way in."""
    tool = -float((held.R_OH @ held.X_HB.position_m)[2])
    return settings.placing.above_m + SPARE_M + max(tool + BODY.hand_above_m(held.R_OH), 2 * held.half_height_m)


def face_shelf(
    last: Reply,
    robot: Robot,
    world: CollisionWorld,
    house: House,
    settings: Tidy,
    things: tuple[Belief, ...],
    held: HeldObject,
    area: Area,
) -> Stage[Literal["facing", "lost", "blocked"]]:
    """Drive to the shelf, the thing carried low, and look at the board."""
    goals = views_with(held, last.command.position, house.shelf, house.shelf.level(area.board))
    among = around(house, things, held)
    reply = yield from travel(last, robot, world, among, goals, (hold_guard(held, settings.grasp),), speed=0.8)
    if isinstance(reply, Stopped):
        return Outcome("lost" if reply.lost else "blocked", reply.evidence, about=held.name)
    return Outcome("facing", about=held.name)


def see_board(
    last: Reply, robot: Robot, eye: Eye, house: House, settings: Tidy, held: HeldObject, area: Area
) -> Producing[Gives[Literal["free"], Offered] | Outcome[Literal["full", "unseen"]]]:
    """Which places in the area are free."""
    seen = yield from eye.board(last, house, area.board)
    if not isinstance(seen, BoardSeen):
        return Outcome("unseen", seen.told, about=area.name)
    spots = seen.free(area.level, _radius_m(held), settings.placing.margin_m)
    evidence = (at_least("free_places", len(spots), 1),)
    if not spots:
        return Outcome("full", evidence, about=area.name)
    return Gives("free", Offered(seen=seen, spots=spots, house=seen.house), evidence, about=area.name)


def _radius_m(held: HeldObject) -> float:
    """Of what a thing covers around the middle of its bottom, however it is turned."""
    aside = (held.R_OH @ (held.X_HO.position_m - held.X_HB.position_m))[:2]
    return float(np.hypot(*aside)) + held.spread_m


def plan_place(
    last: Reply,
    robot: Robot,
    world: CollisionWorld,
    house: House,
    settings: Tidy,
    held: HeldObject,
    seen: BoardSeen,
    spots: tuple[Array, ...],
) -> Producing[Gives[Literal["planned"], Aimed] | Outcome[Literal["none_left"]]]:
    """The next place that a whole plan is found for."""
    found = yield from solved(_first, robot, world, house, settings, held, seen, last.command.position, spots)
    if not isinstance(found, Aimed):
        return Outcome("none_left", told(found), about=held.name)
    return Gives("planned", found, about=held.name)


def _first(
    robot: Robot,
    world: CollisionWorld,
    house: House,
    settings: Tidy,
    held: HeldObject,
    seen: BoardSeen,
    start: Array,
    spots: Sequence[Array],
) -> Aimed | tuple[Refusal, ...]:
    """The first place with a whole plan, or why there is none; with as much kept clear as there can be."""
    refused = list[Refusal]()
    depths = [house.shelf.in_own_frame(spot)[0] for spot in spots]
    for clearance in STRAIGHT_CLEARANCES_M:
        refused.clear()
        tried = list[float]()
        for index, spot in enumerate(spots):
            if len(refused) >= _PLANS:
                break
            if sum(abs(depths[index] - each) < _AS_DEEP_M for each in tried) >= _AS_DEEP:
                continue
            tried.append(depths[index])
            poses = poses_at(robot, house.shelf.yaw_rad, held, spot + (settings.placing.above_m + _GAP_M) * UP)
            for pose, postures in order(robot, poses, start):
                query = _query(robot, house, settings, held, seen, start, spot, pose)
                found = plan_reach(robot, world, replace(query, clearance_m=clearance), pose, postures)
                if not isinstance(found, Refusal):
                    left = (*spots[:index], *spots[index + 1 :])
                    return Aimed(spots=left, reach=found, spot_m=spot, inwards_m=query.inwards.way_m)
                refused.append(found)
    return tuple(refused)


def poses_at(robot: Robot, shelf_rad: float, held: HeldObject, bottom_m: Array) -> list[HandPose]:
    """How the hand may be with the thing's bottom at a point: from the front of the shelf, the same side down."""
    heading = float(np.arctan2(held.R_OH[1, 0], held.R_OH[0, 0]))
    turns = _TOP_TURNS_RAD if held.top else shelf_rad - heading + _ASIDE_RAD
    middle = robot.jaw_law.middle_m(float(robot.jaw_law.angle_rad(held.gap_m)))
    found = []
    for turn in turns:
        rotation = rotation_z(turn) @ held.R_OH
        tool = bottom_m - rotation @ held.X_HB.position_m
        label = f"turned {round(float(np.degrees(turn)))}°"
        found.append(HandPose(position_m=tool + rotation @ middle, rotation=rotation, width_m=held.gap_m, label=label))
    return found


def _query(
    robot: Robot,
    house: House,
    settings: Tidy,
    held: HeldObject,
    seen: BoardSeen,
    start: Array,
    spot_m: Array,
    pose: HandPose,
) -> ReachQuery:
    """In over the place, down onto it, and out again without the thing."""
    yaw = house.shelf.yaw_rad
    inwards = _IN_M * np.array([np.cos(yaw), np.sin(yaw), 0.0])
    carrying_it = around(house, seen.things, held)
    board = next(solid for solid in carrying_it.solids if solid.name == seen.name)
    placed = placed_solid(held, pose, spot_m)
    parts = parts_of(placed)
    left = Surroundings(solids=(*carrying_it.solids, *parts))
    return ReachQuery(
        start=start,
        jaw_rad=float(start[-1]),
        inwards=Step(way_m=inwards, around=carrying_it, touching=()),
        onwards=(
            Step(way_m=-settings.placing.above_m * UP, around=carrying_it, touching=(("held", board),)),
            Step(way_m=-inwards, around=left, jaw_rad=released_rad(robot, held), leaving=parts),
        ),
        seed=0,
    )


def approach_board(
    last: Reply, robot: Robot, settings: Tidy, held: HeldObject, reach: Reach
) -> Stage[Literal["there", "lost", "blocked"]]:
    """Along the planned way to before the shelf."""
    reply = yield from play(robot, Motion("approach", reach.way, guards=(BLOCKED, hold_guard(held, settings.grasp))))
    if isinstance(reply, Stopped):
        return Outcome("lost" if reply.lost else "blocked", reply.evidence, about=held.name)
    return Outcome("there", about=held.name)


def bring_in(
    last: Reply, robot: Robot, settings: Tidy, held: HeldObject, inwards_m: Array
) -> Stage[Literal["over", "lost", "blocked"]]:
    """Straight in over the place."""
    reply = yield from straight(last, robot, inwards_m, (hold_guard(held, settings.grasp),), name="bring_in", speed=0.5)
    if isinstance(reply, Stopped):
        return Outcome("lost" if reply.lost else "blocked", reply.evidence, about=held.name)
    return Outcome("over", about=held.name)


def put_down(last: Reply, robot: Robot, settings: Tidy, held: HeldObject) -> Stage[Literal["down", "lost"]]:
    """Down until the board is felt, or to just above where it must be."""
    reply = yield Motion("steady", still(robot, last.command, 0.2))
    touch = tug(reply, UP, _TOUCH_N, within_rad=1.0, for_s=0.02)
    way = -(settings.placing.above_m + _BELOW_M) * UP
    guards = (touch, hold_guard(held, settings.grasp))
    reply = yield from straight(reply, robot, way, guards, name="put_down", speed=0.1, gives_way=False)
    if isinstance(reply, Stopped):
        return Outcome("lost" if reply.lost else "down", reply.evidence, about=held.name)
    return Outcome("down", about=held.name)


def released_rad(robot: Robot, held: HeldObject) -> float:
    """How wide the hand opens to be clear of what it held, and no wider: there are neighbours and walls."""
    return float(robot.jaw_law.angle_rad(min(held.gap_m + _RELEASE_M, float(robot.jaw_law.gaps_m[-1]))))


def release(last: Reply, robot: Robot, settings: Tidy, held: HeldObject) -> Stage[Literal["released", "stuck"]]:
    """Open just enough to be clear of the thing."""
    reply = yield Motion("release", jaw_move(robot, last.command, released_rad(robot, held), speed_rad_s=_OPEN_RAD_S))
    reply = yield Motion("settle", still(robot, reply.command, 0.3))
    evidence = (at_most("stronger_pad_force", max(reply.readings.pad_forces_n()), settings.grasp.lost_n, "N"),)
    return Outcome("released" if passes(evidence) else "stuck", evidence, about=held.name)


def withdraw(last: Reply, robot: Robot, inwards_m: Array) -> Stage[Literal["out", "blocked"]]:
    """Straight out of the shelf."""
    reply = yield from straight(last, robot, -inwards_m, name="withdraw", speed=0.5)
    return Outcome("blocked", reply.evidence) if isinstance(reply, Stopped) else Outcome("out")


def placement(settings: Tidy) -> Machine:
    """The component, with the seed's names at its edges."""
    failed = End("failed_to_place")
    again = Retry(to="plan_place", budget="areas", otherwise=failed)
    return Machine(
        name="placement",
        start="look_up",
        states={
            **by_name(look_up, face_shelf, see_board, plan_place),
            **by_name(approach_board, bring_in, put_down, release, withdraw, check_place),
        },
        table={
            "look_up": {"assigned": "face_shelf", "too_high": failed, "too_wide": failed},
            "face_shelf": {
                "facing": "see_board",
                "lost": failed,
                "blocked": Retry(to="face_shelf", budget="ways", otherwise=failed),
            },
            "see_board": {"free": "plan_place", "full": failed, "unseen": failed},
            "plan_place": {"planned": "approach_board", "none_left": failed},
            "approach_board": {"there": "bring_in", "lost": failed, "blocked": again},
            "bring_in": {"over": "put_down", "lost": failed, "blocked": failed},
            "put_down": {"down": "release", "lost": failed},
            "release": {"released": "withdraw", "stuck": failed},
            "withdraw": {"out": "check_place", "blocked": failed},
            "check_place": {"placed": End("end_placement"), "not_placed": failed, "unseen": failed},
        },
        inputs={
            "world": CollisionWorld,
            "eye": Eye,
            "house": House,
            "settings": Tidy,
            "things": tuple[Belief, ...],
            "held": HeldObject,
            "grasp_object_name": str,
            "placement_surface_to_wrist": Pose,
        },
        budgets={"areas": settings.retries.areas, "ways": settings.retries.ways},
        successes=("end_placement",),
    )
