"""Pictures that states ask for, as the eyes of their lane have them."""

from __future__ import annotations

import dataclasses

import numpy as np

from graspline.engine.events import Change, Event
from graspline.engine.protocol import Engine
from graspline.execution.eyesight import Eyesight
from graspline.execution.requests import Look
from graspline.rendering.choose import Renderer, RendererKind, open_renderer
from graspline.rendering.picture import Picture
from graspline.scenes.variation import Variation


class Camera:
    """Answers looks through cameras, by a renderer opened at the first one."""

    def __init__(self, engine: Engine, eyesight: Eyesight, kind: RendererKind = "auto", *, smooth: bool = True) -> None:
        self._engine, self._eyesight, self._smooth = engine, eyesight, smooth
        self._kind: RendererKind = kind
        self._variations: dict[int, Variation] = {}
        self._renderers: dict[tuple[int, int], Renderer] = {}

    def begin(self, lane: int, variation: Variation) -> None:
        """From now on a lane's pictures show this variation."""
        self._variations[lane] = variation

    def apply(self, lane: int, event: Event) -> None:
        """Let pictures show what an event changes."""
        if isinstance(event, Change):
            self._variations[lane] = self._variations[lane].seen_after(event.edits)

    def variation(self, lane: int) -> Variation:
        return self._variations[lane]

    def __call__(self, lane: int, look: Look) -> Picture:
        size = look.width, look.height
        if size not in self._renderers:
            self._renderers[size] = open_renderer(self._engine.scene, *size, self._kind, smooth=self._smooth)
        assert look.camera is not None
        seen, error_m = self._eyesight.picture(lane, look.camera)
        qpos = self._engine.qpos[lane] if seen is None else seen
        picture = self._renderers[size].draw(qpos, self._variations[lane], look.camera)
        if seen is None:
            return dataclasses.replace(picture, rgb=np.zeros_like(picture.rgb))
        return dataclasses.replace(picture, position_m=picture.position_m + error_m) if error_m.any() else picture

    def close(self) -> None:
        for renderer in self._renderers.values():
            renderer.close()
