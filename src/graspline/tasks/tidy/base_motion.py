"""The robot in its room: what stays the same through an episode, how it gets about, and what ends that early."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, Measurement, at_least, at_most
from graspline.execution.requests import Motion, Reply, Request, solved
from graspline.grasping.whole_body_reach import Surroundings, go, straight_path
from graspline.machine.outcome import Outcome
from graspline.motion.guards import Guard, HoldLost, TrackingError, Tugged
from graspline.motion.joint_moves import brake, jaw_move
from graspline.motion.joint_moves import hold as still
from graspline.motion.waypoints import through
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.spatial.poses import Pose
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.postures import short_way
from graspline.tasks.tidy.robot import BODY
from graspline.tasks.tidy.sight import HeadEye

Array = NDArray[np.float64]

BLOCKED = TrackingError(error_rad=0.12)
# So long before it was stopped, nothing was in its way.
_BACK_S = 1.0
# What was hidden and is this near to where the hand was may have been touched, and moved since.
_NEAR_M = 0.02


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TidyCell:
    """What stays the same through an episode: the robot, what it must not touch, its eye, and the settings."""

    robot: Robot
    world: CollisionWorld
    eye: HeadEye
    settings: Tidy


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """Why a move did not get to its end."""

    why: str
    evidence: Evidence = ()
    by: Guard | None = None

    @property
    def lost(self) -> bool:
        """Whether the hold was lost."""
        return isinstance(self.by, HoldLost)


def travel(
    last: Reply, cell: TidyCell, among: Surroundings, goals: Array, *, speed: float = 1.0
) -> Generator[Request, Reply, Reply | Stopped]:
    """Go to any of the goals (K, nu) around everything, the base turned the short way, as long as what is held is."""
    start, goals = last.command.position, goals.copy()
    goals[:, 2] = short_way(start[2], goals[:, 2])
    path = yield from solved(go, cell.robot, cell.world, among, start, goals, round(1000 * last.time_s), speed)
    if isinstance(path, str):
        return Stopped(why=path, evidence=(at_least("ways_found", 0, 1),))
    holding = () if among.held is None else (hold_guard(cell, among.held),)
    return (yield from play(cell, Motion("travel", path, guards=(BLOCKED, *holding))))


def straight(
    last: Reply, cell: TidyCell, way_m: Array, *guards: Guard, name: str, speed: float, gives_way: bool = True
) -> Generator[Request, Reply, Reply | Stopped]:
    """Move the hand straight by base and lift."""
    path = straight_path(cell.robot, last.command.position, way_m, speed=speed)
    return (yield from play(cell, Motion(name, path, guards=(BLOCKED, *guards)), gives_way=gives_way))


def play(cell: TidyCell, motion: Motion, *, gives_way: bool = True) -> Generator[Request, Reply, Reply | Stopped]:
    """A motion to its end; at rest where a guard ended it, or some way back if something was in the way."""
    reply = yield motion
    if reply.by == "completed":
        return reply
    by, stopped = None if isinstance(reply.by, str) else reply.by, reply
    if reply.command.moving:
        stopped = yield Motion("brake", brake(cell.robot, reply.command))
    if gives_way and isinstance(by, TrackingError):
        rows = motion.path.positions
        here = int(np.linalg.norm(rows - reply.command.position, axis=1).argmin())
        back = rows[max(0, here - round(_BACK_S / motion.path.dt_s))]
        if not np.array_equal(back, stopped.command.position):
            path = through(cell.robot, np.stack([stopped.command.position, back]), speed=0.3)
            yield Motion("give_way", path)
    what = "timed out" if by is None else type(by).__name__
    return Stopped(why=f"{motion.name} ended by {what}", evidence=reply.evidence, by=by)


def ended(good: Any, reply: Reply | Stopped, about: str = "") -> Outcome[Any]:
    """How a move ended: well, or what it carried was lost, or it was blocked."""
    if isinstance(reply, Stopped):
        return Outcome("lost" if reply.lost else "blocked", reply.evidence, about=about)
    return Outcome(good, about=about)


def opened(
    last: Reply, cell: TidyCell, name: str, jaw_rad: float, *, speed_rad_s: float, settle_s: float
) -> Generator[Request, Reply, Evidence]:
    """Open the hand, and wait: what it feels then."""
    reply = yield Motion(name, jaw_move(cell.robot, last.command, jaw_rad, speed_rad_s=speed_rad_s))
    reply = yield Motion("settle", still(cell.robot, reply.command, settle_s))
    return (feels_nothing(reply, cell),)


def hold_guard(cell: TidyCell, held: HeldObject) -> HoldLost:
    """Ends a motion once nothing as wide is held any more."""
    return HoldLost(least_jaw_rad=held.least_jaw_rad, force_n=cell.settings.grasp.lost_n, for_s=0.05)


def both_pads(reply: Reply, cell: TidyCell) -> Measurement:
    """The smaller pad force, which shows that both pads touch."""
    return at_least("weaker_pad_force", min(reply.readings.pad_forces_n()), cell.settings.grasp.lost_n, "N")


def feels_nothing(reply: Reply, cell: TidyCell) -> Measurement:
    """The larger pad force, which shows that no pad touches."""
    return at_most("stronger_pad_force", max(reply.readings.pad_forces_n()), cell.settings.grasp.lost_n, "N")


def still_held(reply: Reply, cell: TidyCell, held: HeldObject) -> Evidence:
    """What proves that a thing is in the hand."""
    jaw_rad = float(reply.readings.joints[cell.robot.jaw])
    return (both_pads(reply, cell), at_least("jaw_angle", jaw_rad, held.least_jaw_rad, "rad"))


def gap_m(reply: Reply, cell: TidyCell) -> float:
    """How wide the hand is."""
    return float(cell.robot.jaw_law.gap_m(float(reply.readings.joints[cell.robot.jaw])))


def near_hand(cell: TidyCell, hidden: tuple[Belief, ...], swept: Array) -> Measurement:
    """Whether robot or hand came so near to things that were not seen before that they may have touched them.

    By where they are seen now, and by joints on the way, (T, nu).
    """
    cell.world.place(hidden, clearance_m=_NEAR_M)
    near = bool(hidden) and cell.world.first_touching(cell.world.between(swept)) is not None
    return at_most("hidden_things_near_hand", int(near), 0)


def tool_at(last: Reply) -> Pose:
    """The tool's pose by the readings."""
    return Pose(position_m=last.readings.tool_position_m, rotation=last.readings.tool_rotation)


def tug(reply: Reply, toward: Array, force_n: float, *, within_rad: float, for_s: float) -> Tugged:
    """Fires when something tugs at the hand that way, in O, harder than now; weighed while the robot is still."""
    mass = felt_kg(reply)
    rest = mass * reply.readings["wrist_acceleration"] - reply.readings["wrist_force"]
    _, rotation = BODY.wrist_force_frame(reply.readings.joints)
    (x, y, z), (rest_x, rest_y, rest_z) = (rotation.T @ toward).tolist(), rest.tolist()
    return Tugged(
        force_n=force_n,
        toward=(x, y, z),
        within_rad=within_rad,
        mass_kg=mass,
        bias_n=(rest_x, rest_y, rest_z),
        for_s=for_s,
    )


def felt_kg(reply: Reply) -> float:
    """What hangs on the wrist, by force and acceleration there."""
    force, acceleration = reply.readings["wrist_force"], reply.readings["wrist_acceleration"]
    return float(force @ acceleration / (acceleration @ acceleration))
