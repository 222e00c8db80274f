"""Putting a held thing down, upright, on the table or on another thing: across, down, open and away, all checked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.evidence import Evidence, at_least, at_most, failures
from graspline.grasping.candidates import Grasp, GraspRejected
from graspline.grasping.straight import Line, Lines, Missed, Move, Moves, ReachParameters
from graspline.kinematics.arm import STRAIGHT_DOWN_RAD, Arm
from graspline.kinematics.arms import arm_of
from graspline.motion.joint_moves import jaw_move, join
from graspline.motion.path import Command, Path, at_rest, check_path
from graspline.parameters import Parameters
from graspline.perception.estimates import Estimate
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# How far over the thing the open fingers rise at least.
_OVER_M = 0.004
# Turns of the hand relative to the arm that are tried at the new place; a little is less than much.
_TURNS_RAD = np.radians([0, 15, -15, 30, -30, 50, -50, 75, -75, 100, -100, 130, -130, 160, -160])


class SetDownParameters(Parameters):
    """How a held object is put down."""

    speed_m_s: float = Field(default=0.2, ge=0.02, le=0.5, description="peak speed of the carried object")
    lower_speed_m_s: float = Field(default=0.08, ge=0.01, le=0.3, description="peak speed on the way down")
    gap_m: float = Field(default=0.001, ge=0, le=0.01, description="gap under the object when the jaws open")
    clearance_m: float = Field(default=0.006, ge=0, le=0.05, description="clearance of a carried object from others")
    back_off_m: float = Field(
        default=0.002,
        ge=0,
        le=0.01,
        description="how far the fixed jaw moves away from the object before the hand rises",
    )
    open_speed_rad_s: float = Field(default=1.0, ge=0.1, le=3, description="jaw speed during the release")
    rise_m: float = Field(
        default=0.05,
        ge=0.02,
        le=0.15,
        description="how far the open hand rises; more if the object is taller",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A thing in the hand: its centre in the gripper frame, how far it reaches around that, and its half height."""

    name: str
    tool_m: tuple[float, float, float]
    spread_m: float
    half_height_m: float
    grasp: Grasp
    branch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Where something is put: the point its middle comes to be over, and how high the surface under it is there."""

    x_m: float
    y_m: float
    # 0 is the table; otherwise the top of an object, or the floor of a plate.
    z_m: float = 0.0
    # The object that the surface belongs to; empty for the table.
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDownQuery:
    """What a way to put something down depends on."""

    robot: Robot
    world: CollisionWorld
    carried: Carried
    start: Command
    support: Support
    others: tuple[Estimate, ...]
    reach: ReachParameters
    settings: SetDownParameters


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDown:
    """The whole way."""

    transport: Path
    lower: Path
    opening: Path
    withdraw: Path


def plan_set_down(query: SetDownQuery) -> SetDown | GraspRejected:
    """A way for the least turn of the hand that passes every check, or why there is none."""
    refused: GraspRejected | None = None
    for turn in _TURNS_RAD:
        found = _with_turn(query, float(turn))
        if isinstance(found, SetDown):
            return found
        refused = refused or found
    assert refused is not None
    return refused


def _with_turn(query: SetDownQuery, turn: float) -> SetDown | GraspRejected:
    robot, carried, settings = query.robot, query.carried, query.settings
    tool = np.array(carried.tool_m)
    arm, joints = arm_of(robot), query.start.position[robot.arm]
    points, rotations = arm.forward(joints[None], tool)
    here, heading = points[0], float(np.arctan2(rotations[0, 1, 2], rotations[0, 0, 2]))
    pitch = float(arm.pitch_rad(joints[None])[0])
    a = np.array([*_polar(arm, here), here[2], pitch, heading - _polar(arm, here)[0]])
    support = query.support
    low = np.array([support.x_m, support.y_m, support.z_m + (carried.half_height_m + settings.gap_m)])
    azimuth, radius = _polar(arm, low)
    b = np.array([azimuth, radius, here[2], STRAIGHT_DOWN_RAD, a[4] + turn])
    across = _arc(query, a, b)
    if isinstance(across, GraspRejected):
        return across
    across.positions[0] = query.start.position
    above = np.array([low[0], low[1], here[2]])
    yaw = azimuth + float(b[4])
    held = replace(carried.grasp, tool_m=carried.tool_m, yaw_rad=yaw, open_rad=float(query.start.position[robot.jaw]))
    down = Lines(robot, query.reach, held, carried.branch).plan(
        Line("place", above, low, (STRAIGHT_DOWN_RAD, STRAIGHT_DOWN_RAD), settings.lower_speed_m_s)
    )
    if isinstance(down, GraspRejected):
        return down
    lower = down[0]
    lower.positions[0] = across.end
    opening = jaw_move(robot, at_rest(lower.end), carried.grasp.open_rad, speed_rad_s=settings.open_speed_rad_s)
    away = _away(query, low, yaw)
    if isinstance(away, GraspRejected):
        return away
    away.positions[0] = opening.end
    # Only on its way down it comes close to what it is put on.
    beside = tuple(each for each in query.others if each.name != support.name)
    for path, apart_from in ((across, query.others), (lower, beside), (opening, ()), (away, ())):
        broken = _blocked(query, path, tool, apart_from)
        if broken is not None:
            return broken
    return SetDown(transport=across, lower=lower, opening=opening, withdraw=away)


def _polar(arm: Arm, point: Array) -> tuple[float, float]:
    x, y = float(point[0]) - arm.axis_m[0], float(point[1]) - arm.axis_m[1]
    return float(np.arctan2(y, x)), float(np.hypot(x, y))


def _arc(query: SetDownQuery, a: Array, b: Array) -> Path | GraspRejected:
    """Steadily in polar coordinates (azimuth, radius, height, pitch, turn) from one pose of the hand to the other."""
    way = b - a
    length = float(np.hypot(max(a[1], b[1]) * way[0], np.hypot(way[1], way[2]))) + 0.02 * abs(float(way[4]))
    move = Move(
        start=tuple(a.tolist()),
        way=tuple(way.tolist()),
        jaw_rad=float(query.start.position[query.robot.jaw]),
        length_m=max(length, 1e-3),
        speed_m_s=query.settings.speed_m_s,
        polar=True,
    )
    asked = Moves(
        robot=query.robot,
        branch=query.carried.branch,
        tool_m=query.carried.tool_m,
        margin_rad=query.reach.joint_margin_rad / 2,
        moves=(move,),
    )
    (found,) = Moves.answered([asked])
    if isinstance(found, Missed):
        return GraspRejected(label=query.carried.name, stage="place", check="reach", evidence=found.evidence)
    return found[0]


def _away(query: SetDownQuery, low: Array, yaw: float) -> Path | GraspRejected:
    """Off the thing's side and straight up, as far as the arm goes."""
    carried, settings = query.carried, query.settings
    hand = query.robot.hand
    # Both fingers of a centred hand leave its sides by opening.
    back_off_m = 0.0 if hand.centred else settings.back_off_m
    off = low - back_off_m * np.array([np.cos(yaw), np.sin(yaw), 0.0])
    open_hand = replace(carried.grasp, tool_m=carried.tool_m, yaw_rad=yaw)
    lines = Lines(query.robot, query.reach, open_hand, carried.branch)
    straight = (STRAIGHT_DOWN_RAD, STRAIGHT_DOWN_RAD)
    found: list[Path] | GraspRejected | None = None
    # Only from over it the hand can go anywhere.
    tool = float(low[2]) + carried.tool_m[0] - hand.tool_m[0]
    over = float(low[2]) + carried.half_height_m + hand.lowest_m + _OVER_M - tool
    for rise in (max(settings.rise_m, over), over):
        up = off + np.array([0.0, 0.0, rise])
        found = lines.plan(Line("place", low, off, straight, 0.03), Line("place", off, up, straight, 0.15))
        if not isinstance(found, GraspRejected):
            sideways, rising = found
            rising.positions[0] = sideways.end
            return join(sideways, rising)
    assert isinstance(found, GraspRejected)
    return found


