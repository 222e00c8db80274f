"""Films of episodes, rendered from their logs after they were judged, by as many threads as there are cores."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from graspline.episodes.episode import Episode
from graspline.episodes.films.frames import FilmView, Frame, FrameRenderer, Shot, film_view, shot_of
from graspline.episodes.films.framing import frame_episode
from graspline.episodes.films.layout import FILM_PX, SCENE_PX, SIDE_PX, FilmLayout, Words, labelled, plain, resized
from graspline.episodes.processes import cores
from graspline.errors import InputError, either
from graspline.execution.sensor_faults import shown_tick
from graspline.rendering.animation import FORMATS, AnimationWriter
from graspline.rendering.choose import gl_problem
from graspline.rendering.framing import Viewpoint
from graspline.rendering.picture import Pixels
from graspline.rendering.video import VideoWriter, caption, contact_sheet
from graspline.scenes.scene import Scene

# Frames a second of a film; without OpenGL, each takes so long that there are fewer.
FPS, _RAYS_FPS = 30, 5
# What a film may be called.
SUFFIXES = (".mp4", *FORMATS)
# A moving picture for a page is smaller, has fewer frames, and plays faster where it would last longer than this.
_SMALL_PX, _SMALL_FPS, _SMALL_S = (480, 360), 15, 16.0
_STILL_PX = (400, 300)
# The robot's camera is rendered for every second frame: its picture is small, and the eye is on the scene.
_SIDE_EVERY = 2
# Frames that each thread may be ahead of the file.
_AHEAD = 4
# How often a film that waits for frames looks whether it should stop.
_GLANCE_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One picture: after which tick, and what is written on it."""

    tick: int
    words: str


class FilmStopped(Exception):
    """The film is not wanted any more and not whole yet; no file is left of it."""


def film(
    episode: Episode,
    scene: Scene,
    path: Path,
    *,
    fps: int = FPS,
    speed: int = 1,
    workers: int = 0,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> str:
    """Write a film of one episode; returns the renderer's name.

    An `.mp4` shows the scene, beside it what the robot's camera sees, and the states; it plays `speed` times as fast as
    the episode went. A `.gif` or `.webp` is small enough for a page: it shows the scene alone, and plays faster where
    the episode is long. Frames are rendered by `workers` threads; 0 means one for each core. `progress` is called first
    with 0 and then after each frame, with the number of frames done and the number of all. When `stop` turns true it
    raises `FilmStopped`.
    """
    kind = "rays" if gl_problem() else "gl"
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path.name}: expected a name that ends in {either(SUFFIXES)}")
    if not len(episode.log.states):
        raise InputError(f"{path}: the video would have no frames")
    fps, workers = fps if kind == "gl" else _RAYS_FPS, workers or cores()
    if path.suffix == ".mp4":
        _film(episode, scene, path, fps, speed, workers, stop, progress)
    else:
        _animation(episode, scene, path, fps, workers, stop, progress)
    return kind


def _film(
    episode: Episode,
    scene: Scene,
    path: Path,
    fps: int,
    speed: int,
    workers: int,
    stop: Callable[[], bool],
    progress: Callable[[int, int], object],
) -> None:
    ticks = _ticks(episode, scene, fps / speed)
    view = film_view(episode.scenario.task, episode.scenario.parameters, scene)
    frames = _rendered(episode, scene, view, ticks, SCENE_PX, workers, stop, side_every=_SIDE_EVERY)
    layout = FilmLayout(with_side=bool(view.side_camera))
    progress(0, len(ticks))
    with VideoWriter(path, *FILM_PX, fps) as video, closing(frames):
        sides = _sides(episode, scene, ticks, frames)
        for done, (tick, (rgb, side)) in enumerate(zip(ticks, sides, strict=True), start=1):
            _check(stop)
            video.write(layout.frame(rgb, side, _words(episode, scene, tick, last=tick == ticks[-1], speed=speed)))
            progress(done, len(ticks))


