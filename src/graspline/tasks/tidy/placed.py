"""The end of Placement: a second look at how the thing stands where it was put, and whether its neighbours moved."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least, at_most, passes
from graspline.execution.requests import Reply
from graspline.grasping.hand_poses import HandPose
from graspline.grasping.reaching import Reach
from graspline.machine.outcome import Outcome, Stage
from graspline.perception.beliefs import Belief
from graspline.perception.held import HeldObject
from graspline.perception.kept import moved_m
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.scenes.fittings import Fitting, Level
from graspline.spatial.poses import Pose
from graspline.tasks.tidy.areas import Area
from graspline.tasks.tidy.board_views import view_without
from graspline.tasks.tidy.house import House
from graspline.tasks.tidy.moving import Stopped, around, travel
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.sight import BoardSeen, Eye
from graspline.tasks.tidy.slips import slip_between

Array = NDArray[np.float64]

# The top of what stands upright is this near to where it must be.
_TOP_M = 0.02
# The middle of what is in an area is this far from the area's sides, more than it is seen wrong by.
_INSIDE_M = 0.005


def placed_solid(held: HeldObject, pose: HandPose, spot_m: Array) -> Belief:
    """The thing as it will stand."""
    above_m = pose.rotation @ (held.X_HO.position_m - held.X_HB.position_m)
    stands = Pose(position_m=spot_m + above_m, rotation=pose.rotation @ held.X_HO.rotation)
    return held.at(stands)


def check_place(
    last: Reply,
    robot: Robot,
    world: CollisionWorld,
    eye: Eye,
    house: House,
    settings: Tidy,
    held: HeldObject,
    area: Area,
    seen: BoardSeen,
    reach: Reach,
    spot_m: Array,
) -> Stage[Literal["placed", "not_placed", "unseen"]]:
    """Look again: the thing stands upright where it was put, and things beside it where they were."""
    jaw_rad = float(last.command.position[robot.jaw])
    goal = view_without(robot, jaw_rad, house.shelf, house.shelf.level(area.board))
    placed = placed_solid(held, reach.pose, spot_m)
    reply = yield from travel(last, robot, world, around(house, (*seen.things, placed)), goal[None])
    if isinstance(reply, Stopped):
        return Outcome("unseen", reply.evidence, about=held.name)
    now = yield from eye.board(reply, house, area.board)
    if not isinstance(now, BoardSeen):
        return Outcome("unseen", now.told, about=held.name)
    evidence = placed_evidence(settings, area.level, spot_m, placed.top_m, seen, now)
    return Outcome("placed" if passes(evidence) else "not_placed", evidence, about=held.name)


def placed_evidence(
    settings: Tidy, level: Level, spot_m: Array, top_m: float, was: BoardSeen, now: BoardSeen
) -> Evidence:
    """Where the thing and its neighbours are, against where they must be."""
    wanted, left = settings.placing, list(now.things)
    # Where that is by the shelf as it is seen now: wheels may have slipped since.
    spot_m = slip_between(was.house.shelf, now.house.shelf).point(spot_m)
    off, top, inside = np.inf, np.nan, np.nan
    if left:
        found = min(left, key=lambda each: float(np.linalg.norm(each.position_m[:2] - spot_m[:2])))
        off, top = float(np.linalg.norm(found.position_m[:2] - spot_m[:2])), found.top_m
        inside = _inside_m(now.house.shelf, level, found)
    moved = max((moved_m(each, was.sight, now.sight) for each in was.things), default=0.0)
    return (
        at_most("off_its_place", off, wanted.off_m, "m"),
        at_least("inside_its_area", inside, _INSIDE_M, "m"),
        at_most("top_off_its_height", abs(top - top_m), _TOP_M, "m"),
        at_most("neighbours_moved", moved, wanted.beside_m, "m"),
    )


def _inside_m(shelf: Fitting, level: Level, thing: Belief) -> float:
    """From a thing's middle to the nearest side of a part of a board; less than 0 outside."""
    (x, y), half = shelf.in_own_frame(thing.position_m), level.half_extents_m
    return min(half[0] - abs(x - level.position_m[0]), half[1] - abs(y - level.position_m[1]))
