"""The driver of a lane that a person drives: it holds until it is given an order, and plays one after the other."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least, at_most, failures
from graspline.execution.drivers import jog
from graspline.execution.requests import Look, Motion, Reply, solved
from graspline.faults.context import PRESS_N
from graspline.kinematics.reach import TcpConvention, ToolPose
from graspline.motion.guards import TrackingError
from graspline.motion.joint_moves import hold
from graspline.motion.path import Command, Path
from graspline.perception.core.beliefs import Belief
from graspline.robots.robot import Robot
from graspline.scenes.scene import Scene
from graspline.serve.live.commands import (
    ArmCommand,
    CheckReachable,
    CloseRange,
    ConsoleCommand,
    Down,
    Drive,
    GraspClose,
    GraspOpen,
    Home,
    JawCommand,
    Jog,
    KeepDriving,
    MoveJaw,
    MoveToGrab,
    MoveTool,
    OpenRange,
    Pick,
    Preview,
    Refresh,
    Ticket,
    Zero,
)
from graspline.serve.live.driving import Driving, Wish, drive_refusal
from graspline.serve.live.moves import JOG_SPEED, Mover
from graspline.tasks.console import Console, Done, ObjectListed, Play, Refused, Result, listed
from graspline.tasks.stages.rest import settled_jaw
from graspline.tasks.stages.sight import seen_exactly
from graspline.wording import counted

Array = NDArray[np.float64]

# Numbers that went through degrees and back may be off by this.
_ROUNDING_RAD = 1e-6
NO_CONSOLE = "this task has no grasp pipeline; its objects cannot be selected or grasped one by one"


@dataclass(slots=True, eq=False)
class Order:
    """A command on its way, and the caller that waits for it."""

    command: Any
    ticket: Ticket = field(default_factory=Ticket)

    @property
    def name(self) -> str:
        """For people: MoveToGrab is "move to grab"."""
        words = type(self.command).__name__
        return "".join(f" {each.lower()}" if each.isupper() else each for each in words).strip()


class Operator:
    """Gives a lane a driver that takes orders, in the session's thread."""

    def __init__(self, scene: Scene, *, console: Console | None, sees_truth: bool) -> None:
        self._scene, self._robot, self._console = scene, scene.robot, console
        self._sees_truth = sees_truth and console is None
        self._mover, self._driving = Mover(scene), Driving(scene)
        self._believed: tuple[Belief, ...] = ()
        self._objects: tuple[ObjectListed, ...] = ()
        self._order: Order | None = None
        # What a hand at the keys wishes; set while the order is one to drive.
        self._driven: Wish | None = None
        self._leaving = False

    @property
    def activity(self) -> Literal["idle", "jogging", "moving"]:
        """What the arm is doing for the operator."""
        if self._order is None:
            return "idle"
        return "jogging" if isinstance(self._order.command, Jog | Drive) else "moving"

    @property
    def objects(self) -> tuple[ObjectListed, ...]:
        """The objects that commands can name."""
        return self._objects if self._console is None else self._console.objects

    @property
    def believed(self) -> tuple[Belief, ...]:
        """What moves keep clear of, as last seen."""
        return self._believed if self._console is None else self._console.believed

    @property
    def tcp(self) -> TcpConvention:
        """The convention in force."""
        chosen = None if self._console is None else self._console.variables.get("tcp")
        return "between" if chosen == "between" else "fixed_tip"

    # What the session calls

    def take(self, order: Order) -> Result | None:
        """Refuse an order at once, or accept it: then it is answered later, unless it only keeps the arm driving.

        Jogging and driving give way to anything, everything else must be stopped first.
        """
        if isinstance(order.command, KeepDriving):
            if self._driven is not None:
                self._driven.renewed = True
            return Done()
        if self.activity == "moving":
            assert self._order is not None
            return Refused(reason=f"busy: {self._order.name}; stop it first")
        refused = self._refusal(order.command)
        if refused is not None:
            return refused
        if self._order is not None:
            # A jog that was replaced before the arm took it up.
            self._order.ticket.settle(Done())
        self._order = order
        self._driven = Wish(order.command, order.ticket) if isinstance(order.command, Drive) else None
        return None

    def leave(self) -> None:
        """Have the driver brake and return."""
        self._leaving = True

    def drop(self, why: Refused) -> None:
        """The driver is gone: refuse what it was at."""
        order, self._order, self._driven = self._order, None, None
        if order is not None:
            order.ticket.settle(why)

    def forget(self) -> None:
        """The scene was reset."""
        self._believed, self._objects = (), ()
        if self._console is not None:
            self._console.forget()

    # The driver

    def drive(self, first: Reply) -> Generator[Any, Any, Reply]:
        """A driver for the lane, from where it stands; returns the last reply."""
        self._leaving = False
        # Where the task's estimator can be asked at any time, the objects are known from the beginning.
        _, reply = yield from _tracked(self._looked(first), first)
        still = self._still(reply.command)
        while not self._leaving:
            order = self._order
            if order is None:
                if reply.command.moving or not np.array_equal(still.path.end, reply.command.position):
                    still = self._still(reply.command)
                reply = yield still
            elif isinstance(order.command, Jog):
                if not reply.command.moving:
                    _, reply = yield from _tracked(self._looked(reply), reply)
                reply = yield from jog(self._robot, reply, self._wish, speed=JOG_SPEED)
                if self._order is not None and isinstance(self._order.command, Jog):
                    self._order = None
            elif isinstance(order.command, Drive):
                reply = yield from self._driving.follow(reply, self._wished)
                if self._driven is None and self._order is not None and isinstance(self._order.command, Drive):
                    # The arm has come to rest, and nothing new is wanted.
                    self._order = None
            else:
                if reply.command.moving:
                    reply = yield self._still(reply.command)
                result, reply = yield from _tracked(self._play(order.command, reply), reply)
                self._order = None
                order.ticket.settle(result)
        return reply

    def _still(self, command: Command) -> Motion:
        return Motion("hold", hold(self._robot, command, self._robot.dt_s))

    def _wish(self, reply: Reply) -> Array | None:
        """Where the sliders stand; None once the arm is there, or may not go there, or something else is wanted."""
        order = self._order
        if self._leaving or order is None or not isinstance(order.command, Jog):
            return None
        wanted = np.clip(order.command.joints_rad, self._robot.limits.lower, self._robot.limits.upper)
        if order.ticket.settled is None:
            refused = self._mover.jog_refusal(self.believed, reply.command, wanted)
            order.ticket.settle(Done() if refused is None else refused)
            if refused is not None:
                self._order = None
                return None
        there = np.array_equal(wanted, reply.command.position) and not reply.command.moving
        return None if there else wanted

    def _wished(self, now_s: float) -> Wish | None:
        """What a hand at the keys wishes; None once it lets go, or something else is wanted."""
        wish = self._driven
        if wish is None or self._leaving:
            return None
        if wish.over(now_s):
            wish.ticket.settle(Done())
            self._driven = None
            return None
        return wish

    def _play(self, command: ArmCommand | ConsoleCommand, last: Reply) -> Play:
        match command:
            case Home():
                return self._go("home", last, self._keeping_hold(last, self._robot.home))
            case Down():
                assert self._robot.down is not None
                return self._go("down", last, self._keeping_hold(last, self._robot.down))
            case Zero():
                return self._go("zero", last, self._keeping_hold(last, np.zeros(len(self._robot.joints))))
            case MoveTool():
                return self._move_tool(command, last)
            case MoveJaw() | OpenRange() | CloseRange():
                return self._move_jaw(jaw_angle(self._robot, command), last)
            case Refresh() if self._console is None:
                return self._refresh(last)
        assert self._console is not None
        match command:
            case Refresh():
                return self._console.refresh(last)
            case CheckReachable():
                return self._console.check(last)
            case Preview():
                return self._console.preview(last)
            case MoveToGrab():
                return self._console.move(last)
            case Pick():
                return self._console.pick(last, command.place_m)
            case GraspOpen():
                return self._console.open(last)
            case GraspClose():
                return self._console.close(last)
            case _:
                raise TypeError(f"no way to play {command!r}")

    def _refusal(self, command: ArmCommand | ConsoleCommand) -> Refused | None:
        """What can be refused without planning."""
        match command:
            case Jog():
                return _jog_refusal(self._robot, command)
            case Drive():
                return drive_refusal(self._robot, command)
            case KeepDriving():
                return None
            case MoveJaw() | OpenRange() | CloseRange():
                return _jaw_refusal(self._robot, command)
            case MoveTool():
                numbers = (*command.position_m, command.pitch_rad, command.yaw_rad or 0.0)
                if len(command.position_m) != 3 or not all(math.isfinite(each) for each in numbers):
                    return Refused(reason=f"not a pose: {command}", mistaken=True)
                return None
            case Down() if self._robot.down is None:
                return Refused(reason=f"{self._robot.name} has no pose with the gripper straight down; use home")
            case Home() | Down() | Zero():
                return None
            case Refresh() if self._console is None:
                if self._sees_truth:
                    return None
                return Refused(
                    reason="this task detects objects in camera images, which is only possible while it runs"
                )
            case _:
                return Refused(reason=NO_CONSOLE) if self._console is None else None

    # Commands at work

    def _go(self, name: str, last: Reply, target: Array) -> Play:
        believed = yield from self._looked(last)
        found = yield from solved(self._mover.to_joints, believed, last.command, target)
        return (yield from _played(name, found))

    def _keeping_hold(self, last: Reply, target: Array) -> Array:
        """The same with the jaw as it is, if something is in the hand: what is held is not dropped on the way."""
        if min(last.readings.pad_forces_n()) < PRESS_N:
            return target
        jaw = self._robot.jaw
        return np.concatenate([target[:jaw], last.command.position[jaw:]])

    def _move_tool(self, command: MoveTool, last: Reply) -> Play:
        believed = yield from self._looked(last)
        wanted = ToolPose(
            position_m=np.array(command.position_m, float), pitch_rad=command.pitch_rad, yaw_rad=command.yaw_rad
        )
        found = yield from solved(self._mover.to_tool, believed, last.command, wanted, self.tcp)
        return (yield from _played("move_tool", found))

    def _move_jaw(self, angle_rad: float, last: Reply) -> Play:
        measured = yield from settled_jaw(self._robot, "jaw", last, angle_rad)
        gap_m = float(self._robot.jaw_law.gap_m(measured))
        return Done(text=f"jaw at {gap_m * 1000:.1f} mm", data={"jaw_rad": measured, "gap_m": gap_m})

    def _refresh(self, last: Reply) -> Play:
        yield from self._looked(last)
        names = [each.name for each in self._objects]
        return Done(text=counted(len(names), "object"), data={"objects": names})

    def _looked(self, last: Reply) -> Generator[Any, Any, tuple[Belief, ...]]:
        """Look again where that can be done, and say what is believed."""
        if self._console is not None:
            yield from self._console.refresh(last)
        elif self._sees_truth:
            reply = yield Look(None)
            seen = seen_exactly(reply, self._scene.shapes.__getitem__, self._scene.solids)
            self._believed = tuple(seen.values())
            names = self._scene.object_names
            self._objects = tuple(listed(each) for each in self._believed if each.name in names)
        return self.believed


