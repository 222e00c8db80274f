"""Placement: to the board a thing belongs on, into a free place, and a second look at how it stands there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least, at_most, passes
from graspline.execution.requests import Motion, Reply, solved
from graspline.grasping.whole_body_reach import UP, Reach, as_evidence
from graspline.machine.machine import Machine, by_name
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.machine.table import End, Retry
from graspline.motion.joint_moves import hold as still
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.perception.rgbd.change_detection import moved_m
from graspline.perception.rgbd.odometry_drift import slip_between, unknown_before
from graspline.tasks.tidy.areas import Area, area_of
from graspline.tasks.tidy.base_motion import (
    BLOCKED,
    Stopped,
    TidyCell,
    ended,
    hold_guard,
    near_hand,
    opened,
    play,
    straight,
    travel,
    tug,
)
from graspline.tasks.tidy.believed_room import House, around
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.place_plans import Aimed, first_place, height_needed_m, placed_solid, radius_m, released_rad
from graspline.tasks.tidy.postures import view_without, views_with
from graspline.tasks.tidy.robot import BODY
from graspline.tasks.tidy.sight import BoardSeen

Array = NDArray[np.float64]

# A thing is let go no lower than this under where the board is believed to be; it is felt to stand before.
_BELOW_M = 0.012
_TOUCH_N = 2.5
_OPEN_RAD_S = 0.7
# The top of what stands upright is this near to where it must be.
_TOP_M = 0.02
# The middle of what is in an area is this far from the area's sides, more than it is seen wrong by.
_INSIDE_M = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """The area that the object belongs in."""

    area: Area


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Offered:
    """A board as it was seen before anything was put there, and places still to be tried, farthest first."""

    seen: BoardSeen
    spots: tuple[Array, ...]
    house: House


def look_up(
    cell: TidyCell, held: HeldObject
) -> Gives[Literal["assigned"], Assigned] | Outcome[Literal["too_high", "too_wide"]]:
    """The area it belongs in, and whether hand and thing fit in there at all."""
    placing = cell.settings.placing
    area = area_of(placing, held.name)
    high = at_most("height_needed", height_needed_m(held, placing), area.level.clear_m, "m")
    wide = at_most("width_needed", 2 * radius_m(held), area.least_side_m, "m")
    if not (high.passed and wide.passed):
        return Outcome("too_wide" if high.passed else "too_high", (high, wide), about=held.name)
    return Gives("assigned", Assigned(area=area), (high, wide), about=held.name)


def face_shelf(
    last: Reply, cell: TidyCell, house: House, held: HeldObject, area: Area
) -> Stage[Literal["facing", "lost", "blocked"]]:
    """Drive to the shelf, the thing carried low, and look at the board."""
    goals = views_with(held, last.command.position, house.shelf, house.shelf.level(area.board))
    return ended("facing", (yield from travel(last, cell, around(house, held), goals, speed=0.8)), held.name)


def see_board(
    last: Reply, cell: TidyCell, house: House, held: HeldObject, area: Area
) -> Producing[Gives[Literal["free"], Offered] | Outcome[Literal["full", "unseen"]]]:
    """Which places in the area are free."""
    seen = yield from cell.eye.board(last, house, area.board)
    if not isinstance(seen, BoardSeen):
        return Outcome("unseen", seen.as_evidence, about=area.name)
    spots = seen.free(area.level, radius_m(held), cell.settings.placing.margin_m)
    evidence = (at_least("free_places", len(spots), 1),)
    if not spots:
        return Outcome("full", evidence, about=area.name)
    return Gives("free", Offered(seen=seen, spots=spots, house=seen.house), evidence, about=area.name)


def plan_place(
    last: Reply, cell: TidyCell, house: House, held: HeldObject, seen: BoardSeen, spots: tuple[Array, ...]
) -> Producing[Gives[Literal["planned"], Aimed] | Outcome[Literal["none_left"]]]:
    """The next place that a whole plan is found for."""
    found = yield from solved(first_place, cell, house, held, seen, last.command.position, spots)
    if not isinstance(found, Aimed):
        return Outcome("none_left", as_evidence(found), about=held.name)
    return Gives("planned", found, about=held.name)


def approach_board(
    last: Reply, cell: TidyCell, held: HeldObject, reach: Reach
) -> Stage[Literal["there", "lost", "blocked"]]:
    """Along the planned way to before the shelf."""
    motion = Motion("approach", reach.way, guards=(BLOCKED, hold_guard(cell, held)))
    return ended("there", (yield from play(cell, motion)), held.name)


def bring_in(
    last: Reply, cell: TidyCell, held: HeldObject, inwards_m: Array
) -> Stage[Literal["over", "lost", "blocked"]]:
    """Straight in over the place."""
    reply = yield from straight(last, cell, inwards_m, hold_guard(cell, held), name="bring_in", speed=0.5)
    return ended("over", reply, held.name)


def put_down(last: Reply, cell: TidyCell, held: HeldObject) -> Stage[Literal["down", "lost"]]:
    """Down until the board is felt, or to just above where it must be."""
    reply = yield Motion("steady", still(cell.robot, last.command, 0.2))
    guards = (tug(reply, UP, _TOUCH_N, within_rad=1.0, for_s=0.02), hold_guard(cell, held))
    way = -(cell.settings.placing.above_m + _BELOW_M) * UP
    reply = yield from straight(reply, cell, way, *guards, name="put_down", speed=0.1, gives_way=False)
    evidence = reply.evidence if isinstance(reply, Stopped) else ()
    return Outcome("lost" if isinstance(reply, Stopped) and reply.lost else "down", evidence, about=held.name)


def release(last: Reply, cell: TidyCell, held: HeldObject) -> Stage[Literal["released", "stuck"]]:
    """Open just enough to be clear of the thing."""
    wide = released_rad(cell.robot, held)
    evidence = yield from opened(last, cell, "release", wide, speed_rad_s=_OPEN_RAD_S, settle_s=0.3)
    return Outcome("released" if passes(evidence) else "stuck", evidence, about=held.name)


def withdraw(last: Reply, cell: TidyCell, inwards_m: Array) -> Stage[Literal["out", "blocked"]]:
    """Straight out of the shelf."""
    return ended("out", (yield from straight(last, cell, -inwards_m, name="withdraw", speed=0.5)))


def check_place(
    last: Reply,
    cell: TidyCell,
    house: House,
    held: HeldObject,
    area: Area,
    seen: BoardSeen,
    reach: Reach,
    spot_m: Array,
    inwards_m: Array,
) -> Stage[Literal["placed", "not_placed", "unseen"]]:
    """Look again: the thing stands upright where it was put, and things beside it where they were."""
    out = last.command.position
    goal = view_without(cell.robot, float(out[cell.robot.jaw]), house.shelf, house.shelf.level(area.board))
    placed = placed_solid(held, reach.pose, spot_m)
    reply = yield from travel(last, cell, around(house, things=(*seen.things, placed)), goal[None])
    if isinstance(reply, Stopped):
        return Outcome("unseen", reply.evidence, about=held.name)
    now = yield from cell.eye.board(reply, house, area.board)
    if not isinstance(now, BoardSeen):
        return Outcome("unseen", now.as_evidence, about=held.name)
    swept, _ = BODY.straight(out, inwards_m)
    evidence = yield from solved(placed_evidence, cell, area, spot_m, placed, seen, now, swept)
    return Outcome("placed" if passes(evidence) else "not_placed", evidence, about=held.name)


def placed_evidence(
    cell: TidyCell, area: Area, spot_m: Array, placed: Belief, was: BoardSeen, now: BoardSeen, swept: Array
) -> Evidence:
    """Where the thing and its neighbours are, against where they must be; how the hand went out is `swept`."""
    # Where that is by the shelf as it is seen now: wheels may have slipped since.
    wanted, shelf = cell.settings.placing, now.house.shelf
    slip = slip_between(was.house.shelf, shelf)
    spot_m = slip.point(spot_m)
    off, top, inside = np.inf, np.nan, np.nan
    if now.things:
        found = min(now.things, key=lambda each: float(np.linalg.norm(each.position_m[:2] - spot_m[:2])))
        off, top = float(np.linalg.norm(found.position_m[:2] - spot_m[:2])), found.top_m
        # From its middle to the nearest side of the area.
        apart = np.abs(np.subtract(shelf.in_own_frame(found.position_m), area.level.position_m[:2]))
        inside = float((area.level.half_extents_m - apart).min())
    moved = max((moved_m(each, was.sight, now.sight) for each in was.things), default=0.0)
    hidden = unknown_before([slip.solid(each) for each in (*was.things, placed)], now.things)
    return (
        at_most("off_its_place", off, wanted.off_m, "m"),
        at_least("inside_its_area", inside, _INSIDE_M, "m"),
        at_most("top_off_its_height", abs(top - placed.top_m), _TOP_M, "m"),
        at_most("neighbours_moved", moved, wanted.beside_m, "m"),
        near_hand(cell, hidden, np.stack([slip.joints(row) for row in swept])),
    )


def placement(settings: Tidy) -> Machine:
    """The component, by the names it is known by."""
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
        inputs={"cell": TidyCell, "house": House, "held": HeldObject},
        budgets={"areas": settings.retries.areas, "ways": settings.retries.ways},
        successes=("end_placement",),
    )
