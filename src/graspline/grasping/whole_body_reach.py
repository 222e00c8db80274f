"""Whole-body plans to take something up and to put it down: a posture that reaches, and the ways to and from it.

In front of a target the hand moves straight, which base and lift do alone; the arm keeps its posture. To where that
begins a planned way leads around everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_most
from graspline.grasping.hand_poses import HandPose
from graspline.kinematics.arms import whole_body_of
from graspline.motion.path import Path
from graspline.motion.waypoints import through
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.perception.rgbd.odometry_drift import Slip
from graspline.planning.collision import ROOM_CLEARANCE_M, Collision, CollisionWorld, Part
from graspline.planning.rrt import NoWay, plan_way, timed
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.spatial.poses import Pose

Array = NDArray[np.float64]
K = TypeVar("K")
# Poses, each with the postures (n, 8) that reach it.
Todo = tuple[tuple[HandPose, Array], ...]

# The hand, or what it holds, and what that may touch.
Touching = tuple[tuple[Part, Belief], ...]

UP = np.array([0.0, 0.0, 1.0])
# For each pose: postures that are checked for collisions, and those passing that are tried for a way.
_POSTURES, _WAYS = 24, 3
# What a radian of lean counts as, in seconds of travel.
_LEAN_S = 1.5
# How many reasons are listed.
_REASONS = 6
# What ways of a plan are allowed to cost.
_CHECKS = 12_000
# What postures keep from joint limits, in m and rad.
_MARGIN = 0.01
# What ways keep clear of everything, and straight ways of the hand; where there is none, they make do with less. Wheels
# slip, and a thing in the hand is not quite where it is believed to be.
_CLEARANCES_M, _STRAIGHT_CLEARANCES_M = (0.05, 0.02, ROOM_CLEARANCE_M), (0.015, ROOM_CLEARANCE_M)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Surroundings:
    """What is believed to stand around, and what the hand holds."""

    solids: tuple[Belief, ...]
    held: HeldObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reach:
    """A pose with a posture for it: a way to before it, from where the hand goes straight."""

    pose: HandPose
    # Joints where the pose is reached, (nu,), and before that.
    at: Array
    before: Array
    way: Path

    def after(self, slip: Slip) -> Reach:
        """The same plan from where it was meant to begin; its way there has been gone."""
        return replace(self, pose=self.pose.after(slip), at=slip.joints(self.at), before=slip.joints(self.before))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """A straight way of the hand, (3,) in O, among these surroundings; what may be touched on it, and by what.

    The hand is as wide as before, or opens to `jaw_rad` first. To what it is `leaving` it may stay as near as it was.
    """

    way_m: Array
    around: Surroundings
    touching: Touching = ()
    jaw_rad: float | None = None
    leaving: tuple[Belief, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReachQuery:
    """How a pose is reached: from where, with the hand how wide, by which way in, and which ways lead on from it."""

    start: Array
    jaw_rad: float
    inwards: Step
    onwards: tuple[Step, ...]
    seed: int
    # What the head looks at where the way in begins, (3,) in O.
    gaze_m: Array | None = None
    # What the straight ways keep clear of everything.
    clearance_m: float = ROOM_CLEARANCE_M


def as_evidence(refused: Sequence[Refusal]) -> Evidence:
    """Why poses were refused, and how many for each reason, the commonest first."""
    reasons = Counter(each.check for each in refused)
    return tuple(at_most(f"refused: {reason}", count, 0) for reason, count in reasons.most_common(_REASONS))


def tool_of(robot: Robot, pose: HandPose) -> Pose:
    """Where the tool is when the pads hold what is as wide as the pose says: tips recede as they open."""
    middle = robot.jaw_law.middle_m(float(robot.jaw_law.angle_rad(pose.width_m)))
    return Pose(position_m=pose.position_m - pose.rotation @ middle, rotation=pose.rotation)


def order(robot: Robot, poses: Sequence[HandPose], start: Array) -> Todo:
    """Poses with the postures for each, (n, 8); the quickest to reach first, those from the top after all others.

    A hand that leans is harder to put down with: it counts as farther away.
    """
    if not poses:
        return ()
    tools = np.stack([tool_of(robot, pose).position_m for pose in poses])
    rotations = np.stack([pose.rotation for pose in poses])
    postures = whole_body_of(robot).postures(tools, rotations, start, margin=_MARGIN, finely=True)
    found = list(zip(poses, postures, strict=True))

    def rank(entry: tuple[HandPose, Array]) -> tuple[bool, bool, float]:
        pose, postures = entry
        if not len(postures):
            return True, pose.top, 0.0
        arm = robot.limits.velocity[: postures.shape[1]]
        takes_s = float(np.abs((postures[0] - start[: len(arm)]) / arm).max())
        return False, pose.top, takes_s + _LEAN_S * max(pose.pitch_rad, 0.0)

    return tuple(sorted(found, key=rank))


def todo_after(slip: Slip, todo: Todo) -> Todo:
    """The same poses and postures where their thing really is."""
    return tuple(
        (pose.after(slip), np.array([slip.joints(row) for row in postures]).reshape(postures.shape))
        for pose, postures in todo
    )


def first_reach(
    robot: Robot, world: CollisionWorld, tries: Callable[[], Iterable[tuple[K, ReachQuery, HandPose, Array]]]
) -> tuple[tuple[K, Reach] | None, tuple[Refusal, ...]]:
    """The first of several tries, each a pose with its postures, that has a whole plan; and why others have none.

    With as much kept clear as there can be: where no try has a plan, they are gone through again with less.
    """
    refused = list[Refusal]()
    for clearance in _STRAIGHT_CLEARANCES_M:
        refused.clear()
        for key, query, pose, postures in tries():
            found = plan_reach(robot, world, replace(query, clearance_m=clearance), pose, postures)
            if isinstance(found, Reach):
                return (key, found), tuple(refused)
            refused.append(found)
    return None, tuple(refused)


def plan_reach(
    robot: Robot, world: CollisionWorld, query: ReachQuery, pose: HandPose, postures: Array
) -> Reach | Refusal:
    """A way to a pose: the first posture whose straight ways are free, and that a way leads to."""
    if not len(postures):
        evidence = whole_body_of(robot).unreached(tool_of(robot, pose).position_m, pose.rotation, _MARGIN)
        return Refusal(label=pose.label, check="no posture reaches it", evidence=evidence)
    reason, tried = "the lift is too short for its ways", 0
    for posture in _spread(postures):
        at = query.start.copy()
        at[: len(posture)], at[robot.jaw] = posture, query.jaw_rad
        if query.gaze_m is not None:
            at = whole_body_of(robot).gazing(at, query.gaze_m)
        found = _before(world, query, at)
        if not isinstance(found, np.ndarray):
            reason = found or reason
            continue
        if query.gaze_m is not None:
            found = whole_body_of(robot).gazing(found, query.gaze_m)
        way = go(robot, world, query.inwards.around, query.start, found[None], query.seed)
        if isinstance(way, Path):
            return Reach(pose=pose, at=at, before=found, way=way)
        reason, tried = way, tried + 1
        if tried >= _WAYS:
            break
    return Refusal(label=pose.label, check=reason)


def _spread(postures: Array) -> Array:
    """Some of the postures: the nearest ones, and others from all over the list."""
    if len(postures) <= _POSTURES:
        return postures
    near = np.arange(_POSTURES // 2)
    far = np.linspace(_POSTURES // 2, len(postures) - 1, _POSTURES - len(near)).astype(int)
    return postures[np.concatenate([near, far])]


def in_the_way(world: CollisionWorld, query: ReachQuery, reach: Reach) -> str:
    """What is in the ways of a plan whose way there has been gone, if anything is: from the start to where the straight
    way in begins, and from there on.
    """
    found = _before(world, query, reach.at)
    if isinstance(found, str):
        return found
    around = query.inwards.around
    world.place(around.solids, around.held, start=query.start, clearance_m=query.clearance_m)
    collision = world.first_collision(world.between(np.stack([query.start, reach.before])))
    return "" if collision is None else _met(collision)


def _before(world: CollisionWorld, query: ReachQuery, at: Array) -> Array | str:
    """Where the straight way in begins, (nu,), if it and all ways on are free; else what is in the way."""
    inwards = _straight(world, replace(query.inwards, way_m=-query.inwards.way_m), at, query.clearance_m)
    here: Array | str = at
    for step in query.onwards:
        if isinstance(inwards, str):
            return inwards
        here = _straight(world, step, here, query.clearance_m)
        if isinstance(here, str):
            return here
    return inwards


def _straight(world: CollisionWorld, step: Step, here: Array, clearance_m: float) -> Array | str:
    """Where a straight way ends, (nu,); else what is in the way, or nothing where the lift is too short."""
    if step.jaw_rad is not None:
        here = here.copy()
        here[world.robot.jaw] = step.jaw_rad
    rows, possible = whole_body_of(world.robot).straight(here, step.way_m)
    if not possible.all():
        return ""
    world.place(
        step.around.solids,
        step.around.held,
        may_touch=step.touching,
        start=here if step.leaving else None,
        leaving=step.leaving,
        clearance_m=clearance_m,
    )
    collision = world.first_collision(world.between(rows))
    if collision is not None:
        return _met(collision)
    return rows[-1]


def _met(collision: Collision) -> str:
    return f"{collision.robot_part} would meet {collision.touched}"


def go(
    robot: Robot,
    world: CollisionWorld,
    around: Surroundings,
    start: Array,
    goals: Array,
    seed: int,
    speed: float = 1.0,
    touching: Touching = (),
) -> Path | str:
    """A way from rest to rest at any of the goals (K, nu) that keeps clear of everything; or why there is none."""
    if not len(goals):
        return "no posture reaches any goal"
    why = ""
    for clearance in _CLEARANCES_M:
        world.place(around.solids, around.held, may_touch=touching, start=start, clearance_m=clearance)
        way = plan_way(world, start, goals, moving=robot.joints, seed=seed, checks=_CHECKS)
        found = way if isinstance(way, NoWay) else timed(world, way, speed=speed)
        if isinstance(found, Path):
            return found
        why = str(found)
    return why


def straight_path(robot: Robot, joints: Array, way_m: Array, *, speed: float = 1.0) -> Path:
    """Straight from rest to rest, the hand's rotation kept; what the lift cannot do is left out."""
    rows, _ = whole_body_of(robot).straight(joints, way_m)
    end = np.clip(rows[-1], robot.limits.lower, robot.limits.upper)
    return through(robot, np.stack([joints, end]), speed=speed)