def _blocked(query: SetDownQuery, path: Path, tool: Array, apart_from: tuple[Estimate, ...]) -> GraspRejected | None:
    """What is wrong with a path on which the thing in the hand has to stay clear of some others."""
    name = query.carried.name
    over = check_path(path, query.robot)
    if over is not None:
        return GraspRejected(label=name, stage="place", check="limits", evidence=over.evidence)
    samples = query.world.samples(path.positions)
    bumped = _held_clearance(query, samples, tool, apart_from) if apart_from else ()
    if bumped:
        return GraspRejected(label=name, stage="place", check="collision", evidence=bumped)
    query.world.place(query.others)
    hit = query.world.first_collision(samples)
    return None if hit is None else GraspRejected(label=name, stage="place", check="collision", evidence=hit.evidence)


def _held_clearance(query: SetDownQuery, samples: Array, tool: Array, others: tuple[Estimate, ...]) -> Evidence:
    """What a thing in the hand, taken as an upright cylinder around it, comes too close to."""
    carried = query.carried
    centre, _ = arm_of(query.robot).forward(samples, tool)
    found = []
    for other in others:
        lifted = centre.copy()
        # Of two things that stand, only the part of the way counts on which they are at the same height.
        top = float(other.position_m[2] + other.half_extents_m[2])
        beside = lifted[:, 2] - carried.half_height_m < top + query.settings.clearance_m
        apart = other.distance_m(np.column_stack([lifted[:, :2], np.full(len(lifted), other.position_m[2])]))
        if apart is None or not beside.any():
            continue
        gap = float(apart[beside].min()) - carried.spread_m
        found.append(at_least(f"held_to_{other.name}", gap, query.settings.clearance_m, "m"))
    return failures(tuple(found))


def resting_evidence(
    position_m: Array,
    up: float,
    speed_m_s: float,
    support: Support,
    half_height_m: float,
    limits: tuple[float, float, float, float],
) -> Evidence:
    """How far from its spot a thing is, how far off its support, how far it leans, how fast it is; with the limits.

    `up` is the height component of its upright axis.
    """
    off_m, height_m, lean_rad, speed_limit_m_s = limits
    apart = float(np.hypot(position_m[0] - support.x_m, position_m[1] - support.y_m))
    off_surface_m = abs(float(position_m[2]) - half_height_m - support.z_m)
    return (
        at_most("off_spot", apart, off_m, "m"),
        at_most("off_support" if support.name else "off_table", off_surface_m, height_m, "m"),
        at_most("lean", float(np.arccos(np.clip(abs(up), -1, 1))), lean_rad, "rad"),
        at_most("speed", speed_m_s, speed_limit_m_s, "m/s"),
    )
