"""Films of episodes, rendered from their logs after they were judged, by as many processes as there are cores."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np
from PIL import Image

from graspline.episodes.film_frames import (
    FilmView,
    Frame,
    FrameRenderer,
    Shot,
    film_view,
    open_shared,
    render_shots,
    shot_of,
)
from graspline.episodes.run import Episode, cores
from graspline.episodes.workers import WorkerPool
from graspline.execution.eyesight import shown_tick
from graspline.rendering.choose import gl_problem
from graspline.rendering.picture import Pixels
from graspline.rendering.video import VideoWriter, contact_sheet
from graspline.scenes.scene import Scene

# Frames a second of a film; each costs as much as several pictures of a dataset, for it has shadows.
FPS = 20
# Shots that are rendered by one job: short enough that stopping is heard soon, long enough to be worth sending.
_JOB = 6
# Jobs that each worker may be ahead of the file.
_AHEAD = 3
# With fewer frames than this, this process is done before another one has started.
_LEAST_FOR_WORKERS = 60
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
    workers: int = 0,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> str:
    """Write an mp4 of one episode, the state written on it, the wrist camera in a corner; returns the renderer's name.

    Frames are rendered by `workers` processes; 0 means one for each core. Without OpenGL the picture is smaller and has
    fewer frames, so that it does not take minutes. `progress` is called first with 0 and then after each frame.
    When `stop` turns true it raises `FilmStopped`.
    """
    kind = "rays" if gl_problem() else "gl"
    width, height, fps = (640, 480, fps) if kind == "gl" else (320, 240, min(fps, 5))
    ticks = range(0, len(episode.log.states), scene.robot.control_hz // fps)
    moments = [_moment(episode, scene, tick, ticks) for tick in ticks]
    view = _view(episode, scene, width, height)
    shots = _shots(episode, scene, view, moments)
    frames = _rendered(scene, view, shots, workers or cores(), stop)
    progress(0, len(moments))
    with VideoWriter(path, 2 * width if view.seen_camera else width, height, fps) as video, closing(frames):
        for done, rgb in enumerate(_finished(episode, scene, view, moments, frames), start=1):
            if stop():
                raise FilmStopped
            video.write(rgb)
            progress(done, len(moments))
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
    """Write a contact sheet: moments of one episode in one picture, or a number of them at equal distances."""
    if moments is None:
        ticks = np.linspace(0, len(episode.log.states) - 1, count).astype(int).tolist()
        moments = [_moment(episode, scene, tick, ticks) for tick in ticks]
    view = _view(episode, scene, 320, 240)
    frames = _rendered_here(scene, view, _shots(episode, scene, view, moments))
    with closing(frames):
        sheet = contact_sheet(list(_finished(episode, scene, view, moments, frames)), columns)
    Image.fromarray(sheet).save(path, optimize=True)


def _view(episode: Episode, scene: Scene, width: int, height: int) -> FilmView:
    return film_view(episode.scenario.task, episode.scenario.parameters, scene, width, height)


def _moment(episode: Episode, scene: Scene, tick: int, ticks: Sequence[int]) -> Moment:
    """A tick with the state that is played then, or the verdict if it is the last."""
    time_s = (tick + 1) * scene.robot.dt_s
    state = [name for entered_s, name in episode.entries if entered_s <= time_s + 1e-9][-1:]
    words = episode.verdict if tick == ticks[-1] else "".join(state)
    named = f"{episode.scenario.task.name}  seed {episode.scenario.seed}"
    return Moment(tick=tick, words=f"{named}   {time_s:5.2f} s   {words}")


def _shots(episode: Episode, scene: Scene, view: FilmView, moments: Sequence[Moment]) -> list[Shot]:
    return [shot_of(episode.log, moment.tick, moment.words, view, scene) for moment in moments]


def _finished(
    episode: Episode, scene: Scene, view: FilmView, moments: Sequence[Moment], frames: Iterator[Frame]
) -> Iterator[Pixels]:
    """Frames as the film shows them: beside the scene the camera's picture with what the task sees in it.

    What a task sees follows from picture to picture, so this is done in order, and by one process.
    """
    make = episode.scenario.task.annotator
    annotate = None if make is None else make(episode.scenario.parameters)
    joints = [scene.joint_address(name) for name in scene.robot.joints]
    for moment, frame in zip(moments, frames, strict=True):
        if annotate is None or frame.seen is None:
            yield frame.rgb
            continue
        shown = shown_tick(episode.log.events, moment.tick, annotate.camera, scene.robot.control_hz)
        drawn = annotate(frame.seen, (moment.tick + 1) * scene.robot.dt_s, episode.log.states[shown or 0][joints])
        size = view.width, view.height
        beside = np.asarray(Image.fromarray(drawn).resize(size, Image.Resampling.BILINEAR))
        yield np.concatenate([frame.rgb, beside], axis=1)


def _rendered(
    scene: Scene, view: FilmView, shots: Sequence[Shot], workers: int, stop: Callable[[], bool]
) -> Generator[Frame, None, None]:
    """Frames in order, the same bits from any process."""
    if workers == 1 or len(shots) < _LEAST_FOR_WORKERS:
        return _rendered_here(scene, view, shots)
    return _rendered_by_workers(scene, view, shots, workers, stop)


def _rendered_here(scene: Scene, view: FilmView, shots: Sequence[Shot]) -> Generator[Frame, None, None]:
    with closing(FrameRenderer(scene, view)) as renderer:
        for shot in shots:
            yield renderer.render(shot)


def _rendered_by_workers(
    scene: Scene, view: FilmView, shots: Sequence[Shot], workers: int, stop: Callable[[], bool]
) -> Generator[Frame, None, None]:
    jobs = [shots[first : first + _JOB] for first in range(0, len(shots), _JOB)]
    found: dict[int, list[Frame]] = {}
    sent = 0
    with (
        _shared(pickle.dumps((scene, view))) as memory,
        WorkerPool(min(workers, len(jobs)), render_shots, functools.partial(open_shared, memory)) as pool,
    ):
        for number in range(len(jobs)):
            while number not in found:
                while sent < min(len(jobs), number + _AHEAD * pool.size):
                    pool.submit(sent, jobs[sent])
                    sent += 1
                if stop():
                    raise FilmStopped
                found.update((each.ticket, each.result) for each in pool.results_within(_GLANCE_S))
            yield from found.pop(number)


@contextmanager
def _shared(contents: bytes) -> Iterator[str]:
    """The name of memory that holds this. In a pipe, each worker would have to start before the next one could."""
    memory = SharedMemory(create=True, size=len(contents))
    try:
        assert memory.buf is not None
        memory.buf[: len(contents)] = contents
        yield memory.name
    finally:
        memory.close()
        memory.unlink()
