"""RobotSetup: before the table, the arm out of the camera's view, hand open, eyes on the table."""

from __future__ import annotations

from typing import Literal

import numpy as np

from graspline.evidence import Measurement, at_least, at_most, passes
from graspline.execution.requests import Motion, Reply
from graspline.machine.machine import Machine, by_name
from graspline.machine.outcome import Outcome, Stage
from graspline.machine.table import End, Retry
from graspline.motion.joint_moves import jaw_move
from graspline.spatial.rotations import wrap
from graspline.tasks.tidy.base_motion import Stopped, TidyCell, gap_m, travel
from graspline.tasks.tidy.believed_room import House, around
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.postures import TABLE_AWAY_M, looking
from graspline.tasks.tidy.robot import BODY

_OPEN_RAD_S = 0.9
# Where the robot must be for the table to be seen: by its odometry, and by its joints.
_OFF_M, _OFF_RAD = 0.02, 0.05
# The hand is open if it is this much of how wide it is at home.
_OPEN_SHARE = 0.8


def open_hand(last: Reply, cell: TidyCell) -> Stage[Literal["open"]]:
    """Open the hand."""
    wide = float(cell.robot.home[cell.robot.jaw])
    reply = yield Motion("open", jaw_move(cell.robot, last.command, wide, speed_rad_s=_OPEN_RAD_S))
    return Outcome("open", (_open(reply, cell),))


def _open(reply: Reply, cell: TidyCell) -> Measurement:
    """How wide the hand is, against how wide it must be."""
    wide = float(cell.robot.jaw_law.gap_m(float(cell.robot.home[cell.robot.jaw])))
    return at_least("hand_gap", gap_m(reply, cell), _OPEN_SHARE * wide, "m")


def face_table(last: Reply, cell: TidyCell, house: House) -> Stage[Literal["facing", "blocked"]]:
    """Drive to where the whole table is seen."""
    goal = looking(cell.robot, house.table, TABLE_AWAY_M, house.table.levels[0].position_m[2])
    goal[cell.robot.jaw] = last.command.position[cell.robot.jaw]
    reply = yield from travel(last, cell, around(house, things=()), goal[None])
    if isinstance(reply, Stopped):
        return Outcome("blocked", reply.evidence)
    off = reply.readings.joints - goal
    # The base was turned the short way, which may end whole turns from the goal.
    off[2] = wrap(off[2])
    off = np.abs(off)
    evidence = (
        at_most("base_off", float(np.hypot(off[0], off[1])), _OFF_M, "m"),
        at_most("heading_off", float(off[2]), _OFF_RAD, "rad"),
        at_most("head_off", float(off[BODY.HEAD].max()), _OFF_RAD, "rad"),
        at_most("arm_off", float(off[BODY.ARM].max()), _OFF_RAD, "rad"),
        _open(reply, cell),
    )
    return Outcome("facing" if passes(evidence) else "blocked", evidence)


def robot_setup(settings: Tidy) -> Machine:
    """The component, by the names it is known by."""
    blocked = Retry(to="face_table", budget="ways", otherwise=End("setup_failed"))
    return Machine(
        name="robot_setup",
        start="open_hand",
        states=by_name(open_hand, face_table),
        table={
            "open_hand": {"open": "face_table"},
            "face_table": {"facing": End("setup_succeeded"), "blocked": blocked},
        },
        inputs={"cell": TidyCell, "house": House},
        budgets={"ways": settings.retries.ways},
        successes=("setup_succeeded",),
    )
