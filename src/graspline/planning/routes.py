"""One router: a checked way to a posture, straight in joint space, or in parts.

Which ways are tried, and in which order, is the caller's choice; what speaks against a path is, too. So the effort is
counted: no more paths are checked than ways are named.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arms import arm_of
from graspline.motion.joint_moves import join, joint_move
from graspline.motion.path import Command, Path, at_rest, check_path
from graspline.perception.core.beliefs import Belief
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.robot import Robot

Array = NDArray[np.float64]
No = TypeVar("No")
Speed = float | Array
# From rest or not to rest at a posture, (nu,); None where there is no such way.
Way = Callable[[Robot, Command, Array, Speed], Path | None]

# How far a shoulder is turned to take the hand up, and what it keeps from its limits then.
_RAISED_RAD, _MARGIN_RAD = 0.35, 0.05


def route(
    robot: Robot,
    start: Command,
    goal: Array,
    blocked: Callable[[Path], No | None],
    *,
    ways: Sequence[Way],
    speed: Speed,
) -> Path | No:
    """The first of these ways to a posture that nothing blocks; else what blocks the first of them."""
    refused: No | None = None
    for way in ways:
        path = way(robot, start, goal, speed)
        if path is None:
            continue
        found = blocked(path)
        if found is None:
            return path
        refused = found if refused is None else refused
    assert refused is not None, "the first way always leads somewhere"
    return refused


def straight(robot: Robot, start: Command, goal: Array, speed: Speed) -> Path:
    """Straight in joint space."""
    return joint_move(robot, start, goal, speed=speed)


def retracted(robot: Robot, start: Command, goal: Array, speed: Speed) -> Path:
    """The goal's posture first where the arm's first axis stands; then that turns."""
    return _by(robot, start, (_with(goal, start.position, 0), goal), speed)


def raised(robot: Robot, start: Command, goal: Array, speed: Speed) -> Path:
    """The shoulder lifted first, which takes the hand up and in, whatever it is above of."""
    return _by(robot, start, (lifted(robot, start.position), goal), speed)


def raised_and_retracted(robot: Robot, start: Command, goal: Array, speed: Speed) -> Path:
    """The shoulder lifted first, then the goal's posture, and last the turn of the arm's first axis."""
    return _by(robot, start, (lifted(robot, start.position), _with(goal, start.position, 0), goal), speed)


def wrist_last(robot: Robot, start: Command, goal: Array, speed: Speed) -> Path:
    """Close to the base a camera on the wrist may turn only once the arm is stretched."""
    return _by(robot, start, (_with(goal, start.position, arm_of(robot).wrist), goal), speed)


def by_home(robot: Robot, start: Command, goal: Array, speed: Speed) -> Path:
    """Into home's posture, round in that, and out of it; wrist and jaw turn with the first and the last part."""
    own = [0, arm_of(robot).wrist, robot.jaw]
    here, there = _with(robot.home, start.position, own), _with(robot.home, goal, own)
    return _by(robot, start, (here, there, goal), speed)


USUAL: tuple[Way, ...] = (straight, retracted, raised, raised_and_retracted, wrist_last)


def free_way(
    robot: Robot,
    world: CollisionWorld,
    start: Command,
    target: Array,
    around: tuple[Belief, ...],
    *,
    speed: Speed = 0.5,
) -> Path | Refusal:
    """A checked way to an arm pose, the jaws as they are; what the hand touches where it stands is left out."""
    goal = np.append(target[robot.arm], start.position[robot.jaw])

    def blocked(path: Path) -> Refusal | None:
        over = check_path(path, robot)
        if over is not None:
            return Refusal(check="limits", evidence=over.evidence)
        world.place(around)
        if not world.free(start.position):
            # Touching something from the start: it may be the very thing that was let go.
            world.place(tuple(each for each in around if not _beside(world, each, start)))
        hit = world.first_collision(world.samples(path.positions))
        return None if hit is None else Refusal(check="collision", evidence=hit.evidence)

    return route(robot, start, goal, blocked, ways=USUAL, speed=speed)


def _beside(world: CollisionWorld, thing: Belief, start: Command) -> bool:
    world.place((thing,))
    return not world.free(start.position)


def _by(robot: Robot, start: Command, stops: Sequence[Array], speed: Speed) -> Path:
    """At rest at every stop."""
    path = joint_move(robot, start, stops[0], speed=speed)
    for stop in stops[1:]:
        path = join(path, joint_move(robot, at_rest(path.end), stop, speed=speed))
    return path


def _with(row: Array, other: Array, joints: int | list[int]) -> Array:
    """The row with these joints as the other has them."""
    found = row.copy()
    found[joints] = other[joints]
    return found


def lifted(robot: Robot, row: Array, *, margin_rad: float = _MARGIN_RAD) -> Array:
    """A posture with the shoulder turned back some way, within its limits."""
    found, shoulder = row.copy(), arm_of(robot).folding[0]
    lower, upper = float(robot.limits.lower[shoulder]), float(robot.limits.upper[shoulder])
    raised_rad = float(row[shoulder]) + _upwards(robot) * _RAISED_RAD
    found[shoulder] = min(max(raised_rad, lower + margin_rad), upper - margin_rad)
    return found


@functools.cache
def _upwards(robot: Robot) -> float:
    """Which way the shoulder turns to take a hand up that is over the table: 1 or -1."""
    arm = arm_of(robot)
    rows = np.repeat((robot.home if robot.down is None else robot.down)[None], 2, axis=0)
    rows[:, arm.folding[0]] += (-_MARGIN_RAD, _MARGIN_RAD)
    height = arm.forward(rows[:, robot.arm], np.array(robot.hand.tool_m))[0][:, 2]
    return 1.0 if height[1] > height[0] else -1.0
