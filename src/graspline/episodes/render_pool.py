"""Worker processes that render pictures, one for each core, for an executor that waits for them.

OpenGL without a GPU renders on one core. The pictures that all lanes look at in one tick are shared out among the
workers, and come back through shared memory, with the same pixels that this process would render.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory

import numpy as np

from graspline.episodes.workers import WorkerPool
from graspline.rendering.batches import PictureJob
from graspline.rendering.choose import Renderer, RendererKind, open_renderer
from graspline.rendering.picture import Array, Picture, Pixels
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation

# Parts that each worker gets of a batch, one after the other: a slow one then gets fewer.
_PARTS_EACH = 2
# Shared memory in all, unless one picture needs more; a container may have no more than 64 MB of it.
_MOST_BYTES = 16 * 2**20
_GLANCE_S = 1.0
# Variations that a process remembers in the form they are sent in, or were received in.
_KEPT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """One picture, as a worker gets it."""

    qpos: Array
    # Pickled once for all pictures that show it.
    variation: bytes
    camera: str
    width: int
    height: int
    # Where in the shared memory the pixels go.
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rendered:
    """What there is to a picture besides its pixels."""

    position_m: Array
    rotation: Array
    fovy_rad: float


class RenderPool:
    """`size` processes that render one scene. The same pixels come from any of them."""

    def __init__(self, scene: Scene, size: int, kind: RendererKind = "auto", *, smooth: bool = False) -> None:
        self._open = ExitStack()
        self._memory: SharedMemory | None = None
        self._pickled: dict[int, tuple[Variation, bytes]] = {}
        self._tickets = 0
        contents = pickle.dumps((scene, kind, smooth))
        block = self._shared(len(contents))
        assert block.buf is not None
        block.buf[: len(contents)] = contents
        prepare = functools.partial(_open_scene, block.name)
        self._pool = self._open.enter_context(WorkerPool(size, _render, prepare))

    def pictures(self, jobs: Sequence[PictureJob]) -> list[Picture]:
        """The images of these jobs, in order."""
        largest = max((each.width * each.height * 3 for each in jobs), default=0)
        at_once = max(1, _MOST_BYTES // max(largest, 1))
        found: list[Picture] = []
        for first in range(0, len(jobs), at_once):
            found += self._batch(jobs[first : first + at_once])
        return found

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        self._open.close()

    def _batch(self, jobs: Sequence[PictureJob]) -> list[Picture]:
        ends = np.cumsum([each.width * each.height * 3 for each in jobs]).tolist()
        memory = self._room(ends[-1])
        requests = [
            _Order(
                qpos=np.array(each.qpos),
                variation=self._as_bytes(each.variation),
                camera=each.camera,
                width=each.width,
                height=each.height,
                at=end - each.width * each.height * 3,
            )
            for each, end in zip(jobs, ends, strict=True)
        ]
        part = -(-len(requests) // (_PARTS_EACH * self._pool.size))
        waiting: dict[int, int] = {}
        for first in range(0, len(requests), part):
            waiting[self._tickets] = first
            self._pool.submit(self._tickets, (memory.name, requests[first : first + part]))
            self._tickets += 1
        found: dict[int, Picture] = {}
        while waiting:
            for each in self._pool.results_within(_GLANCE_S):
                first = waiting.pop(each.ticket)
                for index, rendered in enumerate(each.result, first):
                    found[index] = _picture(requests[index], rendered, memory)
        return [found[index] for index in range(len(requests))]

    def _as_bytes(self, variation: Variation) -> bytes:
        known = self._pickled.get(id(variation))
        if known is None:
            if len(self._pickled) >= _KEPT:
                self._pickled.clear()
            # Kept with the variation, or its id might come to be another's.
            known = self._pickled[id(variation)] = variation, pickle.dumps(variation)
        return known[1]

    def _room(self, size: int) -> SharedMemory:
        """Shared memory of at least this size."""
        if self._memory is None or self._memory.size < size:
            self._memory = self._shared(max(size, _MOST_BYTES))
        return self._memory

    def _shared(self, size: int) -> SharedMemory:
        memory = SharedMemory(create=True, size=size)
        self._open.callback(memory.unlink)
        self._open.callback(memory.close)
        return memory


def _picture(job: _Order, rendered: _Rendered, memory: SharedMemory) -> Picture:
    return Picture(
        rgb=_pixels(job, memory).copy(),
        camera=job.camera,
        position_m=rendered.position_m,
        rotation=rendered.rotation,
        fovy_rad=rendered.fovy_rad,
    )


def _pixels(job: _Order, memory: SharedMemory) -> Pixels:
    """(H, W, 3): where a job's pixels are."""
    return np.ndarray((job.height, job.width, 3), np.uint8, memory.buf, job.at)


class _Workplace:
    """What a worker renders with."""

    def __init__(self, scene: Scene, kind: RendererKind, smooth: bool) -> None:
        self._scene, self._smooth = scene, smooth
        self._kind: RendererKind = kind
        self._renderers: dict[tuple[int, int], Renderer] = {}
        self._memories: dict[str, SharedMemory] = {}
        self._variations: dict[bytes, Variation] = {}

    def render(self, memory: str, jobs: Sequence[_Order]) -> list[_Rendered]:
        if memory not in self._memories:
            self._memories[memory] = SharedMemory(memory)
        return [self._rendered(job, self._memories[memory]) for job in jobs]

    def _rendered(self, job: _Order, memory: SharedMemory) -> _Rendered:
        size = job.width, job.height
        if size not in self._renderers:
            self._renderers[size] = open_renderer(self._scene, *size, self._kind, smooth=self._smooth)
        picture = self._renderers[size].render(job.qpos, self._variation(job.variation), job.camera)
        _pixels(job, memory)[...] = picture.rgb
        return _Rendered(position_m=picture.position_m, rotation=picture.rotation, fovy_rad=picture.fovy_rad)

    def _variation(self, pickled: bytes) -> Variation:
        found = self._variations.get(pickled)
        if found is None:
            if len(self._variations) >= _KEPT:
                self._variations.clear()
            found = self._variations[pickled] = pickle.loads(pickled)
        return found


# Of this worker, made before its first job.
_WORKPLACE: list[_Workplace] = []


def _open_scene(memory: str) -> None:
    shared = SharedMemory(memory)
    try:
        assert shared.buf is not None
        scene, kind, smooth = pickle.loads(shared.buf)
    finally:
        shared.close()
    _WORKPLACE.append(_Workplace(scene, kind, smooth))


def _render(job: tuple[str, Sequence[_Order]]) -> list[_Rendered]:
    """A worker's job."""
    return _WORKPLACE[0].render(*job)