def jaw_angle(robot: Robot, command: JawCommand) -> float:
    """Where a command wants the jaw."""
    match command:
        case OpenRange():
            return command.upper_rad
        case CloseRange():
            return command.lower_rad
        case MoveJaw(full="open"):
            return float(robot.limits.upper[robot.jaw])
        case MoveJaw(full="close"):
            return float(robot.limits.lower[robot.jaw])
        case MoveJaw(gap_m=gap_m) if gap_m is not None:
            return float(robot.jaw_law.angle_rad(gap_m))
        case _:
            assert command.rad is not None
            return command.rad


def _jaw_refusal(robot: Robot, command: JawCommand) -> Refused | None:
    if isinstance(command, MoveJaw):
        named = [each for each in (command.full, command.gap_m, command.rad) if each is not None]
        if len(named) != 1 or command.full not in (None, "open", "close"):
            reason = "a jaw goes fully open or closed, to a gap, or to an angle: exactly one of them"
            return Refused(reason=reason, mistaken=True)
        if command.gap_m is not None:
            widest_m = float(robot.jaw_law.gaps_m[-1])
            return _outside(
                "gap", (at_least("gap", command.gap_m, 0.0, "m"), at_most("gap", command.gap_m, widest_m, "m"))
            )
    lower, upper = float(robot.limits.lower[robot.jaw]), float(robot.limits.upper[robot.jaw])
    angle = jaw_angle(robot, command)
    name = robot.joints[robot.jaw]
    return _outside(
        name,
        (at_least(name, angle, lower - _ROUNDING_RAD, "rad"), at_most(name, angle, upper + _ROUNDING_RAD, "rad")),
    )


