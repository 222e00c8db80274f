"""Workers that execute jobs with a GPU: one process plays attempts there by the thousand, others do the rest.

What has been played comes as it is finished; while enough of it waits to be rendered, the rest waits in the pipe, and
the GPU with it.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Self

from graspline.datasets.format.recording import Recording
from graspline.datasets.format.rows import Rejected
from graspline.datasets.format.settings import DatasetSettings
from graspline.datasets.write.jobs import LIMIT_S, Attempts, Order, do, judged, render_elsewhere
from graspline.datasets.write.pool import LocalPool
from graspline.episodes.processes import deaf_to_interrupts, environment
from graspline.episodes.workers import (
    ENVIRONMENT,
    Do,
    Filled,
    Worker,
    WorkerFailure,
    end_with_parent,
    failure_of,
    raise_failure,
)
from graspline.errors import EnvironmentProblem
from graspline.gpu.choose import GPU
from graspline.gpu.frame_server import Painter, Seat, Studio, render_for_others, seat_bytes
from graspline.gpu.workers import play_together

# Attempts that are begun together at the most: lanes are filled again and again, and only the last ones run empty.
_BLOCK = 65_536
# Attempts beyond what is missing, since some will not be kept.
_SPARE = 0.03
# Images that are rendered at once: each time as many, whether they are wanted or not.
_PICTURES = 128
# How many attempts are sent at a time.
_PARCEL = 32
# By how much workers yield to the process that renders for them.
_GIVING_WAY = 5
# How long a player may take to let go of its device.
_PATIENCE_S = 10.0


class GpuPool(LocalPool):
    """`size` processes that certify and encode, one that plays attempts in `lanes` lanes of a GPU, and one that renders
    there if pictures are wanted from it."""

    def __init__(self, settings: DatasetSettings, size: int, lanes: int, device: str = GPU, do: Do = do) -> None:
        super().__init__(size, do)
        self._settings, self._lanes, self._device = settings, lanes, device
        # The job that is being played, and how many of its attempts have not come back.
        self._ticket, self._out = 0, 0
        self._processes: list[BaseProcess] = []
        self._render_server: Studio | None = None

    def __enter__(self) -> Self:
        try:
            self._player = self._start(_play, self._lanes, max(2, self.size // 2), self._device)
            if self._settings.renderer == "warp" and self._settings.views:
                largest = max(view.width * view.height * 3 for view in self._settings.views)
                renderer = self._start(_render, self._settings, self._device)
                self._render_server = Studio(renderer, seat_bytes(largest, self.size))
            return super().__enter__()
        except BaseException:
            self._end_others()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, raised, trace)
        self._end_others()

    def _start(self, target: Callable[..., None], *arguments: object) -> Connection:
        """Start a process that has the device; it ends when the connection does."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=target, args=(theirs, *arguments))
        try:
            with environment(ENVIRONMENT), deaf_to_interrupts():
                process.start()
            self._processes.append(process)
        finally:
            theirs.close()
        return ours

    def _end_others(self) -> None:
        if self._render_server is not None:
            self._render_server.close()
        if self._processes:
            self._player.close()
        for process in self._processes:
            process.join(_PATIENCE_S)
            process.kill()

    def _new_worker(self) -> Worker:
        if self._render_server is None:
            return Worker(self._do)
        seat = self._render_server.seat()
        try:
            return Worker(self._do, functools.partial(_take, seat))
        finally:
            # Else it would go unnoticed that the worker has died.
            seat.connection.close()

    def block(self, missing: int, waiting: int) -> int:
        """All that is missing, and some to spare, unless attempts are being played already."""
        return 0 if self._out else min(missing + int(_SPARE * missing), _BLOCK)

    def submit(self, ticket: int, job: Order) -> None:
        """Give attempts to the GPU, and other jobs to the workers."""
        if not isinstance(job, Attempts):
            super().submit(ticket, job)
            return
        self._ticket, self._out = ticket, len(job.seeds)
        try:
            self._player.send(job)
        except OSError:
            raise EnvironmentProblem(_GONE) from None

    def results(self, *, hungry: bool = True) -> Sequence[Filled]:
        """Wait for jobs that are done, and return what came of them."""
        assert self._jobs or self._out, "nothing to wait for"
        listening = [self._player] if self._out and (hungry or not self._jobs) else []
        found: list[Filled] = []
        while not found:
            found = self._filled(listening)
            if listening and self._player.poll():
                found.append(self._played())
        return found

    def _played(self) -> Filled:
        try:
            parcel: list[Recording | Rejected] | WorkerFailure = self._player.recv()
        except (EOFError, OSError):
            raise EnvironmentProblem(_GONE) from None
        if isinstance(parcel, WorkerFailure):
            raise_failure(parcel)
        self._out -= len(parcel)
        return Filled(self._ticket, parcel)


_GONE = "the process that plays on the GPU died; is there enough memory? committed episodes are kept"


def _take(seat: Seat) -> None:
    """Have this worker's images rendered by the process that renders."""
    render_elsewhere(functools.partial(Painter, seat=seat))
    # A GPU waits for the process that renders, and all workers for the GPU: they give way.
    os.nice(_GIVING_WAY)


class _Over(Exception):
    """No attempts are wanted any more."""


def _play(pipe: Connection, lanes: int, planners: int, device: str) -> None:
    """A player's life: attempts until the pipe closes."""
    with contextlib.suppress(EOFError, OSError, _Over):
        while True:
            _attempt(pipe, pipe.recv(), lanes, planners, device)
    # At once: libraries complain when an interpreter that has used them is taken apart.
    os._exit(0)


def _render(pipe: Connection, settings: DatasetSettings, device: str) -> None:
    """The render process: images for all workers until the pipe closes."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    from graspline.gpu.renderer import WarpRenderer

    task, parameters = settings.found_task()
    scene = task.scene(parameters)
    render_for_others(pipe, lambda width, height: WarpRenderer(scene, width, height, _PICTURES, device))
    os._exit(0)


def _attempt(pipe: Connection, job: Attempts, lanes: int, planners: int, device: str) -> None:
    """Play a job, and send what becomes of each attempt, some at a time."""

    def over() -> bool:
        if pipe.poll():
            raise _Over
        return False

    parcel: list[Recording | Rejected] = []
    try:
        for episode in play_together(
            [job.settings.scenario(seed) for seed in job.seeds],
            lanes=lanes,
            processes=planners,
            teams=2,
            device=device,
            record_states=not job.settings.certified,
            limit_s=LIMIT_S,
            stop=over,
        ):
            parcel.append(judged(episode, job.settings))
            if len(parcel) >= _PARCEL:
                pipe.send(parcel)
                parcel = []
        if parcel:
            pipe.send(parcel)
    except (EOFError, OSError, _Over):
        raise _Over from None
    except Exception as error:
        pipe.send(failure_of(error))
