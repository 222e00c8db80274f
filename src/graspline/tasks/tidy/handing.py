"""Handover: the thing is held out to a person and let go when it is pulled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from graspline.evidence import Evidence, at_least, at_most, passes
from graspline.execution.requests import Motion, Reply
from graspline.machine.machine import Machine, by_name
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.machine.table import End
from graspline.motion.guards import Tugged
from graspline.motion.joint_moves import hold as still
from graspline.motion.joint_moves import jaw_move
from graspline.perception.beliefs import Belief
from graspline.perception.held import HeldObject
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.tasks.tidy.house import House
from graspline.tasks.tidy.moving import Stopped, around, hold_guard, play, postures, straight, travel, tug
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.robot import BODY

DEFAULT_THRESH_N = 3.5
# Less than this the wrist feels without anybody.
LEAST_THRESH_N = 1.0
# Where a person is given things: the base's place and heading there, and where the hand is from it.
PERSON_BASE = (0.0, -0.2, -np.pi / 2)
_OFFERED_M, _OFFERED_UP_M = (0.62, 0.08), (1.0, 0.95, 0.9, 0.85)
# A pull may go this far off the way to the person; a push is the other way.
_PULL_WITHIN_RAD = 1.3
_TARE_S = 0.3
_PERSIST_S = 0.05
_OPEN_RAD_S = 1.0
_BACK_M = 0.15
# Pan and tilt.
_FACING = (0.0, -0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tared:
    pull: Tugged


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """What was felt of the pull."""

    pulled: Evidence


def stretch(
    last: Reply,
    robot: Robot,
    world: CollisionWorld,
    house: House,
    settings: Tidy,
    things: tuple[Belief, ...],
    held: HeldObject,
) -> Stage[Literal["stretched", "lost", "blocked"]]:
    """Drive to the person and hold the thing out, upright."""
    goals = offering(held, last.command.position)
    reply = yield from travel(
        last, robot, world, around(house, things, held), goals, (hold_guard(held, settings.grasp),), speed=0.7
    )
    if isinstance(reply, Stopped):
        return Outcome("lost" if reply.lost else "blocked", reply.evidence, about=held.name)
    return Outcome("stretched", about=held.name)


def offering(held: HeldObject, start: np.ndarray) -> np.ndarray:
    """(K, nu): postures that hold a thing out to a person, the head looking there."""
    found = postures(held, start, PERSON_BASE, [(*_OFFERED_M, up) for up in _OFFERED_UP_M], each=6)
    found[:, BODY.HEAD] = _FACING
    return found


def tare(
    last: Reply, robot: Robot, settings: Tidy, held: HeldObject, force_thresh: float
) -> Producing[Gives[Literal["tared"], Tared] | Outcome[Literal["lost"]]]:
    """Once the arm is still, weigh what is held and remember what the wrist feels besides."""
    guard = hold_guard(held, settings.grasp)
    reply = yield from play(robot, Motion("tare", still(robot, last.command, _TARE_S), guards=(guard,)))
    if isinstance(reply, Stopped):
        return Outcome("lost", reply.evidence, about=held.name)
    # To the person, whom the base faces; a hand that holds from the top points elsewhere.
    turn = float(reply.readings.joints[2])
    threshold = force_thresh if force_thresh >= 0 else DEFAULT_THRESH_N
    out = np.array([np.cos(turn), np.sin(turn), 0.0])
    pull = tug(reply, out, threshold, within_rad=_PULL_WITHIN_RAD, for_s=_PERSIST_S)
    return Gives("tared", Tared(pull=pull), about=held.name)


def offer(
    last: Reply, robot: Robot, settings: Tidy, held: HeldObject, pull: Tugged
) -> Producing[Gives[Literal["pulled"], Pulled] | Outcome[Literal["not_taken", "lost"]]]:
    """Wait for a pull."""
    guards = (pull, hold_guard(held, settings.grasp))
    reply = yield Motion("offer", still(robot, last.command, settings.handover.wait_s), guards=guards)
    if reply.by is pull:
        return Gives("pulled", Pulled(pulled=reply.evidence), reply.evidence, about=held.name)
    return Outcome("not_taken" if reply.by == "completed" else "lost", reply.evidence, about=held.name)


def let_go(last: Reply, robot: Robot, settings: Tidy, held: HeldObject) -> Stage[Literal["given", "stuck"]]:
    """Open the hand; it must feel nothing then."""
    wide = float(robot.limits.upper[robot.jaw])
    reply = yield Motion("let_go", jaw_move(robot, last.command, wide, speed_rad_s=_OPEN_RAD_S))
    reply = yield Motion("settle", still(robot, reply.command, 0.2))
    evidence = (at_most("stronger_pad_force", max(reply.readings.pad_forces_n()), settings.grasp.lost_n, "N"),)
    return Outcome("given" if passes(evidence) else "stuck", evidence, about=held.name)


def draw_back(
    last: Reply, robot: Robot, settings: Tidy, held: HeldObject, pulled: Evidence
) -> Stage[Literal["back", "stuck"]]:
    """Away from the person's hand; what was pulled out of the fingers is not felt between them any more."""
    way = -_BACK_M * last.readings.tool_rotation[:, 0]
    way[2] = max(way[2], 0.0)
    reply = yield from straight(last, robot, way, name="draw_back", speed=0.6)
    felt = (last if isinstance(reply, Stopped) else reply).readings
    gap = float(robot.jaw_law.gap_m(float(felt.joints[robot.jaw])))
    evidence = (
        *pulled,
        at_most("stronger_pad_force", max(felt.pad_forces_n()), settings.grasp.lost_n, "N"),
        at_least("hand_gap", gap, held.gap_m, "m"),
    )
    return Outcome("back" if passes(evidence) else "stuck", evidence, about=held.name)


def handover(settings: Tidy) -> Machine:
    """The component, with the seed's names at its edges."""
    return Machine(
        name="handover",
        start="stretch",
        states=by_name(stretch, tare, offer, let_go, draw_back),
        table={
            "stretch": {"stretched": "tare", "lost": End("aborted"), "blocked": End("aborted")},
            "tare": {"tared": "offer", "lost": End("aborted")},
            "offer": {"pulled": "let_go", "not_taken": End("aborted"), "lost": End("aborted")},
            "let_go": {"given": "draw_back", "stuck": End("aborted")},
            "draw_back": {"back": End("succeeded"), "stuck": End("aborted")},
        },
        inputs={
            "world": CollisionWorld,
            "house": House,
            "settings": Tidy,
            "things": tuple[Belief, ...],
            "held": HeldObject,
            "force_thresh": float,
        },
        successes=("succeeded",),
    )
