"""A session: one lane in real time, in a thread of its own."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self

from graspline.choices import ASK_S
from graspline.episodes.camera_views import View
from graspline.episodes.episode import Episode
from graspline.errors import GrasplineError
from graspline.parameters import Parameters
from graspline.scenes.scene import Scene
from graspline.serve.live.commands import Command, Ticket, refused
from graspline.serve.live.lane_controller import STOPPED, Conductor
from graspline.serve.live.lease import Lease
from graspline.serve.live.operator import Order
from graspline.serve.live.pace import Pacer, now_s
from graspline.serve.live.pictures import Pictures
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.serve.live.teleop import RecordingPlace
from graspline.tasks.console import Console
from graspline.tasks.task import Task

_LOG = logging.getLogger(__name__)
# While the clock waits for planning, Stop is looked for and a snapshot made this often.
_GLANCE_S = 0.01
# Commands that wait for their turn; a front door that sends more than this between two ticks has lost its mind.
_MOST_WAITING = 256
# A lane that is closed comes to rest within this many ticks.
_PARTING_TICKS = 120
_CLOSED = "the session is closed"


class Session:
    """One task's scene, its robot and what drives it; commands in, immutable snapshots out.

    Everything public may be called from any thread. `on_episode` gets the episodes that are recorded, in a thread of
    its own, so that writing them slows nothing down; what it returns is shown to the users. `place` is where they go.
    """

    def __init__(
        self,
        task: Task[Any],
        parameters: Parameters,
        seed: int,
        *,
        pace: float = 1.0,
        console: Console | None = None,
        on_episode: Callable[[Episode], str | None] | None = None,
        place: RecordingPlace | None = None,
        ask_timeout_s: float = ASK_S,
        picture_sizes: tuple[tuple[int, int], ...] = (),
        recording: str = "",
        make_pacer: Callable[[float, float], Pacer] = Pacer,
    ) -> None:
        """The scene of a seed, not yet in motion; raises `InputError` if it cannot be sampled.

        A question is answered by its default after `ask_timeout_s` of simulated time. Pictures of `picture_sizes`
        (width, height) are ready when the session starts; the first of any other size makes the clock wait.
        `recording` is the place that episodes are recorded into from the beginning, if there is one. `make_pacer`
        gets the tick in seconds and `pace`; tests give a pacer with a clock of their own.
        """
        # What the variables of the task's console may be; None without one.
        self.variables_model = None if console is None else console.variables_model
        self.lease = Lease(now_s)
        self._background = _Labour(self._glance)
        self._conductor = Conductor(
            task,
            parameters,
            seed,
            background=self._background,
            console=console,
            hand_over=None if on_episode is None else self._hand_over,
            place=place,
            ask_timeout_s=ask_timeout_s,
            recording=recording,
        )
        self._on_episode = on_episode
        self._pacer = make_pacer(self._conductor.dt_s, pace)
        self._changed = threading.Condition()
        self._orders: deque[Order] = deque()
        self._stops: list[Ticket] = []
        # Of commands that were taken up and have not been answered.
        self._open: list[Ticket] = []
        self._closing = False
        # Why nothing is done any more; empty while the session lives.
        self._dead = ""
        self._snapshot = self._conductor.snapshot(0, 0.0, "")
        self._scribe = ThreadPoolExecutor(1, "graspline-scribe")
        self._notes: deque[str] = deque(maxlen=8)
        self._pictures = Pictures(self.scene, lambda: self._snapshot, sizes=picture_sizes)
        self._thread = threading.Thread(target=self._run, name="graspline-session", daemon=True)

    @property
    def scene(self) -> Scene:
        """The compiled scene, which is never changed."""
        return self._conductor.scene

    @property
    def cameras(self) -> tuple[str, ...]:
        """The names of the cameras."""
        return self.scene.cameras

    def start(self) -> None:
        """Start the simulation and the rendering threads."""
        self._pictures.start()
        self._thread.start()

    def close(self) -> None:
        """The arm brakes, what waits is refused, all threads end."""
        with self._changed:
            self._closing = True
        if self._thread.is_alive():
            self._thread.join()
        self._refuse_all(_CLOSED)
        self._pictures.close()
        self._scribe.shutdown()
        self._background.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    @property
    def snapshot(self) -> SessionSnapshot:
        """The newest; never blocks."""
        return self._snapshot

    def wait(self, number: int, timeout_s: float) -> SessionSnapshot:
        """The newest snapshot, as soon as it is newer than this number; after the timeout whatever is the newest."""
        with self._changed:
            self._changed.wait_for(lambda: self._snapshot.number > number or bool(self._dead), timeout_s)
        return self._snapshot

    def submit(self, command: Command) -> Ticket:
        """Give a command; it is taken up on the next tick."""
        order = Order(command)
        with self._changed:
            refusal = self._dead or (_CLOSED if self._closing else "")
            if not refusal and len(self._orders) >= _MOST_WAITING:
                refusal = f"{_MOST_WAITING} commands are waiting already"
            if not refusal:
                self._orders.append(order)
        return refused(order.ticket, refusal) if refusal else order.ticket

    def stop(self) -> Ticket:
        """Brake and hold, before anything else; commands given earlier and not yet begun are refused."""
        ticket = Ticket()
        with self._changed:
            refusal = self._dead or (_CLOSED if self._closing else "")
            waiting = list(self._orders)
            self._orders.clear()
            if not refusal:
                self._stops.append(ticket)
        for order in waiting:
            refused(order.ticket, STOPPED.reason)
        return refused(ticket, refusal) if refusal else ticket

    def picture(
        self, camera: str, width: int, height: int, *, newer_than: int = -1, timeout_s: float = 5.0
    ) -> tuple[int, bytes]:
        """The number of a snapshot newer than that and its picture as JPEG, rendered once for all clients.

        Raises `InputError` for a camera or size that does not exist, `EnvironmentProblem` and `TimeoutError`.
        """
        return self._pictures.get(View(camera, width, height), newer_than, timeout_s)

    # In the session's thread

    def _run(self) -> None:
        try:
            self._pacer.restart()
            while not self._closing:
                self._step()
                self._pacer.wait(breathe=self._snapshot.mode == "idle")
            self._conductor.stop([])
            for _ in range(_PARTING_TICKS):
                self._conductor.tick()
                if not self._conductor.stopping:
                    break
            self._publish()
        except Exception as error:
            _LOG.exception("the session has died")
            self._die(f"the session has died, restart it: {type(error).__name__}: {error}")
        finally:
            self._conductor.close()

    def _step(self) -> None:
        """What lies between two deadlines."""
        with self._changed:
            stops, self._stops = self._stops, []
            orders = [] if self._conductor.stopping and not stops else list(self._orders)
            for _ in orders:
                self._orders.popleft()
        self._open += [*stops, *(order.ticket for order in orders)]
        if stops:
            self._conductor.stop(stops)
        for order in orders:
            self._conductor.order(order)
        while self._notes:
            self._conductor.say(self._notes.popleft())
        self._conductor.tick()
        self._publish()

    def _publish(self) -> None:
        snapshot = self._conductor.snapshot(self._snapshot.number + 1, self._pacer.behind_s, self.lease.holder)
        with self._changed:
            self._snapshot = snapshot
            self._changed.notify_all()
        self._open = [ticket for ticket in self._open if not ticket.deliver()]

    def _glance(self) -> bool:
        """While the clock waits: show that, and say whether a stop was requested."""
        self._publish()
        return bool(self._stops) or self._closing

    def _die(self, why: str) -> None:
        """Nothing is simulated any more: say so, and refuse whatever waits."""
        with self._changed:
            self._dead = why
            last = self._snapshot
            self._snapshot = dataclasses.replace(last, number=last.number + 1, mode="idle", doing="", message=why)
            self._changed.notify_all()
        self._refuse_all(why)

    def _refuse_all(self, why: str) -> None:
        with self._changed:
            tickets = [*self._open, *self._stops, *(order.ticket for order in self._orders)]
            self._open, self._stops = [], []
            self._orders.clear()
        for ticket in tickets:
            refused(ticket, why)

    def _hand_over(self, episode: Episode) -> None:
        if self._on_episode is not None:
            self._scribe.submit(self._on_episode, episode).add_done_callback(self._handed_over)

    def _handed_over(self, written: Future[str | None]) -> None:
        error = written.exception()
        if error is None:
            note = written.result()
            if note:
                self._notes.append(note)
        else:
            expected = isinstance(error, GrasplineError)
            why = str(error) if expected else f"{type(error).__name__}: {error}"
            _LOG.error("an episode was not recorded: %s", why, exc_info=None if expected else error)
            self._notes.append(f"an episode was not recorded: {why}")


class _Labour:
    """One thread that computes, so that Stop does not wait for a plan.

    What was abandoned is computed to its end before anything else begins: planners share their scratch data.
    """

    def __init__(self, glance: Callable[[], bool]) -> None:
        self._glance = glance
        self._thread = ThreadPoolExecutor(1, "graspline-planning")

    def begin(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        return self._thread.submit(function, *arguments)

    def wait(self, work: Future[Any]) -> bool:
        while not concurrent.futures.wait([work], _GLANCE_S).done:
            if self._glance():
                return False
        return True

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)
