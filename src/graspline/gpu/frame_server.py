"""One process renders, many ask: images of a GPU's renderer for every process that encodes them.

Each of these has a pipe to the renderer and memory that both share, in two halves: while it encodes the pictures of one
half, the renderer fills the other. It renders what all of them ask for together, in batches of as many worlds as
its renderer has. While the renderer is at one batch, the one before it is copied to the process that asked for it.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import Pipe, reduction
from multiprocessing.connection import Connection, wait
from multiprocessing.shared_memory import SharedMemory
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graspline.errors import EnvironmentProblem, InputError
from graspline.gpu.looks import AppearanceRows, Singles
from graspline.rendering.picture import Array, Pixels
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation

# Two halves of 18 pictures of 320×240 each; a container's shared memory may be as small as 64 MB.
SEAT_BYTES = 2 * 18 * 320 * 240 * 3
# Pictures that a half should have room for where there is plenty.
_PLENTY = 64
_SHARED_MEMORY = "/dev/shm"
# Threads that bring pictures to their places: one copies about as fast as a good GPU renders, and must never hold it
# up.
_HANDS = 3


def seat_bytes(picture_bytes: int, seats: int) -> int:
    """How much memory to give each of the processes that ask for pictures of this size: half of all at the most."""
    share = shutil.disk_usage(_SHARED_MEMORY).free // (2 * seats)
    return max(SEAT_BYTES, min(2 * _PLENTY * picture_bytes, share))


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureFormat:
    """What is the same in all pictures of one batch."""

    camera: str
    width: int
    height: int

    @property
    def picture_bytes(self) -> int:
        """The size of one image in memory."""
        return self.width * self.height * 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderJob:
    """Pictures of some states: rows of `AppearanceRows`, which of them each state has, and which half they go to."""

    number: int
    shot: PictureFormat
    qpos: Singles
    looks: Singles
    which: NDArray[np.intp]
    half: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderReply:
    """A job is rendered, or could not be, and why."""

    number: int
    problem: str = ""


class BatchRenderer(Protocol):
    """Renders up to `worlds` states at once."""

    worlds: int

    def begin_looks(self, qpos: Singles, looks: Singles, camera: str) -> Callable[[], Pixels]:
        """Begin a batch; what is given back waits for its pictures, which stay until the second batch after it."""
        ...


# A renderer for pictures of this width and height.
OpenRenderer = Callable[[int, int], BatchRenderer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """What a process needs to ask for pictures; goes to it as it is started, and is closed here then."""

    connection: Connection
    memory: str


class Studio:
    """The render process as its parent has it: hands out seats, and frees their memory in the end."""

    def __init__(self, connection: Connection, seat_bytes: int = SEAT_BYTES) -> None:
        """At the connection's other end is a process that calls `render_for_others`."""
        self._connection, self._seat_bytes = connection, seat_bytes
        self._memories: list[SharedMemory] = []

    def seat(self) -> Seat:
        """For one process more."""
        free = shutil.disk_usage(_SHARED_MEMORY).free
        if free < self._seat_bytes:
            raise EnvironmentProblem(
                f"{_SHARED_MEMORY} has {free} bytes left and a process that requests images needs "
                f"{self._seat_bytes}; use fewer workers, or give the container more shared memory (--shm-size)"
            )
        memory = SharedMemory(create=True, size=self._seat_bytes)
        self._memories.append(memory)
        ours, theirs = Pipe()
        try:
            self._connection.send(memory.name)
            reduction.send_handle(self._connection, ours.fileno(), None)
        except OSError as error:
            theirs.close()
            raise EnvironmentProblem(_GONE) from error
        finally:
            ours.close()
        return Seat(connection=theirs, memory=memory.name)

    def close(self) -> None:
        """The render process ends, and processes that still ask get an error."""
        self._connection.close()
        for memory in self._memories:
            memory.close()
            memory.unlink()
        self._memories = []


