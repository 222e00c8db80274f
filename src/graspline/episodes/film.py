"""Films of episodes, drawn from their logs after they were judged."""

from __future__ import annotations

from collections.abc import Iterator
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


def film(episode: Episode, scene: Scene, path: Path) -> str:
    """Write an mp4 of one episode, the state drawn on it, the wrist camera in a corner; returns the renderer's name.

    Without OpenGL the picture is smaller and has fewer frames, so that it does not take minutes.
    """
    kind = "rays" if gl_problem() else "gl"
    width, height, fps = (640, 480, 30) if kind == "gl" else (320, 240, 5)
    with (
        open_renderer(scene, width, height) as front,
        open_renderer(scene, width // 3, height // 3) as wrist,
        VideoWriter(path, width, height, fps) as video,
    ):
        step = scene.robot.control_hz // fps
        for frame in _frames(episode, front, wrist, range(0, len(episode.log.states), step), scene):
            video.write(frame)
    return kind


def still_sheet(episode: Episode, scene: Scene, path: Path, *, count: int = 12, columns: int = 4) -> None:
    """Write a contact sheet: a few moments of one episode in one picture."""
    ticks = np.linspace(0, len(episode.log.states) - 1, count).astype(int)
    with open_renderer(scene, 320, 240) as front, open_renderer(scene, 106, 80) as wrist:
        frames = list(_frames(episode, front, wrist, ticks.tolist(), scene))
    Image.fromarray(contact_sheet(frames, columns)).save(path)


def _frames(
    episode: Episode, front: Renderer, wrist: Renderer, ticks: range | list[int], scene: Scene
) -> Iterator[Pixels]:
    log, dt_s = episode.log, scene.robot.dt_s
    for tick in ticks:
        time_s = (tick + 1) * dt_s
        picture = _drawn(log, tick, front, "front", shadows=front.name == "gl").copy()
        corner = _drawn(log, tick, wrist, "wrist")
        height, width = corner.shape[:2]
        picture[-height - 6 : -2, -width - 6 : -2] = 255
        picture[-height - 4 : -4, -width - 4 : -4] = corner
        state = [name for entered_s, name in episode.entries if entered_s <= time_s + 1e-9][-1:]
        last = tick == ticks[-1]
        told = f"{episode.verdict}" if last else (state[0] if state else "")
        yield caption(
            picture,
            [f"{episode.scenario.task.name}  seed {episode.scenario.seed}   {time_s:5.2f} s   {told}"],
        )


def _drawn(log: EpisodeLog, tick: int, renderer: Renderer, camera: str, *, shadows: bool = False) -> Pixels:
    """What a camera delivered after a tick: a blackout stays black, a frozen picture stays as it was."""
    shown = shown_tick(log.events, tick, camera)
    if shown is None:
        return np.zeros((renderer.height, renderer.width, 3), np.uint8)
    return renderer.draw(log.states[shown], log.variation, camera, shadows=shadows).rgb
