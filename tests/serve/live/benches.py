"""Conductors without threads, a console made by hand, and small tasks, for the tests of this folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

import numpy as np

from graspline.execution.requests import Motion, Reply, Solve
from graspline.grasping.commanded_grasp_values import GrabVariables
from graspline.machine.machine import Machine
from graspline.machine.table import End
from graspline.motion.joint_moves import joint_move
from graspline.perception.core.beliefs import Belief
from graspline.robots.so101 import SO101
from graspline.serve.live.commands import Command
from graspline.serve.live.lane_controller import Conductor
from graspline.serve.live.operator import Order
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.tasks.console import Done, ObjectListed, Plain, Play, PostObject, Refused, Result
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube
from graspline.tasks.task import Task

PARAMETERS = LiftCube()
AWAY = SO101.home + np.array([-0.9, -0.3, -0.2, 0.1, 0.5, 0.6])


class Wall:
    """A clock that moves only when something sleeps or `now_s` is set."""

    def __init__(self) -> None:
        self.now_s, self.slept_s = 50.0, 0.0

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now_s += seconds
        self.slept_s += seconds


class Inline:
    """Computes at once; `given_up` lets the next things that are waited for be given up."""

    def __init__(self) -> None:
        self.given_up = False
        self.done: list[Callable[..., Any]] = []

    def begin(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        self.done.append(function)
        work: Future[Any] = Future()
        try:
            work.set_result(function(*arguments))
        except Exception as error:
            work.set_exception(error)
        return work

    def wait(self, work: Future[Any]) -> bool:
        return not self.given_up


class Bench:
    """A conductor, ticked by hand."""

    def __init__(
        self, task: Task[Any] = LIFT_CUBE, parameters: Any = PARAMETERS, seed: int = 3, **options: Any
    ) -> None:
        self.background = Inline()
        self.conductor = Conductor(task, parameters, seed, background=self.background, **options)
        self.snapshots = 0

    @property
    def snapshot(self) -> SessionSnapshot:
        self.snapshots += 1
        return self.conductor.snapshot(self.snapshots, 0.0, "")

    def tick(self, count: int = 1) -> Bench:
        for _ in range(count):
            self.conductor.tick()
        return self

    def give(self, command: Command) -> Order:
        order = Order(command)
        self.conductor.order(order)
        return order

    def until(self, reached: Callable[[SessionSnapshot], bool], most: int = 3000) -> SessionSnapshot:
        """Tick until a snapshot shows something."""
        for _ in range(most):
            snapshot = self.tick().snapshot
            if reached(snapshot):
                return snapshot
        raise AssertionError(f"not within {most} ticks: {self.snapshot.as_dict()}")

    def do(self, command: Command, most: int = 3000) -> Result:
        """Give a command and tick until it has ended."""
        order = self.give(command)
        for _ in range(most):
            if order.ticket.settled is not None:
                return order.ticket.settled
            self.tick()
        raise AssertionError(f"{order.name} has not ended within {most} ticks")

    def done(self, command: Command) -> Done:
        result = self.do(command)
        assert isinstance(result, Done), result
        return result

    def refused(self, command: Command) -> Refused:
        result = self.do(command)
        assert isinstance(result, Refused), result
        return result


def task_of(state: Callable[..., Any], **more: Any) -> Task[Any]:
    """A task like `lift-cube` of one state, which ends `done`."""

    def machine(parameters: LiftCube) -> Machine:
        return Machine(name="one", start="only", states={"only": state}, table={"only": {"done": End("success")}})

    return dataclasses.replace(LIFT_CUBE, machine=machine, **more)


class PlainConsole:
    """A console on which everything works at once."""

    def __init__(self) -> None:
        self.selected = ""
        self.variables: Mapping[str, Plain] = {"tcp": "fixed_tip"}
        self.variables_model = GrabVariables
        self.objects: tuple[ObjectListed, ...] = ()
        self.believed: tuple[Belief, ...] = ()
        self.calls: list[str] = []

    def forget(self) -> None:
        self.calls.append("forget")
        self.selected = ""

    def age(self, now_s: float) -> None:
        pass

    def post(self, posted: PostObject) -> Result:
        return Done(text=posted.name)

    def withdraw(self, name: str | None) -> Result:
        return Done()

    def select(self, name: str) -> Result:
        self.selected = name
        return Done(text=f"{name} selected")

    def set_variables(self, values: Mapping[str, Plain]) -> Result:
        self.variables = {**self.variables, **values}
        return Done()

    def refresh(self, last: Reply) -> Play:
        return self._solve("refresh")

    def check(self, last: Reply) -> Play:
        return self._solve("check")

    def preview(self, last: Reply) -> Play:
        return self._solve("preview")

    def move(self, last: Reply) -> Play:
        self.calls.append("move")
        ended = yield Motion("grab", joint_move(SO101, last.command, AWAY))
        return Done(text="there", data={"by": ended.by})

    def pick(self, last: Reply, place_m: tuple[float, float] | None) -> Play:
        self.calls.append(f"pick {place_m}")
        return self.move(last)

    def open(self, last: Reply) -> Play:
        return self._solve("open")

    def close(self, last: Reply) -> Play:
        raise ZeroDivisionError("a bug on the console")
        yield

    def _solve(self, name: str) -> Play:
        reply = yield Solve(len, (name,))
        self.calls.append(name)
        return Done(text=name, data={"letters": reply.value})
