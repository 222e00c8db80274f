"""Plans of Placement: whether hand and thing fit, how the hand may be over a place, and the ways in and out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.grasping.hand_poses import HandPose
from graspline.grasping.whole_body_reach import UP, Reach, ReachQuery, Step, Surroundings, first_reach, order
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.spatial.poses import Pose
from graspline.spatial.rotations import rotation_z
from graspline.tasks.tidy.base_motion import TidyCell
from graspline.tasks.tidy.believed_room import House, around, parts_of
from graspline.tasks.tidy.grasp_plans import SPARE_M
from graspline.tasks.tidy.parameters import PlacingParameters
from graspline.tasks.tidy.robot import BODY
from graspline.tasks.tidy.sight import BoardSeen

Array = NDArray[np.float64]

# How far in front of a place the straight way in begins.
_IN_M = 0.30
# The arm comes from the front, up to this much aside.
_ASIDE_RAD = np.radians([0.0, 15.0, -15.0, 30.0, -30.0])
_TOP_TURNS_RAD = np.arange(12) * (np.pi / 6)
# A thing is let go this far above where the board is believed to be, unless it has touched before.
_GAP_M = 0.003
_RELEASE_M = 0.024
# Number of plans tried for one look at a board, and for places that are as deep as each other within this much:
# where the arm does not come in as far, it does not beside it, either.
_PLANS, _AS_DEEP, _AS_DEEP_M = 100, 3, 0.02


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aimed:
    """A spot within reach, and those still to be tried."""

    spots: tuple[Array, ...]
    reach: Reach
    # Where the thing's bottom is to be, (3,).
    spot_m: Array
    inwards_m: Array


def height_needed_m(held: HeldObject, placing: PlacingParameters) -> float:
    """From the board to the highest point of hand and thing on the way in."""
    tool = -float((held.R_OH @ held.X_HB.position_m)[2])
    return placing.above_m + SPARE_M + max(tool + BODY.hand_above_m(held.R_OH), 2 * held.half_height_m)


def radius_m(held: HeldObject) -> float:
    """Of what a thing covers around the middle of its bottom, however it is turned."""
    aside = (held.R_OH @ (held.X_HO.position_m - held.X_HB.position_m))[:2]
    return float(np.hypot(*aside)) + held.spread_m


def released_rad(robot: Robot, held: HeldObject) -> float:
    """How wide the hand opens to be clear of what it held, and no wider: there are neighbours and walls."""
    return float(robot.jaw_law.angle_rad(min(held.gap_m + _RELEASE_M, float(robot.jaw_law.gaps_m[-1]))))


def placed_solid(held: HeldObject, pose: HandPose, spot_m: Array) -> Belief:
    """The thing as it will stand."""
    above_m = pose.rotation @ (held.X_HO.position_m - held.X_HB.position_m)
    return held.at(Pose(position_m=spot_m + above_m, rotation=pose.rotation @ held.X_HO.rotation))


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


def first_place(
    cell: TidyCell, house: House, held: HeldObject, seen: BoardSeen, start: Array, spots: Sequence[Array]
) -> Aimed | tuple[Refusal, ...]:
    """The first place with a whole plan, or why there is none."""
    yaw, above_m = house.shelf.yaw_rad, cell.settings.placing.above_m
    depths = [house.shelf.in_own_frame(spot)[0] for spot in spots]

    def tries() -> Iterator[tuple[int, ReachQuery, HandPose, Array]]:
        count, tried = 0, list[float]()
        for index, spot in enumerate(spots):
            if count >= _PLANS:
                return
            if sum(abs(depths[index] - each) < _AS_DEEP_M for each in tried) >= _AS_DEEP:
                continue
            tried.append(depths[index])
            poses = poses_at(cell.robot, yaw, held, spot + (above_m + _GAP_M) * UP)
            for pose, postures in order(cell.robot, poses, start):
                count += 1
                yield index, _query(cell, house, held, seen, start, spot, pose), pose, postures

    found, refused = first_reach(cell.robot, cell.world, tries)
    if found is None:
        return refused
    index, reach = found
    left = (*spots[:index], *spots[index + 1 :])
    return Aimed(spots=left, reach=reach, spot_m=spots[index], inwards_m=_inwards_m(house))


def _inwards_m(house: House) -> Array:
    """The straight way into the shelf, (3,)."""
    yaw = house.shelf.yaw_rad
    return _IN_M * np.array([np.cos(yaw), np.sin(yaw), 0.0])


def _query(
    cell: TidyCell, house: House, held: HeldObject, seen: BoardSeen, start: Array, spot_m: Array, pose: HandPose
) -> ReachQuery:
    """In over the place, down onto it, and out again without the thing."""
    inwards, carrying_it = _inwards_m(house), around(house, held, things=seen.things)
    board = next(solid for solid in carrying_it.solids if solid.name == seen.name)
    parts = parts_of(placed_solid(held, pose, spot_m))
    left = Surroundings(solids=(*carrying_it.solids, *parts))
    down = -cell.settings.placing.above_m * UP
    return ReachQuery(
        start=start,
        jaw_rad=float(start[-1]),
        inwards=Step(way_m=inwards, around=carrying_it),
        onwards=(
            Step(way_m=down, around=carrying_it, touching=(("held", board),)),
            Step(way_m=-inwards, around=left, jaw_rad=released_rad(cell.robot, held), leaving=parts),
        ),
        seed=0,
    )
