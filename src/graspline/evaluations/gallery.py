"""Pictures of episodes that failed, rendered from their logs: the start, the telling moment and the end."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TypeVar

from PIL import Image

from graspline.engine.cpu import CpuEngine
from graspline.episodes.films.frames import FilmView, FrameRenderer, film_view, shot_of
from graspline.episodes.films.framing import frame_episode
from graspline.episodes.log import replay_logs
from graspline.errors import GrasplineError
from graspline.evaluations.store import Evaluation, Line
from graspline.rendering.video import caption, contact_sheet

T = TypeVar("T")

# Episodes of each mode, and the size of a frame; a sheet of three takes about 20 kB.
PER_MODE = 3
_SIZE_PX = (320, 240)
_QUALITY = 76


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureSheet:
    """Three moments of an episode in one picture."""

    line: Line
    jpeg: bytes
    width: int
    height: int
    # Whether the log, played again here, ended in the same state.
    same: bool

    @property
    def source(self) -> str:
        """For the page."""
        return f"data:image/jpeg;base64,{base64.b64encode(self.jpeg).decode('ascii')}"


def chosen(seeds: Sequence[T]) -> list[T]:
    """A few of them, spread evenly."""
    if len(seeds) <= PER_MODE:
        return list(seeds)
    return [seeds[round(number * (len(seeds) - 1) / (PER_MODE - 1))] for number in range(PER_MODE)]


def problem(evaluation: Evaluation) -> str:
    """Why no pictures can be rendered; empty if they can."""
    try:
        task, parameters = evaluation.settings.found_task()
        film_view(task, parameters, task.scene(parameters))
    except GrasplineError as error:
        return str(error)
    return ""


def sheets(
    evaluation: Evaluation, seeds: Sequence[int], stop: Callable[[], bool] = lambda: False
) -> Iterator[FailureSheet]:
    """A sheet of each of these episodes, until a stop is requested."""
    task, parameters = evaluation.settings.found_task()
    scene = task.scene(parameters)
    # In a frame this small there is no room for another camera's picture.
    view = FilmView(side_camera="")
    engine = CpuEngine(scene, 1, 1)
    for seed in seeds:
        if stop():
            return
        line = evaluation.lines[seed]
        kept = evaluation.log_of(line)
        if kept.log.ticks == 0:
            # It failed before it moved.
            continue
        (again,) = replay_logs(engine, [kept.log])
        log, dt_s = replace(kept.log, states=again.states[1:]), scene.robot.dt_s
        viewpoint = frame_episode(log, scene, _SIZE_PX[0] / _SIZE_PX[1])
        with closing(FrameRenderer(scene, view, viewpoint, _SIZE_PX, _SIZE_PX)) as renderer:
            frames = [
                caption(renderer.render(shot_of(log, tick, view, scene)).rgb, [f"{(tick + 1) * dt_s:.1f} s  {words}"])
                for tick, words in _moments(line, log.ticks, dt_s).items()
            ]
        image, buffer = Image.fromarray(contact_sheet(frames, len(frames))), io.BytesIO()
        image.save(buffer, "JPEG", quality=_QUALITY, optimize=True)
        yield FailureSheet(
            line=line,
            jpeg=buffer.getvalue(),
            width=image.width,
            height=image.height,
            same=again.state_hash == line["state_hash"],
        )


def _moments(line: Line, ticks: int, dt_s: float) -> dict[int, str]:
    """Ticks and what is written on them."""
    failure = line.get("failure", {})
    last = ticks - 1
    found = {0: "start"}
    if failure.get("t_s") is not None:
        tick = min(max(round(failure["t_s"] / dt_s) - 1, 1), max(last - 1, 0))
        found[tick] = str(failure["moment"]).replace("_", " ")
    else:
        found[last // 2] = "half-way"
    found[last] = "end"
    return dict(sorted(found.items()))
