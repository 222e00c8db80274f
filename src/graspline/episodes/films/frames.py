"""The pictures of a film: which cameras it shows, and what they saw at one instant of an episode."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graspline.episodes.log import EpisodeLog
from graspline.errors import InputError
from graspline.execution.sensor_faults import shown_tick
from graspline.parameters import Parameters
from graspline.rendering.antialiasing import antialiased
from graspline.rendering.choose import Renderer, RendererKind, gl_problem, open_renderer
from graspline.rendering.film_look import dressed
from graspline.rendering.framing import Viewpoint
from graspline.rendering.picture import Array, Picture, Pixels
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation
from graspline.tasks.task import Task

# Pictures that a task looks at are rendered as large as it sees them.
_SEEN_PX = (640, 480)
# Without OpenGL the scene is rendered so much smaller.
_RAYS_SCALE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class FilmView:
    """Which of the scene's cameras a film shows beside its own: what the robot sees while it works."""

    # Empty for none.
    side_camera: str
    # Whether the task marks what it sees in that camera's pictures, and whether it needs depth for that.
    annotated: bool = False
    seen_depth: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderState:
    """What one camera shows: coordinates, variation, and how far each moving surface has gone."""

    qpos: Array
    variation: Variation
    travelled_m: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    # Whether the camera delivers nothing but black.
    dark: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """Everything one frame is rendered from."""

    scene: RenderState
    side: RenderState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The scene, and the picture of the camera beside it."""

    rgb: Pixels
    side: Picture | None


def film_view(task: Task[Any], parameters: Parameters, scene: Scene) -> FilmView:
    """The camera that a film of this task shows beside the scene: the one the task looks through, or the robot's own.

    A scene whose robot has no camera is filmed without.
    """
    annotator = None if task.annotator is None else task.annotator(parameters)
    if annotator is None:
        own = [camera for camera in scene.robot.cameras if camera in scene.cameras]
        return FilmView(side_camera=own[0] if own else "")
    if annotator.camera not in scene.cameras:
        raise InputError(f"scene {scene.name!r} has no camera {annotator.camera!r}, which {task.name} uses")
    return FilmView(side_camera=annotator.camera, annotated=True, seen_depth=annotator.depth)


def shot_of(log: EpisodeLog, tick: int, view: FilmView, scene: Scene) -> Shot:
    """The frame after a tick: a camera's blackout stays black, and a picture that froze stays as it was."""
    return Shot(
        # What the task and datasets see has no marks on belts: they are for people.
        scene=RenderState(
            qpos=log.states[tick], variation=log.seen_at(tick), travelled_m=log.travelled_m(tick, scene)
        ),
        side=_seen_by(log, tick, view.side_camera, scene) if view.side_camera else None,
    )  # fmt: skip


def _seen_by(log: EpisodeLog, tick: int, camera: str, scene: Scene) -> RenderState:
    shown = shown_tick(log.events, tick, camera, scene.robot.control_hz)
    at = shown or 0
    return RenderState(qpos=log.states[at], variation=log.seen_at(at), dark=shown is None)


class FrameRenderer:
    """Renders frames of one film, the scene from a viewpoint of the film's own; to be closed."""

    def __init__(
        self, scene: Scene, view: FilmView, viewpoint: Viewpoint, size_px: tuple[int, int], side_px: tuple[int, int]
    ) -> None:
        """`side_px` is the size of the other camera's pictures, unless the task marks what it sees in them."""
        self._view, self._viewpoint, self._open = view, viewpoint, ExitStack()
        self._by_gl = gl_problem() is None
        # Rays know no gradients, and nothing else of a dressed scene would look better by them.
        film_scene = dressed(scene, viewpoint) if self._by_gl else scene
        self._scene = self._renderer(film_scene, size_px)
        self._side: Renderer | None = None
        if view.annotated:
            self._side = self._renderer(scene, _SEEN_PX, small=False)
        elif view.side_camera:
            self._side = self._renderer(film_scene, side_px)

    def _renderer(self, scene: Scene, size_px: tuple[int, int], *, small: bool = True) -> Renderer:
        scale = _RAYS_SCALE if small and not self._by_gl else 1.0
        width, height = (round(scale * each) for each in size_px)
        kind: RendererKind = "gl" if self._by_gl else "rays"
        # Edges are smoothed afterwards: see `antialiasing`.
        return self._open.enter_context(open_renderer(scene, width, height, kind, smooth=False))

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        self._open.close()

    def render(self, shot: Shot) -> Frame:
        """The frame of a moment."""
        instant = shot.scene
        picture = self._scene.render(
            instant.qpos,
            instant.variation,
            self._viewpoint,
            shadows=self._by_gl,
            travelled_m=instant.travelled_m,
        )
        side = None if self._side is None or shot.side is None else self._seen(self._side, shot.side)
        return Frame(rgb=antialiased(picture.rgb) if self._by_gl else picture.rgb, side=side)

    def _seen(self, renderer: Renderer, instant: RenderState) -> Picture:
        camera = self._view.side_camera
        picture = renderer.render(instant.qpos, instant.variation, camera)
        if self._view.seen_depth:
            depth = renderer.depth(instant.qpos, instant.variation, camera)
            picture = dataclasses.replace(picture, depth_m=depth)
        if instant.dark:
            return dataclasses.replace(picture, rgb=np.zeros_like(picture.rgb))
        # What a task looks for is looked for in the pictures that it gets.
        smooth = self._by_gl and not self._view.annotated
        return dataclasses.replace(picture, rgb=antialiased(picture.rgb)) if smooth else picture
