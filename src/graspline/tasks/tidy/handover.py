"""Handover: the thing is held out to a person and let go when it is pulled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from graspline.evidence import Evidence, at_least, passes
from graspline.execution.requests import Motion, Reply
from graspline.machine.machine import Machine, by_name
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.machine.table import End
from graspline.motion.guards import Tugged
from graspline.motion.joint_moves import hold as still
from graspline.perception.core.held import HeldObject
from graspline.tasks.tidy.base_motion import (
    Stopped,
    TidyCell,
    ended,
    feels_nothing,
    gap_m,
    hold_guard,
    opened,
    play,
    straight,
    travel,
    tug,
)
from graspline.tasks.tidy.believed_room import House, around
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.postures import postures
from graspline.tasks.tidy.robot import BODY

DEFAULT_THRESH_N = 3.5
# The wrist feels less than this when no person touches the object.
LEAST_THRESH_N = 1.0
# Where a person is given things: the base's place and heading there, and where the hand is from it.
PERSON_BASE = (0.0, -0.2, -np.pi / 2)
_OFFERED_M = [(0.62, 0.08, up) for up in (1.0, 0.95, 0.9, 0.85)]
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
    """The wrist force before the person pulls."""

    pull: Tugged


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """What was felt of the pull."""

    pulled: Evidence


def stretch(
    last: Reply, cell: TidyCell, house: House, held: HeldObject
) -> Stage[Literal["stretched", "lost", "blocked"]]:
    """Drive to the person and hold the thing out, upright."""
    goals = offering(held, last.command.position)
    return ended("stretched", (yield from travel(last, cell, around(house, held), goals, speed=0.7)), held.name)


def offering(held: HeldObject, start: np.ndarray) -> np.ndarray:
    """(K, nu): postures that hold a thing out to a person, the head looking there."""
    found = postures(held, start, PERSON_BASE, _OFFERED_M, each=6)
    found[:, BODY.HEAD] = _FACING
    return found


def tare(
    last: Reply, cell: TidyCell, held: HeldObject
) -> Producing[Gives[Literal["tared"], Tared] | Outcome[Literal["lost"]]]:
    """Once the arm is still, weigh what is held and remember what the wrist feels besides."""
    path = still(cell.robot, last.command, _TARE_S)
    reply = yield from play(cell, Motion("tare", path, guards=(hold_guard(cell, held),)))
    if isinstance(reply, Stopped):
        return Outcome("lost", reply.evidence, about=held.name)
    # Towards the person, which the base faces; a hand that holds from the top points elsewhere.
    turn, thresh = float(reply.readings.joints[2]), cell.settings.handover.force_thresh
    out = np.array([np.cos(turn), np.sin(turn), 0.0])
    threshold = thresh if thresh >= 0 else DEFAULT_THRESH_N
    pull = tug(reply, out, threshold, within_rad=_PULL_WITHIN_RAD, for_s=_PERSIST_S)
    return Gives("tared", Tared(pull=pull), about=held.name)


def offer(
    last: Reply, cell: TidyCell, held: HeldObject, pull: Tugged
) -> Producing[Gives[Literal["pulled"], Pulled] | Outcome[Literal["not_taken", "lost"]]]:
    """Wait for a pull."""
    path = still(cell.robot, last.command, cell.settings.handover.wait_s)
    reply = yield Motion("offer", path, guards=(pull, hold_guard(cell, held)))
    if reply.by is pull:
        return Gives("pulled", Pulled(pulled=reply.evidence), reply.evidence, about=held.name)
    return Outcome("not_taken" if reply.by == "completed" else "lost", reply.evidence, about=held.name)


def let_go(last: Reply, cell: TidyCell, held: HeldObject) -> Stage[Literal["given", "stuck"]]:
    """Open the hand; it must feel nothing then."""
    wide = float(cell.robot.limits.upper[cell.robot.jaw])
    evidence = yield from opened(last, cell, "let_go", wide, speed_rad_s=_OPEN_RAD_S, settle_s=0.2)
    return Outcome("given" if passes(evidence) else "stuck", evidence, about=held.name)


def retract(last: Reply, cell: TidyCell, held: HeldObject, pulled: Evidence) -> Stage[Literal["back", "stuck"]]:
    """Away from the person's hand; what was pulled out of the fingers is not felt between them any more."""
    way = -_BACK_M * last.readings.tool_rotation[:, 0]
    way[2] = max(way[2], 0.0)
    reply = yield from straight(last, cell, way, name="retract", speed=0.6)
    felt = last if isinstance(reply, Stopped) else reply
    evidence = (*pulled, feels_nothing(felt, cell), at_least("hand_gap", gap_m(felt, cell), held.gap_m, "m"))
    return Outcome("back" if passes(evidence) else "stuck", evidence, about=held.name)


def handover(settings: Tidy) -> Machine:
    """The component, by the names it is known by."""
    aborted = End("aborted")
    return Machine(
        name="handover",
        start="stretch",
        states=by_name(stretch, tare, offer, let_go, retract),
        table={
            "stretch": {"stretched": "tare", "lost": aborted, "blocked": aborted},
            "tare": {"tared": "offer", "lost": aborted},
            "offer": {"pulled": "let_go", "not_taken": aborted, "lost": aborted},
            "let_go": {"given": "retract", "stuck": aborted},
            "retract": {"back": End("succeeded"), "stuck": aborted},
        },
        inputs={"cell": TidyCell, "house": House, "held": HeldObject},
        successes=("succeeded",),
    )