class Painter:
    """Images from the render process, for the process that has the seat."""

    def __init__(self, scene: Scene, seat: Seat) -> None:
        self._looks = AppearanceRows(scene)
        self._connection, self._memory = seat.connection, SharedMemory(seat.memory)
        self._number = 0

    def pictures(
        self, qpos: Array, variations: Sequence[Variation], camera: str, width: int, height: int
    ) -> Iterator[Pixels]:
        """A picture (H, W, 3) of each state (n, nq), in order; gone when the next one is asked for."""
        shot = PictureFormat(camera=camera, width=width, height=height)
        each = self._memory.size // 2 // shot.picture_bytes
        if not each:
            raise InputError(f"pictures of {width}×{height} do not fit into {self._memory.size} bytes twice")
        pending = deque[RenderJob]()
        for index, first in enumerate(range(0, len(qpos), each)):
            chunk = slice(first, first + each)
            pending.append(self._request(shot, qpos[chunk], variations[chunk], half=index % 2))
            if len(pending) == 2:
                yield from self._rendered(pending.popleft())
        for request in pending:
            yield from self._rendered(request)

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        self._connection.close()
        self._memory.close()

    def _request(self, shot: PictureFormat, qpos: Array, variations: Sequence[Variation], half: int) -> RenderJob:
        looks, which = self._looks.rows(variations)
        self._number += 1
        request = RenderJob(
            number=self._number, shot=shot, qpos=np.asarray(qpos, np.float32), looks=looks, which=which, half=half
        )
        try:
            self._connection.send(request)
        except OSError as error:
            raise EnvironmentProblem(_GONE) from error
        return request

    def _rendered(self, request: RenderJob) -> Iterator[Pixels]:
        done = RenderReply(number=0)
        # Those before it are of a process that did not want all pictures.
        while done.number != request.number:
            try:
                done = self._connection.recv()
            except (EOFError, OSError) as error:
                raise EnvironmentProblem(_GONE) from error
        if done.problem:
            raise EnvironmentProblem(f"the rendering process failed: {done.problem}")
        yield from _pictures_of(request, self._memory)


_GONE = "the process that renders images has died; is there enough memory, on the GPU and on this machine?"


def render_for_others(render_server: Connection, open_renderer: OpenRenderer) -> None:
    """Render for every process that has a seat, until the connection closes or its owner dies."""
    _Drawer(render_server, open_renderer).serve()


@dataclass(slots=True, eq=False)
class _Client:
    connection: Connection
    memory: SharedMemory
    gone: bool = False


@dataclass(slots=True, eq=False)
class _Job:
    """A request that is being rendered."""

    client: _Client
    request: RenderJob
    # How many of its pictures the renderer was asked for, and how many lie where they belong.
    begun: int = 0
    rendered: int = 0
    answered: bool = False

    @property
    def count(self) -> int:
        return len(self.request.qpos)

    @property
    def over(self) -> bool:
        """Nothing waits for it any more."""
        return self.answered or self.client.gone


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """What the renderer is at: parts of requests, one after the other."""

    parts: Sequence[tuple[_Job, slice]]
    pictures: Callable[[], Pixels]