def _jog_refusal(robot: Robot, command: Jog) -> Refused | None:
    if len(command.joints_rad) != len(robot.joints):
        reason = f"{robot.name} has {len(robot.joints)} joints, got {len(command.joints_rad)} angles"
        return Refused(reason=reason, mistaken=True)
    lower, upper = robot.limits.lower - _ROUNDING_RAD, robot.limits.upper + _ROUNDING_RAD
    evidence: list[Any] = []
    for index, (name, angle) in enumerate(zip(robot.joints, command.joints_rad, strict=True)):
        evidence += [at_least(name, angle, lower[index], "rad"), at_most(name, angle, upper[index], "rad")]
    return _outside("joints", tuple(evidence))


def _outside(what: str, evidence: Evidence) -> Refused | None:
    """A refusal if anything is outside its range; what is not a number is."""
    broken = failures(evidence)
    if not broken:
        return None
    reason = f"{what} out of range: " + "; ".join(str(each) for each in broken)
    return Refused(reason=reason, evidence=broken, mistaken=True)


def _played(name: str, found: Path | Refused) -> Play:
    """Play what was planned, unless something is in the way after all."""
    if isinstance(found, Refused):
        return found
    ended = yield Motion(name, found, guards=(TrackingError(),))
    if ended.by == "completed":
        return Done(text=f"{name.replace('_', ' ')}: there", data={"joints_rad": ended.readings.joints.tolist()})
    return Refused(reason=f"{name.replace('_', ' ')}: something is in the way", evidence=ended.evidence)


def _tracked(play: Generator[Any, Any, Any], last: Reply) -> Generator[Any, Any, tuple[Any, Reply]]:
    """Pass requests up and replies down; returns what the play returned, and the last reply."""
    answer: Reply | None = None
    while True:
        try:
            request = play.send(answer)
        except StopIteration as stop:
            return stop.value, last
        answer = yield request
        last = answer or last
