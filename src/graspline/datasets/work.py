"""What workers do: play attempts and judge them, and draw those that are kept. Plain data in, plain data out.

Nothing here knows who calls: the same functions run in a process of this machine and on another one.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.datasets.films import Film, film, open_view
from graspline.datasets.frames import frame_values
from graspline.datasets.recording import Recording, recording_of
from graspline.datasets.rows import Rejected, rejected_of
from graspline.datasets.settings import DatasetSettings
from graspline.episodes.run import run_scenarios
from graspline.episodes.views import View
from graspline.machine.machine import Machine
from graspline.parameters import load
from graspline.rendering.choose import Renderer
from graspline.scenes.scene import Scene
from graspline.tasks.catalogue import find_task

# What a worker's environment holds before it starts: one thread each, for the workers fill the cores.
ENVIRONMENT = {
    "LP_NUM_THREADS": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MUJOCO_GL": "disable",
}
# After this much simulated time an attempt is given up. A belt may bring blocks for many minutes.
_LIMIT_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """Play these seeds side by side."""

    settings: DatasetSettings
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Draw one recording's pictures and lay out its rows."""

    settings: DatasetSettings
    recording: Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Everything of one episode that a commit writes."""

    recording: Recording
    values: dict[str, NDArray[Any]]
    films: dict[str, Film]


Order = Attempts | Drawing


def do(order: Order) -> list[Recording | Rejected] | Drawn:
    """Fill one order."""
    return attempt(order) if isinstance(order, Attempts) else draw(order)


def attempt(order: Attempts) -> list[Recording | Rejected]:
    """One entry for each seed, in order: a recording if it is kept, else why it is not."""
    settings = order.settings
    scenarios = [settings.scenario(seed) for seed in order.seeds]
    _, machine = _scene_and_machine(settings)
    found: dict[int, Recording | Rejected] = {}
    episodes = run_scenarios(scenarios, lanes=len(scenarios), threads=1, record_states=True, limit_s=_LIMIT_S)
    for episode in episodes:
        recording = recording_of(episode, machine)
        found[recording.seed] = recording if is_kept(recording, settings) else rejected_of(recording)
    return [found[seed] for seed in order.seeds]


def is_kept(recording: Recording, settings: DatasetSettings) -> bool:
    """Whether an episode becomes part of a dataset."""
    if recording.succeeded:
        return True
    # What broke down is no demonstration of failing either.
    whole = bool(recording.log.ticks) and bool(np.isfinite(recording.log.states).all())
    return settings.keep == "all" and whole and recording.verdict not in ("crashed", "hung", "interrupted")


def draw(order: Drawing) -> Drawn:
    """Pictures and rows of one episode."""
    settings, recording = order.settings, order.recording
    scene, machine = _scene_and_machine(settings)
    films = {}
    for view in settings.views:
        films[view.key] = film(recording, settings, scene, view, _renderer(settings, view))
    values = frame_values(recording, settings, scene, machine)
    # The states were needed for this; a commit is made from the rest.
    return Drawn(recording=recording.without_states(), values=values, films=films)


def _scene_and_machine(settings: DatasetSettings) -> tuple[Scene, Machine]:
    return _built(settings.task, json.dumps(settings.parameters, sort_keys=True))


@functools.lru_cache(maxsize=2)
def _built(task_name: str, parameters_json: str) -> tuple[Scene, Machine]:
    task = find_task(task_name)
    parameters = load(task.parameters, json.loads(parameters_json))
    return task.scene(parameters), task.machine(parameters)


_RENDERERS: dict[tuple[Scene, View, str, bool], Renderer] = {}


def _renderer(settings: DatasetSettings, view: View) -> Renderer:
    """One renderer for each view and process, kept open: opening one takes longer than many pictures."""
    scene, _ = _scene_and_machine(settings)
    key = scene, view, settings.renderer, settings.smooth
    if key not in _RENDERERS:
        _RENDERERS[key] = open_view(scene, settings, view)
    return _RENDERERS[key]
