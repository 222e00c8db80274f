"""Films of episodes, drawn from their logs after they were judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from graspline.episodes.log import EpisodeLog
from graspline.episodes.run import Episode
from graspline.execution.eyesight import shown_tick
from graspline.rendering.choose import Renderer, gl_problem, open_renderer
from graspline.rendering.video import VideoWriter, caption, contact_sheet
from graspline.scenes.scene import Scene

Pixels = NDArray[np.uint8]

# The wrist camera's picture, as a share of the whole, stands top left, where nothing happens: behind the robot.
_INSET = 0.3125
_INSET_TOP = 0.085
_EDGE_PX = 2
# Pictures that a task's eyes are shown with are as large as those it looks at.
_SEEN_PX = (640, 480)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One picture: after which tick, and what is written on it."""

    tick: int
    words: str


class FilmStopped(Exception):
    """Nobody wants a film any more that is not whole yet; no file is left of it."""


def film(episode: Episode, scene: Scene, path: Path, *, fps: int = 30, stop: Callable[[], bool] = lambda: False) -> str:
    """Write an mp4 of one episode, the state drawn on it, the wrist camera in a corner; returns the renderer's name.

    Without OpenGL the picture is smaller and has fewer frames, so that it does not take minutes. When `stop` turns true
    it raises `FilmStopped`.
    """
    kind = "rays" if gl_problem() else "gl"
    width, height, fps = (640, 480, fps) if kind == "gl" else (320, 240, min(fps, 5))
    ticks = range(0, len(episode.log.states), scene.robot.control_hz // fps)
    moments = [_moment(episode, scene, tick, ticks) for tick in ticks]
    annotator = episode.scenario.task.annotator
    frames = (_frames if annotator is None else _side_by_side)(episode, scene, moments, width, height)
    with VideoWriter(path, width if annotator is None else 2 * width, height, fps) as video:
        for frame in frames:
            if stop():
                raise FilmStopped
            video.write(frame)
    return kind


def still_sheet(
    episode: Episode,
    scene: Scene,
    path: Path,
    *,
    moments: Sequence[Moment] | None = None,
    count: int = 12,
    columns: int = 4,
) -> None:
    """Write a contact sheet: moments of one episode in one picture, or so many at equal distances."""
    if moments is None:
        ticks = np.linspace(0, len(episode.log.states) - 1, count).astype(int).tolist()
        moments = [_moment(episode, scene, tick, ticks) for tick in ticks]
    annotator = episode.scenario.task.annotator
    frames = list((_frames if annotator is None else _side_by_side)(episode, scene, moments, 320, 240))
    Image.fromarray(contact_sheet(frames, columns)).save(path, optimize=True)


def _moment(episode: Episode, scene: Scene, tick: int, ticks: Sequence[int]) -> Moment:
    """A tick with the state that is played then, or the verdict if it is the last."""
    time_s = (tick + 1) * scene.robot.dt_s
    state = [name for entered_s, name in episode.entries if entered_s <= time_s + 1e-9][-1:]
    words = episode.verdict if tick == ticks[-1] else "".join(state)
    named = f"{episode.scenario.task.name}  seed {episode.scenario.seed}"
    return Moment(tick=tick, words=f"{named}   {time_s:5.2f} s   {words}")


def _frames(episode: Episode, scene: Scene, moments: Iterable[Moment], width: int, height: int) -> Iterator[Pixels]:
    """What both cameras saw at each moment, the wrist's in a corner of the other's, with the words above."""
    inset_px, hz = (round(_INSET * width), round(_INSET * height)), scene.robot.control_hz
    with open_renderer(scene, width, height) as front, open_renderer(scene, *inset_px) as wrist:
        for moment in moments:
            picture = _drawn(episode.log, moment.tick, hz, front, "front", shadows=front.name == "gl").copy()
            corner = _drawn(episode.log, moment.tick, hz, wrist, "wrist")
            top, (down, across) = round(_INSET_TOP * height), corner.shape[:2]
            picture[top : top + down + 2 * _EDGE_PX, : across + 2 * _EDGE_PX] = 0
            picture[top + _EDGE_PX : top + _EDGE_PX + down, _EDGE_PX : _EDGE_PX + across] = corner
            yield caption(picture, [moment.words])


def _side_by_side(
    episode: Episode, scene: Scene, moments: Iterable[Moment], width: int, height: int
) -> Iterator[Pixels]:
    """The scene, with the words above, and beside it the camera's picture with what the task makes of it."""
    task, hz = episode.scenario.task, scene.robot.control_hz
    assert task.annotator is not None
    annotate = task.annotator(episode.scenario.parameters)
    with open_renderer(scene, width, height) as front, open_renderer(scene, *_SEEN_PX) as seen:
        for moment in moments:
            picture = _drawn(episode.log, moment.tick, hz, front, "front", shadows=front.name == "gl").copy()
            shown = shown_tick(episode.log.events, moment.tick, annotate.camera, hz)
            state, variation = episode.log.states[shown or 0], episode.log.seen_at(shown or 0)
            view = seen.draw(state, variation, annotate.camera)
            if annotate.depth:
                view = dataclasses.replace(view, depth_m=seen.depth(state, variation, annotate.camera))
            if shown is None:
                view = dataclasses.replace(view, rgb=np.zeros_like(view.rgb))
            joints = state[[scene.joint_address(name) for name in scene.robot.joints]]
            drawn = annotate(view, (moment.tick + 1) * scene.robot.dt_s, joints)
            beside = np.asarray(Image.fromarray(drawn).resize((width, height), Image.Resampling.BILINEAR))
            yield np.concatenate([caption(picture, [moment.words]), beside], axis=1)


def _drawn(
    log: EpisodeLog, tick: int, control_hz: int, renderer: Renderer, camera: str, *, shadows: bool = False
) -> Pixels:
    """What a camera delivered after a tick: a blackout stays black, a frozen picture stays as it was."""
    shown = shown_tick(log.events, tick, camera, control_hz)
    if shown is None:
        return np.zeros((renderer.height, renderer.width, 3), np.uint8)
    return renderer.draw(log.states[shown], log.seen_at(shown), camera, shadows=shadows).rgb
