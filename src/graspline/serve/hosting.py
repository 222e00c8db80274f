"""One session with its two front doors, the page and the HTTP interface, on one guarded address."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from graspline.errors import GrasplineError, nearest
from graspline.faults.catalogue import fault_kinds
from graspline.machine.machine import Machine
from graspline.parameters import Parameters
from graspline.serve.archive import Archive
from graspline.serve.http.access import Door
from graspline.serve.http.app import guarded_app
from graspline.serve.http.server import serve
from graspline.serve.http.viser_front import open_viser
from graspline.serve.live.commands import Refresh, ReplayEpisode
from graspline.serve.live.server_context import Bench, console_for, first_seed
from graspline.serve.live.session import Session
from graspline.serve.panel.overlay import with_overlay
from graspline.serve.panel.panel import Panel
from graspline.tasks.catalogue import TASKS, find_task, listed
from graspline.tasks.console import Done, Refused, Result
from graspline.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenAddress:
    """Where to listen, and how else that is called."""

    host: str
    port: int
    addresses: frozenset[str]


@dataclass(frozen=True, slots=True)
class Hosted:
    """What is running; `address` opens the page."""

    address: str
    panel: Panel
    house: SessionHost


class SessionHost:
    """The session of now; another task means another session."""

    def __init__(self, task: Task[Any], parameters: Parameters, seed: int, archive: Archive) -> None:
        self._archive, self._lock = archive, threading.Lock()
        self._task, self._parameters = task, parameters
        self.session = self._begin(task, parameters, seed)

    @property
    def machine(self) -> Machine:
        """The task's machine."""
        return self._task.machine(self._parameters)

    @property
    def tasks(self) -> Mapping[str, str]:
        """What the robot of this scene can do."""
        robot = self.session.scene.robot.name
        others = {each.name: each.summary for each in listed() if each.robot == robot}
        return {**others, self._task.name: self._task.summary}

    def episodes(self) -> Mapping[str, Callable[[], ReplayEpisode]]:
        """Recorded episodes of the task, by name."""
        return self._archive.known(self._task.name)

    def change_task(self, name: str) -> Result:
        """Close the session, the arm braking, and open one of another task; the operator stays the operator."""
        # No `module:NAME` here: a client of the server decides nothing about what is imported.
        if name not in TASKS and name != self._task.name:
            return Refused(reason=f"unknown task {name!r}; {nearest(name, TASKS)}")
        with self._lock:
            before, driver = self.session, self.session.lease.holder
            try:
                task = self._task if name == self._task.name else find_task(name)
                parameters = self._parameters if task is self._task else task.parameters()
                session = self._begin(task, parameters, first_seed(task, parameters))
            except GrasplineError as error:
                return Refused(reason=str(error))
            if driver:
                session.lease.take(driver)
            self._task, self._parameters, self.session = task, parameters, session
            before.close()
        return Done(text=f"{name} with seed {session.snapshot.seed}")

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        self.session.close()

    def _begin(self, task: Task[Any], parameters: Parameters, seed: int) -> Session:
        console = console_for(task, parameters, seed)
        # Where nothing is written, the last episodes are remembered all the same, so that they can be replayed.
        remembered = "" if self._archive.place else "memory"
        place = self._archive.place_for(task.name)
        session = Session(
            task, parameters, seed, console=console, on_episode=self._keep, place=place, recording=remembered
        )
        session.start()
        if console is not None:
            session.submit(Refresh())
        return session

    def _keep(self, episode: Any) -> str:
        return self._archive.keep(episode)


@contextmanager
def hosted(
    task: Task[Any],
    parameters: Parameters,
    seed: int,
    archive: Archive,
    way: ListenAddress,
    say: Callable[[str], object] = lambda step: None,
) -> Iterator[Hosted]:
    """Everything up and answering; closed in the end, the arm first. `say` is called with each step as it begins."""
    with ExitStack() as stack:
        front = open_viser()
        stack.callback(front.close)
        front.files["/"] = with_overlay(front.files["/"])
        say("starting the simulation")
        house = SessionHost(task, parameters, seed, archive)
        stack.callback(house.close)
        say("preparing the page")
        bench = Bench(
            session=lambda: house.session,
            tasks=house.tasks,
            change_task=house.change_task,
            faults={name: kind.description for name, kind in fault_kinds().items()},
            episodes=house.episodes,
            recording=archive.place,
        )
        door = Door(addresses=way.addresses)
        panel = Panel(front.server, bench, lambda: house.machine)
        served = stack.enter_context(serve(guarded_app(bench, door, front=front), way.host, way.port))
        panel.start()
        stack.callback(panel.close)
        # Pages take their time to close; the arm does not wait for them.
        stack.callback(lambda: house.session.stop())
        yield Hosted(f"{served.address}/?token={door.token}", panel, house)
