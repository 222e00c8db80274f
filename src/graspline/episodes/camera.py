"""Pictures that states ask for, as the eyes of their lane have them."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Sequence

import numpy as np

from graspline.engine.events import Change, Event
from graspline.engine.protocol import Engine
from graspline.execution.requests import Look
from graspline.execution.sensor_faults import Eyesight
from graspline.rendering.batches import PictureJob, PictureSource
from graspline.rendering.choose import Renderer, RendererKind, open_renderer
from graspline.rendering.depth_errors import LOST_SHARE, DepthErrors, measured_depth
from graspline.rendering.picture import Array, Depths, Picture
from graspline.scenes.scene import PHYSICS_HZ
from graspline.scenes.variation import Variation


class Camera:
    """Answers looks through cameras, by a renderer opened at the first one."""

    def __init__(self, engine: Engine, eyesight: Eyesight, kind: RendererKind = "auto", *, smooth: bool = True) -> None:
        self._engine, self._eyesight, self._smooth = engine, eyesight, smooth
        self._kind: RendererKind = kind
        self._variations: dict[int, Variation] = {}
        self._seeds: dict[int, int] = {}
        self._renderers: dict[tuple[int, int, bool], Renderer] = {}

    def begin(self, lane: int, variation: Variation, *, seed: int = 0) -> None:
        """From now on a lane's pictures show this variation, and their depths have the errors of this seed."""
        self._variations[lane], self._seeds[lane] = variation, seed

    def apply(self, lane: int, event: Event) -> None:
        """Let pictures show what an event changes."""
        if isinstance(event, Change):
            self._variations[lane] = self._variations[lane].seen_after(event.edits)

    def variation(self, lane: int) -> Variation:
        """The variation of a lane."""
        return self._variations[lane]

    def __call__(self, lane: int, look: Look) -> Picture:
        """The image that a look gets."""
        assert look.camera is not None
        seen, error_m = self._eyesight.picture(lane, look.camera)
        qpos = self._engine.qpos[lane] if seen is None else seen
        picture = self._renderer(look).render(qpos, self._variations[lane], look.camera)
        return self._as_seen(lane, look, picture, seen, error_m)

    def many(self, looks: Sequence[tuple[int, Look]], source: PictureSource) -> list[Picture]:
        """Answer looks of many lanes, with pictures that a source renders together."""
        jobs: list[PictureJob] = []
        sights: list[tuple[Array | None, Array]] = []
        for lane, look in looks:
            assert look.camera is not None
            seen, error_m = self._eyesight.picture(lane, look.camera)
            sights.append((seen, error_m))
            qpos = self._engine.qpos[lane] if seen is None else seen
            jobs.append(
                PictureJob(
                    qpos=qpos,
                    variation=self._variations[lane],
                    camera=look.camera,
                    width=look.width,
                    height=look.height,
                    posed=look.posed or look.depth,
                )
            )
        pictures = source.pictures(jobs)
        return [
            self._as_seen(lane, look, picture, *sight)
            for (lane, look), picture, sight in zip(looks, pictures, sights, strict=True)
        ]

    def _renderer(self, look: Look) -> Renderer:
        smooth = self._smooth if look.smooth is None else look.smooth
        key = look.width, look.height, smooth
        if key not in self._renderers:
            scene = self._engine.scene
            self._renderers[key] = open_renderer(scene, look.width, look.height, self._kind, smooth=smooth)
        return self._renderers[key]

    def _as_seen(self, lane: int, look: Look, picture: Picture, seen: Array | None, error_m: Array) -> Picture:
        """A picture as the eyes of its lane have it; `seen` (nq,) is what it shows, None if they are dark."""
        if seen is None:
            dark = np.full(picture.rgb.shape[:2], np.nan, np.float32) if look.depth else None
            return dataclasses.replace(picture, rgb=np.zeros_like(picture.rgb), depth_m=dark)
        if look.depth:
            exact = self._renderer(look).depth(seen, self._variations[lane], picture.camera)
            picture = dataclasses.replace(picture, depth_m=self._measured(lane, picture, exact))
        return dataclasses.replace(picture, position_m=picture.position_m + error_m) if error_m.any() else picture

    def _measured(self, lane: int, picture: Picture, exact_m: Depths) -> Depths:
        """Depths with the errors that this camera has at this time of an episode of this seed, whatever the lane."""
        camera, variation = picture.camera, self._variations[lane]
        rough = self._eyesight.roughness(lane, camera)
        errors = DepthErrors(
            sigma_factor=variation.depth_sigma_factor * rough.sigma_factor,
            lost_share=LOST_SHARE + variation.depth_hole_share + rough.hole_share,
        )
        step = round(self._eyesight.seen_s(lane, camera) * PHYSICS_HZ)
        random = np.random.default_rng([self._seeds[lane], zlib.crc32(camera.encode()), step])
        return measured_depth(exact_m, picture.fovy_rad, errors, random)

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        for renderer in self._renderers.values():
            renderer.close()