class _Drawer:
    def __init__(self, render_server: Connection, open_renderer: OpenRenderer) -> None:
        self._render_server, self._open = render_server, open_renderer
        self._clients: dict[Connection, _Client] = {}
        # Those of which the renderer has not been asked for everything, oldest first.
        self._jobs: deque[_Job] = deque()
        self._under_way: _Batch | None = None
        self._renderers: dict[tuple[int, int], BatchRenderer] = {}
        self._hands = ThreadPoolExecutor(_HANDS)

    def serve(self) -> None:
        with self._hands:
            while self._hear():
                batch, self._under_way = self._under_way, self._begin_a_batch() if self._jobs else None
                if batch is not None:
                    self._deliver(batch)
        for client in list(self._clients.values()):
            self._dismiss(client)
        # A process whose seat was still on its way hears of the end by this.
        self._render_server.close()

    def _hear(self) -> bool:
        """Take in all that has been said, waiting for it only if there is nothing to do; false when all is over."""
        while ready := wait([self._render_server, *self._clients], 0 if self._jobs or self._under_way else None):
            for connection in ready:
                assert isinstance(connection, Connection)
                if connection is not self._render_server:
                    self._take_request(self._clients[connection])
                elif not self._seat_another():
                    return False
        return True

    def _seat_another(self) -> bool:
        try:
            memory = SharedMemory(self._render_server.recv())
            connection = Connection(reduction.recv_handle(self._render_server))
        except (EOFError, OSError):
            # The end of the pipe, or memory that is gone because the pipe is about to end.
            return False
        self._clients[connection] = _Client(connection, memory)
        return True

    def _take_request(self, client: _Client) -> None:
        try:
            self._jobs.append(_Job(client, client.connection.recv()))
        except (EOFError, OSError):
            self._dismiss(client)

    def _begin_a_batch(self) -> _Batch | None:
        """As many pictures of the oldest request's kind as fit, of any process."""
        shot = self._jobs[0].request.shot
        jobs = [job for job in self._jobs if job.request.shot == shot]
        try:
            return self._begin(shot, jobs)
        except Exception as error:
            # What a GPU or its driver raises is of no kind that could be named here.
            self._refuse(jobs, error)
            return None

    def _begin(self, shot: PictureFormat, jobs: Sequence[_Job]) -> _Batch:
        renderer = self._renderer(shot)
        parts, room = list[tuple[_Job, slice]](), renderer.worlds
        for job in jobs:
            if not room:
                break
            part = slice(job.begun, min(job.begun + room, job.count))
            parts.append((job, part))
            room -= part.stop - part.start
        qpos = np.concatenate([job.request.qpos[part] for job, part in parts])
        looks = np.concatenate([job.request.looks[job.request.which[part]] for job, part in parts])
        pictures = renderer.begin_looks(qpos, looks, shot.camera)
        for job, part in parts:
            job.begun = part.stop
        self._forget(job for job, _ in parts if job.begun == job.count)
        return _Batch(parts=parts, pictures=pictures)

    def _deliver(self, batch: _Batch) -> None:
        """Copy the images to the processes that asked for them, and notify those whose request is complete."""
        jobs = [job for job, _ in batch.parts]
        try:
            self._bring(batch)
        except Exception as error:
            self._refuse(jobs, error)
            return
        for job, part in batch.parts:
            job.rendered = part.stop
            if job.rendered == job.count and not job.over:
                self._answer(job)

    def _bring(self, batch: _Batch) -> None:
        pictures = batch.pictures()
        ends = np.cumsum([part.stop - part.start for _, part in batch.parts])
        pieces = np.split(pictures, ends[:-1])
        wanted = [(*each, piece) for each, piece in zip(batch.parts, pieces, strict=True) if not each[0].over]
        list(self._hands.map(lambda each: _put(*each), wanted))

    def _renderer(self, shot: PictureFormat) -> BatchRenderer:
        size = shot.width, shot.height
        if size not in self._renderers:
            self._renderers[size] = self._open(*size)
        return self._renderers[size]

    def _refuse(self, jobs: Sequence[_Job], error: Exception) -> None:
        self._forget(jobs)
        for job in jobs:
            if not job.over:
                self._answer(job, f"{type(error).__name__}: {error}")

    def _answer(self, job: _Job, problem: str = "") -> None:
        job.answered = True
        try:
            job.client.connection.send(RenderReply(number=job.request.number, problem=problem))
        except OSError:
            self._dismiss(job.client)

    def _dismiss(self, client: _Client) -> None:
        """A process has left, and its requests are dropped."""
        client.gone = True
        self._forget(job for job in self._jobs if job.over)
        del self._clients[client.connection]
        client.connection.close()
        client.memory.close()

    def _forget(self, jobs: Iterable[_Job]) -> None:
        gone = set(jobs)
        self._jobs = deque(job for job in self._jobs if job not in gone)


def _put(job: _Job, part: slice, pictures: Pixels) -> None:
    _pictures_of(job.request, job.client.memory)[part] = pictures


def _pictures_of(request: RenderJob, memory: SharedMemory) -> Pixels:
    """(n, H, W, 3): where the images of a request are in the memory of the process that made it."""
    shape = len(request.qpos), request.shot.height, request.shot.width, 3
    return np.ndarray(shape, np.uint8, memory.buf, request.half * (memory.size // 2))
