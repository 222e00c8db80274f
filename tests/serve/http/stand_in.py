"""A session without a simulation: it answers every command at once and remembers it."""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import Any, cast

import numpy as np

from graspline.evidence import at_least, at_most
from graspline.scenes.variation import Variation
from graspline.serve.live import commands
from graspline.serve.live.commands import Command, Ticket
from graspline.serve.live.lease import Lease
from graspline.serve.live.server_context import Bench
from graspline.serve.live.session import Session
from graspline.serve.live.snapshot import HistoryEntry, SessionSnapshot
from graspline.spatial.poses import Pose
from graspline.tasks.console import Done, ObjectListed, Refused, Result

# A deadline is for what would never happen, on a machine with eight times as much to do as it can.
PATIENCE_S = 300.0
JPEG = b"\xff\xd8 a picture \xff\xd9"
OBJECT_AWARE = (
    commands.CheckReachable,
    commands.Preview,
    commands.MoveToGrab,
    commands.Pick,
    commands.GraspOpen,
    commands.GraspClose,
)
NAMES = ("blue_2x4", "red_2x2")


def first_snapshot() -> SessionSnapshot:
    pose = Pose(position_m=np.array([0.2, 0.0, float("nan")]), rotation=np.eye(3))
    return SessionSnapshot(
        number=0,
        task="grab",
        seed=7,
        robot="so101",
        time_s=0.0,
        behind_s=0.0,
        mode="idle",
        doing="",
        state="",
        joints_rad=np.zeros(6),
        command_rad=np.zeros(6),
        tcp=pose,
        gripper=dataclasses.replace(pose, position_m=np.array([0.1, 0.0, 0.2])),
        tool_mid_m=np.zeros(3),
        jaw_gap_m=0.02,
        jaw_rad=0.1,
        pad_forces_n=(0.0, 0.0),
        qpos=np.zeros(20),
        variation=Variation(),
        variables={"tcp_clearance_m": 0.001, "cross_axis": False, "tcp": "fixed_tip"},
        objects=tuple(
            ObjectListed(
                name=name,
                position_m=np.array([0.2, 0.0, 0.01]),
                size_m=np.array([0.03, 0.015, 0.01]),
                yaw_rad=0.3,
                shape="box",
                time_s=0.0,
            )
            for name in NAMES
        ),
    )


class StandIn:
    """What the service needs of a session. `slow` leaves its tickets open; far objects are refused."""

    cameras = ("front", "wrist")

    def __init__(self) -> None:
        self.lease = Lease(time.monotonic)
        self.snapshot = first_snapshot()
        self.commands: list[Command] = []
        self.open: list[Ticket] = []
        self.slow = False
        self.far = False
        # The snapshots of which a picture was drawn.
        self.drawn = list[int]()
        self.padding = ""
        self._changed = threading.Condition()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _tick(self) -> None:
        while not self._over.wait(1 / 60):
            self.show(time_s=self.snapshot.time_s + 1 / 60, operator=self.lease.holder, message=self.padding)

    def show(self, **changes: Any) -> None:
        with self._changed:
            self.snapshot = dataclasses.replace(self.snapshot, number=self.snapshot.number + 1, **changes)
            self._changed.notify_all()

    def end_state(self, state: str, outcome: str, then: str) -> None:
        evidence = (at_least("gap", 0.02, 0.01, "m"),)
        entry = HistoryEntry(t_s=self.snapshot.time_s, state=state, outcome=outcome, then=then, evidence=evidence)
        self.show(history=(*self.snapshot.history, entry)[-200:], evidence=evidence)

    def wait(self, number: int, timeout_s: float) -> SessionSnapshot:
        with self._changed:
            self._changed.wait_for(lambda: self.snapshot.number > number, timeout_s)
            return self.snapshot

    def submit(self, command: Command) -> Ticket:
        self.commands.append(command)
        ticket = Ticket()
        if self.slow:
            self.open.append(ticket)
        else:
            settle(ticket, self._result(command))
        return ticket

    def stop(self) -> Ticket:
        self.commands.append(cast(Command, "stop"))
        for each in self.open:
            settle(each, Refused(reason="stopped"))
        ticket = Ticket()
        settle(ticket, Done(text="holding", data={"took_s": 0.1}))
        return ticket

    def picture(
        self, camera: str, width: int, height: int, *, newer_than: int = -1, timeout_s: float = 2.0
    ) -> tuple[int, bytes]:
        # Ten pictures of sixty snapshots a second.
        if self.wait(newer_than + 5, timeout_s).number < newer_than + 6:
            raise TimeoutError(f"no picture within {timeout_s} s")
        self.drawn.append(self.snapshot.number)
        return self.drawn[-1], JPEG

    def _result(self, command: Command) -> Result:
        if isinstance(command, commands.Select):
            if command.name not in NAMES:
                return Refused(reason=f"no object {command.name!r} is seen; known: {', '.join(NAMES)}")
            self.show(selected=command.name)
        if isinstance(command, commands.SetVariables):
            self.show(variables={**self.snapshot.variables, **command.values})
        if isinstance(command, OBJECT_AWARE) and not self.snapshot.selected:
            return Refused(reason="no object is selected")
        if isinstance(command, OBJECT_AWARE) and self.far:
            return Refused(
                reason="too far",
                evidence=(at_most("height", 0.01, 0.1, "m"), at_most("radius", 0.4, 0.31, "m")),
                data={"check": "workspace", "stage": "approach", "nearest": {"position_m": np.array([0.3, 0, 0])}},
            )
        return Done(text=type(command).__name__, data={"gap_m": 0.03, "not_a_number": float("nan")})


def settle(ticket: Ticket, result: Result) -> None:
    ticket.settle(result)
    ticket.deliver()


def bench_of(session: StandIn, **more: Any) -> Bench:
    return Bench(session=lambda: cast(Session, session), **more)
