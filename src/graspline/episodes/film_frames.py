"""The pictures of a film: which cameras it shows, and one frame of it, composed of what they saw."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from graspline.episodes.log import EpisodeLog
from graspline.errors import InputError
from graspline.execution.eyesight import shown_tick
from graspline.parameters import Parameters
from graspline.rendering.antialiasing import antialiased
from graspline.rendering.choose import Renderer, open_renderer
from graspline.rendering.picture import Array, Picture, Pixels
from graspline.rendering.video import caption
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation
from graspline.tasks.task import Task

_FRONT, _WRIST = "front", "wrist"
# The wrist camera's picture, as a share of the whole, is top left, where nothing happens: behind the robot.
_INSET = 0.3125
_INSET_TOP = 0.085
_EDGE_PX = 2
# Pictures that a task looks at are shown as large as it sees them.
_SEEN_PX = (640, 480)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilmView:
    """Which cameras a film shows and how large it is: the scene, and in a corner or beside it another camera."""

    scene_camera: str
    # In a corner; empty for none.
    inset_camera: str
    # Beside it, with what the task sees in it; empty for none.
    seen_camera: str
    # Whether the task sees depths.
    seen_depth: bool
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """What one camera shows: coordinates, variation, and how far each moving surface has gone."""

    qpos: Array
    variation: Variation
    travelled_m: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    # Whether the camera delivers nothing but black.
    dark: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """Everything one frame is rendered from, as it can be sent to another process."""

    words: str
    scene: Instant
    # Of the camera in the corner or beside.
    other: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The scene with its words, and the picture that the task looks at, if the film shows it."""

    rgb: Pixels
    seen: Picture | None


def film_view(task: Task[Any], parameters: Parameters, scene: Scene, width: int = 640, height: int = 480) -> FilmView:
    """The cameras of a film of this task; refused where the scene has none that shows it whole."""
    if _FRONT not in scene.cameras:
        known = ", ".join(scene.cameras) or "none"
        raise InputError(f"scene {scene.name!r} has no camera {_FRONT!r}, which a film shows; its cameras: {known}")
    annotator = None if task.annotator is None else task.annotator(parameters)
    if annotator is not None and annotator.camera not in scene.cameras:
        raise InputError(f"scene {scene.name!r} has no camera {annotator.camera!r}, which {task.name} looks through")
    inset = _WRIST if annotator is None and _WRIST in scene.cameras else ""
    return FilmView(
        scene_camera=_FRONT,
        inset_camera=inset,
        seen_camera="" if annotator is None else annotator.camera,
        seen_depth=annotator is not None and annotator.depth,
        width=width,
        height=height,
    )


def shot_of(log: EpisodeLog, tick: int, words: str, view: FilmView, scene: Scene) -> Shot:
    """The frame after a tick: a blackout stays black, a frozen picture stays as it was."""
    other = view.inset_camera or view.seen_camera
    return Shot(
        words=words,
        # What the task and datasets see has no marks on belts: they are for people.
        scene=_instant(log, tick, view.scene_camera, scene, travelled=True),
        other=_instant(log, tick, other, scene) if other else None,
    )


def _instant(log: EpisodeLog, tick: int, camera: str, scene: Scene, *, travelled: bool = False) -> Instant:
    shown = shown_tick(log.events, tick, camera, scene.robot.control_hz)
    at = shown or 0
    return Instant(
        qpos=log.states[at],
        variation=log.seen_at(at),
        travelled_m=log.travelled_m(at, scene) if travelled else {},
        dark=shown is None,
    )


class FrameRenderer:
    """Renders frames of one film; to be closed."""

    def __init__(self, scene: Scene, view: FilmView) -> None:
        self._view, self._open = view, ExitStack()
        # Edges are smoothed afterwards: see `antialiasing`.
        self._front = self._renderer(scene, view.width, view.height, smooth=False)
        self._other: Renderer | None = None
        if view.inset_camera:
            self._other = self._renderer(scene, round(_INSET * view.width), round(_INSET * view.height))
        elif view.seen_camera:
            self._other = self._renderer(scene, *_SEEN_PX, smooth=False)

    def _renderer(self, scene: Scene, width: int, height: int, *, smooth: bool = True) -> Renderer:
        return self._open.enter_context(open_renderer(scene, width, height, smooth=smooth))

    def close(self) -> None:
        self._open.close()

    def render(self, shot: Shot) -> Frame:
        picture = self._scene_picture(shot.scene)
        seen = None
        if self._other is not None and shot.other is not None:
            if self._view.seen_camera:
                seen = self._seen(self._other, shot.other)
            else:
                self._put_in_corner(picture, self._other, shot.other)
        return Frame(rgb=caption(picture, [shot.words]), seen=seen)

    def _scene_picture(self, instant: Instant) -> Pixels:
        if instant.dark:
            return np.zeros((self._view.height, self._view.width, 3), np.uint8)
        by_gl = self._front.name == "gl"
        rgb = self._front.draw(
            instant.qpos,
            instant.variation,
            self._view.scene_camera,
            shadows=by_gl,
            travelled_m=instant.travelled_m,
        ).rgb
        return antialiased(rgb) if by_gl else rgb.copy()

    def _put_in_corner(self, picture: Pixels, renderer: Renderer, instant: Instant) -> None:
        top, down, across = round(_INSET_TOP * self._view.height), renderer.height, renderer.width
        picture[top : top + down + 2 * _EDGE_PX, : across + 2 * _EDGE_PX] = 0
        if not instant.dark:
            corner = renderer.draw(instant.qpos, instant.variation, self._view.inset_camera).rgb
            picture[top + _EDGE_PX : top + _EDGE_PX + down, _EDGE_PX : _EDGE_PX + across] = corner

    def _seen(self, renderer: Renderer, instant: Instant) -> Picture:
        camera = self._view.seen_camera
        picture = renderer.draw(instant.qpos, instant.variation, camera)
        if self._view.seen_depth:
            depth = renderer.depth(instant.qpos, instant.variation, camera)
            picture = dataclasses.replace(picture, depth_m=depth)
        return dataclasses.replace(picture, rgb=np.zeros_like(picture.rgb)) if instant.dark else picture


# The renderer of a worker process: opened once, before its first job.
_RENDERERS: list[FrameRenderer] = []


def open_shared(memory: str) -> None:
    """Open this worker's renderer for the scene and the view that shared memory holds."""
    shared = SharedMemory(memory)
    try:
        assert shared.buf is not None
        scene, view = pickle.loads(shared.buf)
    finally:
        shared.close()
    _RENDERERS.append(FrameRenderer(scene, view))


def render_shots(shots: Sequence[Shot]) -> list[Frame]:
    """A worker's job."""
    return [_RENDERERS[0].render(shot) for shot in shots]