def _animation(
    episode: Episode,
    scene: Scene,
    path: Path,
    fps: int,
    workers: int,
    stop: Callable[[], bool],
    progress: Callable[[int, int], object],
) -> None:
    fps = min(fps, _SMALL_FPS)
    times = max(1, -(-len(episode.log.states) // round(_SMALL_S * scene.robot.control_hz)))
    ticks = _ticks(episode, scene, fps / times)
    frames = _rendered(episode, scene, FilmView(side_camera=""), ticks, _SMALL_PX, workers, stop)
    progress(0, len(ticks))
    with AnimationWriter(path, fps) as animation, closing(frames):
        for done, (tick, frame) in enumerate(zip(ticks, frames, strict=True), start=1):
            _check(stop)
            words = _words(episode, scene, tick, last=tick == ticks[-1])
            text = words.verdict or plain("".join(words.states[-1:]))
            text = text if times == 1 else f"{text}   x{times}"
            animation.write(labelled(resized(frame.rgb, _SMALL_PX), text))
            progress(done, len(ticks))


def still_sheet(
    episode: Episode,
    scene: Scene,
    path: Path,
    *,
    moments: Sequence[Moment] | None = None,
    count: int = 12,
    columns: int = 4,
) -> None:
    """Write a contact sheet: moments of one episode in one picture, or a number of them at equal distances.

    Where the task marks what it sees in a camera's pictures, these are beside the scene.
    """
    if moments is None:
        ticks = np.unique(np.linspace(0, len(episode.log.states) - 1, count).astype(int)).tolist()
        moments = [_moment(episode, scene, tick, last=tick == ticks[-1]) for tick in ticks]
    ticks = [each.tick for each in moments]
    view = film_view(episode.scenario.task, episode.scenario.parameters, scene)
    view = view if view.annotated else FilmView(side_camera="")
    # A task looks when its camera is still, which takes two pictures.
    looked = sorted({max(tick - before, 0) for tick in ticks for before in ((0, 2) if view.annotated else (0,))})
    frames = _rendered(episode, scene, view, looked, _STILL_PX, 1, lambda: False)
    with closing(frames):
        shown = dict(zip(looked, _sides(episode, scene, looked, frames), strict=True))
        stills = []
        for moment in moments:
            rgb, side = shown[moment.tick]
            still = caption(resized(rgb, _STILL_PX), [moment.words])
            stills.append(still if side is None else np.concatenate([still, resized(side, _STILL_PX)], axis=1))
    Image.fromarray(contact_sheet(stills, columns)).save(path, optimize=True)


def _check(stop: Callable[[], bool]) -> None:
    if stop():
        raise FilmStopped


def _ticks(episode: Episode, scene: Scene, fps: float) -> list[int]:
    return np.arange(0, len(episode.log.states), scene.robot.control_hz / fps).astype(int).tolist()


def _words(episode: Episode, scene: Scene, tick: int, *, last: bool, speed: int = 1) -> Words:
    time_s = (tick + 1) * scene.robot.dt_s
    title = f"{episode.scenario.task.name}, seed {episode.scenario.seed}"
    return Words(
        title=title if speed == 1 else f"{title} ({speed}x)",
        time_s=time_s,
        states=tuple(name for entered_s, name in episode.entries if entered_s <= time_s + 1e-9),
        verdict=episode.verdict if last else "",
        succeeded=episode.succeeded,
    )


def _moment(episode: Episode, scene: Scene, tick: int, *, last: bool) -> Moment:
    """A tick with the state that is played then, or the verdict if it is the last."""
    words = _words(episode, scene, tick, last=last)
    return Moment(tick=tick, words=f"{words.time_s:.1f} s  {words.verdict or plain(''.join(words.states[-1:]))}")


def _sides(
    episode: Episode, scene: Scene, ticks: Sequence[int], frames: Iterator[Frame]
) -> Iterator[tuple[Pixels, Pixels | None]]:
    """The scene and the camera's picture beside it, with what the task sees in it.

    What a task sees follows from picture to picture, so this is done in order, and by one thread.
    """
    make = episode.scenario.task.annotator
    annotate = None if make is None else make(episode.scenario.parameters)
    joints = [scene.joint_address(name) for name in scene.robot.joints]
    for tick, frame in zip(ticks, frames, strict=True):
        if annotate is None or frame.side is None:
            yield frame.rgb, None if frame.side is None else frame.side.rgb
            continue
        shown = shown_tick(episode.log.events, tick, annotate.camera, scene.robot.control_hz)
        time_s = (tick + 1) * scene.robot.dt_s
        yield frame.rgb, annotate(frame.side, time_s, episode.log.states[shown or 0][joints])


def _rendered(
    episode: Episode,
    scene: Scene,
    view: FilmView,
    ticks: Sequence[int],
    size_px: tuple[int, int],
    workers: int,
    stop: Callable[[], bool],
    *,
    side_every: int = 1,
) -> Generator[Frame, None, None]:
    """Frames in order, the same bits from any thread; some of them without the camera's picture beside."""
    viewpoint = frame_episode(episode.log, scene, size_px[0] / size_px[1])
    shots = (
        shot_of(episode.log, tick, view if index % side_every == 0 else FilmView(side_camera=""), scene)
        for index, tick in enumerate(ticks)
    )
    if workers == 1:
        return _rendered_here(scene, view, viewpoint, size_px, shots)
    return _rendered_by_threads(scene, view, viewpoint, size_px, shots, workers, stop)


def _rendered_here(
    scene: Scene, view: FilmView, viewpoint: Viewpoint, size_px: tuple[int, int], shots: Iterator[Shot]
) -> Generator[Frame, None, None]:
    with closing(FrameRenderer(scene, view, viewpoint, size_px, SIDE_PX)) as renderer:
        for shot in shots:
            yield renderer.render(shot)


def _rendered_by_threads(
    scene: Scene,
    view: FilmView,
    viewpoint: Viewpoint,
    size_px: tuple[int, int],
    shots: Iterator[Shot],
    workers: int,
    stop: Callable[[], bool],
) -> Generator[Frame, None, None]:
    """Threads and not processes: what renders lets go of the interpreter, and a process takes as long to start as
    fifty frames take to render."""
    mine, opened = threading.local(), list[FrameRenderer]()

    def render(shot: Shot) -> Frame:
        if not hasattr(mine, "renderer"):
            mine.renderer = FrameRenderer(scene, view, viewpoint, size_px, SIDE_PX)
            opened.append(mine.renderer)
        return mine.renderer.render(shot)

    waiting = deque[Future[Frame]]()
    pool = ThreadPoolExecutor(workers, "film")
    try:
        for shot in shots:
            waiting.append(pool.submit(render, shot))
            if len(waiting) >= _AHEAD * workers:
                yield _result(waiting.popleft(), stop)
        while waiting:
            yield _result(waiting.popleft(), stop)
    finally:
        pool.shutdown(cancel_futures=True)
        for renderer in opened:
            renderer.close()


def _result(frame: Future[Frame], stop: Callable[[], bool]) -> Frame:
    while True:
        _check(stop)
        try:
            return frame.result(_GLANCE_S)
        except NotYet:
            if frame.done():
                raise
