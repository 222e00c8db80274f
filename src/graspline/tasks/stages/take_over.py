"""Freeing the hand: from whatever arm and objects are doing to an empty hand clear of everything."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least
from graspline.execution.requests import Motion, Reply, Request, solved
from graspline.grasping.topdown import plan_grasp
from graspline.machine.outcome import Outcome, Stage
from graspline.motion.guards import ForceAbove, TrackingError
from graspline.motion.joint_moves import brake, jaw_move, joint_move
from graspline.motion.joint_moves import hold as still
from graspline.motion.path import Command, Path, keeps_range
from graspline.perception.core.beliefs import Belief
from graspline.planning.collision import CollisionWorld
from graspline.planning.escapes import way_out
from graspline.planning.in_plane import heading_of, straight_in_plane
from graspline.planning.routes import free_way, lifted
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.spatial.rotations import rotate
from graspline.tasks.stages.parameters import ArmSettings, TouchParameters
from graspline.tasks.stages.rest import stopped
from graspline.tasks.stages.sight import Eye, resting

Array = NDArray[np.float64]
# Sees everything on the table.
SeeAll = Callable[[], Generator[Request, Reply, tuple[Belief, ...]]]

# A reference farther than this from its joints is brought back to them: they press against something.
_PRESSING_RAD = 0.03
# What is held is not farther than this from the middle between the pads.
_IN_HAND_M = 0.04
# What is set down is let go this high above where it stands.
_RELEASE_M = 0.002
_LOWER_M_S, _RETREAT_M_S = 0.06, 0.15
# How much wider than what is between them the jaws open.
_WIDER_M = 0.02
# The fingertip is clear of what lies on the table from this height on.
CLEAR_M = 0.11
_LONGEST_M = 0.16
# Fingers that point down more than this leave the way they point; others go straight up.
_STEEP = 0.5
# Things are at rest once no sighting is farther than this from the one before, this much later; or after the last look
# allowed.
_STILL_M, _BETWEEN_S, _LOOKS = 0.0005, 0.1, 25
# How often the hand is freed again where something is caught in it on the way home.
_FREEINGS = 3


def take_over(
    last: Reply, robot: Robot, eye: Eye, world: CollisionWorld, target: str, arm: ArmSettings
) -> Stage[Literal["ready", "stranded"]]:
    """Free the hand from whatever it was doing; go home where no grasp can be planned from there."""
    reply, evidence = last, Evidence()
    for _ in range(_FREEINGS):
        reply = yield from stop(reply, robot)
        reply = yield from let_go(reply, robot, world, arm.close, eye.survey)
        seen = yield from eye.see(target)
        if seen is not None:
            found = yield from solved(plan_grasp, robot, world, resting(seen), reply.command, arm.jaw, arm.reach, ())
            if not isinstance(found, Refusal):
                return Outcome("ready")
        survey = yield from eye.survey()
        path = free_way(robot, world, reply.command, robot.home, tuple(resting(each) for each in survey))
        if isinstance(path, Refusal):
            evidence = (at_least("checked_ways_home", 0, 1), *path.evidence)
            break
        reply = yield Motion("return_home", path, guards=(TrackingError(error_rad=arm.close.blocked_rad),))
        if reply.by == "completed":
            return Outcome("ready")
        evidence = reply.evidence
    return Outcome("stranded", evidence)


def stop(last: Reply, robot: Robot) -> Generator[Request, Reply, Reply]:
    """Come to rest, and take the reference back to where the joints are where something holds them off it."""
    reply = last
    if reply.command.moving:
        # The other driver's reference has corners: so may the first tick of this one.
        reply = yield Motion("brake", _brake(robot, reply.command), corners=True)
    joints = np.clip(reply.readings.joints, robot.limits.lower, robot.limits.upper)
    pressing = np.abs(joints - reply.command.position)[robot.arm].max() > _PRESSING_RAD
    if pressing:
        target = reply.command.position.copy()
        target[robot.arm] = joints[robot.arm]
        reply = yield Motion("relax", joint_move(robot, reply.command, target, speed=0.3))
    return reply


def let_go(
    last: Reply, robot: Robot, world: CollisionWorld, close: TouchParameters, see_all: SeeAll
) -> Generator[Request, Reply, Reply]:
    """From rest: set down what is in the hand, open, back out, and wait until everything lies still.

    Nothing is farther from everything than the way the fingers point, or up: that way only limits are checked. Where
    the arm still touches something then, itself or a table, it is turned out of that.
    """
    reply = last
    if max(reply.readings.pad_forces_n()) >= close.lost_n:
        reply = yield from _set_down(reply, robot, close, see_all)
        gap_m = float(robot.jaw_law.gap_m(reply.readings.joints[robot.jaw])) + _WIDER_M
        path = jaw_move(robot, reply.command, float(robot.jaw_law.angle_rad(gap_m)), speed_rad_s=close.speed_rad_s)
        reply = yield Motion("open", path)
    away = _away(reply, robot)
    if away is not None:
        reply = yield Motion("back_out", away, guards=(TrackingError(error_rad=2 * close.blocked_rad),))
        reply = yield from stopped(reply, robot)
    reply, seen = yield from _until_still(reply, robot, see_all)
    world.place(seen)
    if world.first_collision(reply.command.position[None]) is not None:
        out = yield from solved(way_out, robot, world, reply.command, seen)
        if out is not None:
            reply = yield Motion("turn_out", out)
    return reply


def _until_still(
    last: Reply, robot: Robot, see_all: SeeAll
) -> Generator[Request, Reply, tuple[Reply, tuple[Belief, ...]]]:
    """Wait until everything on the table lies still, for a time at the most; what is seen then."""
    reply, before = last, dict[str, Belief]()
    for _ in range(_LOOKS):
        seen = {each.name: each for each in (yield from see_all())}
        moved = [
            float(np.linalg.norm(each.position_m - before[name].position_m)) - 6 * each.position_sigma_m
            for name, each in seen.items()
            if name in before
        ]
        if before and max(moved, default=0.0) <= _STILL_M:
            break
        before = seen
        reply = yield Motion("wait", still(robot, reply.command, _BETWEEN_S))
    return reply, tuple(before.values())


def held_by(reply: Reply, robot: Robot, close: TouchParameters, seen: tuple[Belief, ...]) -> Belief | None:
    """What is in the hand, if both pads feel something and something is between them."""
    if min(reply.readings.pad_forces_n()) < close.lost_n or not seen:
        return None
    middle = reply.readings.tool_position_m + rotate(
        reply.readings.tool_rotation, robot.jaw_law.middle_m(float(reply.readings.joints[robot.jaw]))
    )
    nearest = min(seen, key=lambda each: float(np.linalg.norm(each.position_m - middle)))
    return nearest if np.linalg.norm(nearest.position_m - middle) <= _IN_HAND_M else None


def _set_down(reply: Reply, robot: Robot, close: TouchParameters, see_all: SeeAll) -> Generator[Request, Reply, Reply]:
    """Lower what is in the hand until it stands, as far as the arm gets."""
    held = held_by(reply, robot, close, (yield from see_all()))
    if held is None:
        return reply
    drop_m = _lowest_m(held) - _RELEASE_M
    path = straight_in_plane(robot, reply.command, 0.0, -drop_m, speed_m_s=_LOWER_M_S) if drop_m > 0 else None
    if path is None:
        return reply
    guards = (TrackingError(error_rad=close.blocked_rad), ForceAbove(force_n=2 * close.bump_n, for_s=0.05))
    reply = yield Motion("set_down", path, guards=guards)
    reply = yield from stopped(reply, robot)
    return reply


def _lowest_m(thing: Belief) -> float:
    """How high the lowest point of a thing is."""
    if thing.shape == "ball":
        return float(thing.position_m[2]) - thing.radius_m
    return float(thing.position_m[2] - np.abs(thing.rotation[2]) @ thing.half_extents_m)


def _away(reply: Reply, robot: Robot) -> Path | None:
    """Back the way the fingers point, or up, until the fingertip is clear; None where it is or the arm cannot."""
    missing_m = CLEAR_M - float(reply.readings.tool_position_m[2])
    if missing_m <= 0:
        return None
    heading = heading_of(robot, reply.command.position)
    back = -reply.readings.tool_rotation[:, 0]
    ways = [(0.0, 1.0)]
    if back[2] > _STEEP:
        ways.insert(0, (float(back[:2] @ heading), float(back[2])))
    found: list[Path] = []
    for outward, up in ways:
        length_m = min(missing_m / up, _LONGEST_M)
        path = straight_in_plane(robot, reply.command, outward * length_m, up * length_m, speed_m_s=_RETREAT_M_S)
        if path is not None:
            found.append(path)
    if not found:
        # A stretched arm, or one at its limits: lifting the shoulder takes the hand up and in.
        return joint_move(robot, reply.command, lifted(robot, reply.command.position, margin_rad=0.0), speed=0.3)
    return max(found, key=lambda path: path.ticks)


def _brake(robot: Robot, command: Command) -> Path:
    """The fastest stop, held at the limits where the other driver was about to run into one."""
    path = brake(robot, command)
    if keeps_range(path.positions, robot.limits):
        return path
    return replace(path, positions=np.clip(path.positions, robot.limits.lower, robot.limits.upper))
