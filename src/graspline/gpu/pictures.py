"""Pictures that all lanes look at in one tick, rendered in batches on a Warp device."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from graspline.gpu.looks import AppearanceRows, Singles, what_warp_cannot_render
from graspline.gpu.renderer import WarpRenderer
from graspline.rendering.batches import PictureJob, PictureSource
from graspline.rendering.picture import Picture, Pixels
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation

# Pictures that are rendered at once: each time as many, whether they are wanted or not. In smaller batches fewer are
# rendered in vain once most lanes are done.
_WORLDS = 128
# Variations whose rows are kept.
_KEPT = 4096
_NO_POSITION, _NO_ROTATION = np.full(3, np.nan), np.full((3, 3), np.nan)

_Kind = tuple[str, int, int]


class WarpPictures:
    """Renders one scene on a Warp device, which must be there.

    What it cannot render comes from another source, which is opened when it is first needed: variations that the ray
    caster would render wrong, and pictures whose camera's pose is wanted.
    """

    def __init__(
        self,
        scene: Scene,
        lanes: int,
        device: str,
        otherwise: Callable[[], PictureSource],
        say: Callable[[str], object] = lambda line: None,
    ) -> None:
        """`say` is called once with why pictures come from the other source."""
        self._scene, self._worlds, self._device = scene, min(lanes, _WORLDS), device
        self._open_other, self._say = otherwise, say
        self._other: PictureSource | None = None
        self._looks = AppearanceRows(scene)
        self._renderers: dict[tuple[int, int], WarpRenderer] = {}
        # Where pictures of each kind are until the next ones of that kind.
        self._pixels: dict[_Kind, Pixels] = {}
        self._rows: dict[int, tuple[Variation, Singles | None]] = {}
        self._reported = False

    def pictures(self, jobs: Sequence[PictureJob]) -> list[Picture]:
        """The images of these jobs, in order."""
        kinds: dict[_Kind, list[int]] = {}
        others: list[int] = []
        for index, job in enumerate(jobs):
            if job.posed or self._row(job.variation) is None:
                others.append(index)
            else:
                kinds.setdefault((job.camera, job.width, job.height), []).append(index)
        found: dict[int, Picture] = {}
        for kind, indices in kinds.items():
            pixels = self._rendered(kind, [jobs[index] for index in indices])
            for index, rgb in zip(indices, pixels, strict=True):
                found[index] = _unposed(rgb, kind[0])
        if others:
            found.update(zip(others, self._from_other([jobs[index] for index in others]), strict=True))
        return [found[index] for index in range(len(jobs))]

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        if self._other is not None:
            self._other.close()

    def _rendered(self, kind: _Kind, jobs: Sequence[PictureJob]) -> Pixels:
        """(n, H, W, 3): while the device is at one batch, the one before it is fetched."""
        camera, width, height = kind
        renderer, pixels = self._renderer(width, height), self._room(kind, len(jobs))
        begun = deque[tuple[slice, Callable[[], Pixels]]]()
        for first in range(0, len(jobs), renderer.worlds):
            chunk = slice(first, min(first + renderer.worlds, len(jobs)))
            qpos = np.stack([job.qpos for job in jobs[chunk]])
            rows = np.stack([row for job in jobs[chunk] if (row := self._row(job.variation)) is not None])
            begun.append((chunk, renderer.begin_looks(qpos, rows, camera)))
            if len(begun) == 2:
                fetched, pictures = begun.popleft()
                pixels[fetched] = pictures()
        for fetched, pictures in begun:
            pixels[fetched] = pictures()
        return pixels[: len(jobs)]

    def _renderer(self, width: int, height: int) -> WarpRenderer:
        if (width, height) not in self._renderers:
            self._renderers[width, height] = WarpRenderer(self._scene, width, height, self._worlds, self._device)
        return self._renderers[width, height]

    def _room(self, kind: _Kind, count: int) -> Pixels:
        # Kept: memory that is new each time costs more than the copy into it.
        if kind not in self._pixels or len(self._pixels[kind]) < count:
            _, width, height = kind
            self._pixels[kind] = np.empty((count, height, width, 3), np.uint8)
        return self._pixels[kind]

    def _row(self, variation: Variation) -> Singles | None:
        """What the device is sent of a variation; None if it would render it wrong."""
        known = self._rows.get(id(variation))
        if known is None:
            if len(self._rows) >= _KEPT:
                self._rows.clear()
            problem = what_warp_cannot_render(self._scene, variation)
            # Kept with the variation, or its id might come to be another's.
            known = self._rows[id(variation)] = variation, None if problem else self._looks.row(variation)
            if problem and not self._reported:
                self._reported = True
                self._say(f"some pictures are rendered on the CPU: a GPU cannot render {problem}")
        return known[1]

    def _from_other(self, jobs: Sequence[PictureJob]) -> list[Picture]:
        if self._other is None:
            self._other = self._open_other()
        return self._other.pictures(jobs)


def _unposed(rgb: Pixels, camera: str) -> Picture:
    return Picture(rgb=rgb, camera=camera, position_m=_NO_POSITION, rotation=_NO_ROTATION, fovy_rad=float("nan"))
