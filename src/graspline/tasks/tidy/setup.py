"""RobotSetup: before the table, the arm out of the camera's view, hand open, eyes on the table."""

from __future__ import annotations

from typing import Literal

from graspline.execution.requests import Motion, Reply
from graspline.machine.machine import Machine
from graspline.machine.outcome import Outcome, Stage
from graspline.machine.table import End, Retry
from graspline.motion.joint_moves import jaw_move
from graspline.planning.whole_body import WholeBodyWorld
from graspline.robots.robot import Robot
from graspline.tasks.tidy.house import House
from graspline.tasks.tidy.moving import TABLE_AWAY_M, Stopped, around, looking, travel
from graspline.tasks.tidy.parameters import Tidy

_OPEN_RAD_S = 0.9


def open_hand(last: Reply, robot: Robot) -> Stage[Literal["open"]]:
    wide = float(robot.home[robot.jaw])
    yield Motion("open", jaw_move(robot, last.command, wide, speed_rad_s=_OPEN_RAD_S))
    return Outcome("open")


def face_table(last: Reply, robot: Robot, world: WholeBodyWorld, house: House) -> Stage[Literal["facing", "blocked"]]:
    """Drive to where the whole table is seen."""
    goal = looking(robot, house.table, TABLE_AWAY_M, house.table.levels[0].position_m[2])
    goal[robot.jaw] = last.command.position[robot.jaw]
    reply = yield from travel(last, robot, world, around(house, ()), goal[None])
    if isinstance(reply, Stopped):
        return Outcome("blocked", reply.evidence)
    return Outcome("facing")


def robot_setup(settings: Tidy) -> Machine:
    """The component, with the seed's name at its edge."""
    return Machine(
        name="robot_setup",
        start="open_hand",
        states={"open_hand": open_hand, "face_table": face_table},
        table={
            "open_hand": {"open": "face_table"},
            "face_table": {
                "facing": End("setup_succeeded"),
                "blocked": Retry(to="face_table", budget="ways", otherwise=End("setup_failed")),
            },
        },
        inputs={"world": WholeBodyWorld, "house": House},
        budgets={"ways": settings.retries.ways},
        successes=("setup_succeeded",),
    )
