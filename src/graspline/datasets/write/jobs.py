"""What workers do: play attempts and judge them, certify what a GPU played, and render what is kept.

Plain data in, plain data out.

Nothing here depends on the caller: the same functions run in a process of this machine and on another one.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.datasets.format.frames import frame_values
from graspline.datasets.format.recording import Recording, recording_of
from graspline.datasets.format.rows import Rejected, rejected_of
from graspline.datasets.format.settings import DatasetSettings
from graspline.datasets.format.video import Artist, Film, Mp4, OneByOne, OpenEncoder, film, open_view
from graspline.datasets.write.episode_files import EpisodePosition, LaidOut, lay_out
from graspline.engine.cpu import CpuEngine
from graspline.episodes.camera_views import View
from graspline.episodes.episode import HUNG, INTERRUPTED, POLICY_ERROR, Episode
from graspline.episodes.log import replay_logs
from graspline.episodes.policy_drivers import MakePilot, PilotOrder, WorkerPilot
from graspline.episodes.replay_outcome import ended_in
from graspline.episodes.run import run_scenarios
from graspline.errors import EnvironmentProblem, InputError, WiringError
from graspline.evidence import failures, passes
from graspline.machine.machine import Machine
from graspline.parameters import load
from graspline.registry import Origin
from graspline.scenes.scene import Scene
from graspline.stopwatch import seconds
from graspline.tasks.catalogue import TASKS

# After this much simulated time an attempt is given up. Objects may arrive for many minutes.
LIMIT_S = 3600.0
# Verdict of what a GPU played and the CPU does not agree with.
NOT_CERTIFIED = "not_certified"
# Verdict of attempts that a policy finished itself, where only takeovers are kept.
NO_TAKEOVER = "no_takeover"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """Play these seeds side by side."""

    settings: DatasetSettings
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Render one recording's images and lay out its rows."""

    settings: DatasetSettings
    recording: Recording
    # Where it goes if nothing before it falls out.
    place: EpisodePosition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Everything of one episode that a commit writes."""

    recording: Recording
    values: dict[str, NDArray[Any]]
    films: dict[str, Film]
    # How long each part of the work took, in seconds by its name.
    took_s: dict[str, float]
    # Its files, for the place that was foreseen.
    laid_out: LaidOut | None = None


Order = Attempts | Drawing


def do(job: Order, open_encoder: OpenEncoder = Mp4) -> list[Recording | Rejected] | Drawn | Rejected:
    """Execute one job; pictures are encoded by an encoder of this kind."""
    if isinstance(job, Attempts):
        return attempt(job)
    began = seconds()
    recording = _certified(job) if job.settings.certified else job.recording
    if isinstance(recording, Rejected):
        return recording
    certify_s = seconds() - began
    rendered = render(replace(job, recording=recording), open_encoder)
    return replace(rendered, took_s={"certify": certify_s, **rendered.took_s})


def attempt(job: Attempts) -> list[Recording | Rejected]:
    """One entry for each seed, in job: a recording if it is kept, else why it is not."""
    scenarios = [job.settings.scenario(seed) for seed in job.seeds]
    pilot = _pilot(job.settings) if job.settings.from_policy else None
    episodes = run_scenarios(
        scenarios,
        lanes=len(scenarios),
        threads=1,
        record_states=True,
        limit_s=LIMIT_S,
        pilot=pilot,
        open_source=None if pilot is None else pilot.open_source,
    )
    found: dict[int, Recording | Rejected] = {}
    for episode in episodes:
        if episode.verdict == POLICY_ERROR:
            raise InputError(_policy_error(episode, job.settings))
        found[episode.scenario.seed] = judged(episode, job.settings)
    return [found[seed] for seed in job.seeds]


def _policy_error(episode: Episode, settings: DatasetSettings) -> str:
    """What went wrong with a policy, on one line: the end of a traceback tells what it was."""
    lines = episode.error.strip().splitlines() or ["it gave no action"]
    return f"--from-policy {settings.from_policy['policy']}: seed {episode.scenario.seed}: {lines[-1].strip()}"


def judged(episode: Episode, settings: DatasetSettings) -> Recording | Rejected:
    """What becomes of an episode that has been played."""
    scene, machine = _scene_and_machine(settings)
    recording = recording_of(episode, machine)
    if settings.from_policy:
        recording = replace(recording, scenario={**recording.scenario, "from_policy": settings.from_policy})
    taken = recording.takeover
    if settings.keep == "takeover" and taken is None and recording.succeeded:
        return replace(rejected_of(recording), verdict=NO_TAKEOVER, cause="the policy succeeded by itself")
    if settings.record == "intervention" and taken is not None:
        recording = replace(recording, first_tick=round(taken.t_s * scene.robot.control_hz))
    return recording if is_kept(recording, settings) else rejected_of(recording)


def is_kept(recording: Recording, settings: DatasetSettings) -> bool:
    """Whether an episode becomes part of a dataset."""
    if recording.succeeded:
        return True
    # What broke down is no demonstration of failing either.
    whole = bool(recording.log.ticks) and bool(np.isfinite(recording.log.states).all())
    return settings.keep == "all" and whole and recording.verdict not in ("crashed", HUNG, INTERRUPTED)


def render(job: Drawing, open_encoder: OpenEncoder = Mp4) -> Drawn:
    """Pictures and rows of one episode."""
    settings, recording = job.settings, job.recording
    scene, machine = _scene_and_machine(settings)
    films, began = dict[str, Film](), seconds()
    for view in settings.views:
        films[view.key] = film(recording, settings, scene, view, _artist(settings, view), open_encoder)
    filmed = seconds()
    values = frame_values(recording, settings, scene, machine)
    # The states were needed for this; a commit is made from the rest.
    recording = recording.without_states()
    laid_out = lay_out(recording, values, films, settings, scene, job.place) if job.place else None
    render_s = sum(each.rendering_s for each in films.values())
    took_s = {"render": render_s, "encode": filmed - began - render_s, "rows": seconds() - filmed}
    return Drawn(recording=recording, values=values, films=films, took_s=took_s, laid_out=laid_out)


def _certified(job: Drawing) -> Recording | Rejected:
    """Play a recording again on the CPU: what is written is what happens there."""
    recording, (task, parameters) = job.recording, job.settings.found_task()
    engine = _engine(task.scene(parameters))
    (replayed,) = replay_logs(engine, [recording.log])
    end = ended_in(engine, task, parameters, recording.log, replayed)
    if recording.verdict == "physics_diverged" and not engine.diverged[replayed.lane]:
        return replace(rejected_of(recording), verdict=NOT_CERTIFIED, cause="on the CPU nothing diverged")
    if passes(end.goal) != recording.succeeded:
        broken = failures(end.goal)
        cause = f"on the CPU {broken[0]}" if broken else "on the CPU it is at its goal"
        return replace(rejected_of(recording), verdict=NOT_CERTIFIED, cause=cause)
    return replace(
        recording,
        state_hash=replayed.state_hash,
        truth=end.truth,
        scenario={**recording.scenario, "certified": True},
        log=replace(recording.log, states=replayed.states[1:]),
    )


@functools.lru_cache(maxsize=2)
def _engine(scene: Scene) -> CpuEngine:
    return CpuEngine(scene, 1, 1)


def _scene_and_machine(settings: DatasetSettings) -> tuple[Scene, Machine]:
    return _built(settings.origin, json.dumps(settings.parameters, sort_keys=True))


@functools.lru_cache(maxsize=2)
def _built(origin: Origin, parameters_json: str) -> tuple[Scene, Machine]:
    task = TASKS.again(origin)
    parameters = load(task.parameters, json.loads(parameters_json))
    return task.scene(parameters), task.machine(parameters)


# What makes the pilot of attempts from a policy in this process, and the one that was made.
_MAKE_PILOT: list[MakePilot] = []
_PILOTS: dict[str, WorkerPilot] = {}


def fly_with(make_pilot: MakePilot) -> None:
    """Have attempts from a policy played in this process by a pilot that this makes, with the first of them."""
    _MAKE_PILOT.append(make_pilot)


def _pilot(settings: DatasetSettings) -> WorkerPilot:
    key = json.dumps(settings.as_dict(), sort_keys=True)
    if key not in _PILOTS:
        if not _MAKE_PILOT:
            raise WiringError("attempts from a policy, but nothing here lets a policy play")
        task, parameters = settings.found_task()
        _PILOTS[key] = _MAKE_PILOT[-1](
            PilotOrder(
                task=task,
                parameters=parameters,
                fps=settings.fps,
                views=settings.views,
                units=settings.units,
                smooth=settings.smooth,
                from_policy=settings.from_policy,
            )
        )
    return _PILOTS[key]


# The source of images of this process, kept: opening a renderer takes longer than many pictures.
_ARTISTS: dict[tuple[Scene, View, str, bool], OneByOne] = {}
_OPEN_REMOTE: list[Callable[[Scene], Artist]] = []


def render_elsewhere(open_artist: Callable[[Scene], Artist]) -> None:
    """Have the images of this process rendered by another one, which `open_artist` connects to."""
    _OPEN_REMOTE.append(open_artist)


def _artist(settings: DatasetSettings, view: View) -> Artist:
    scene, _ = _scene_and_machine(settings)
    if settings.renderer == "warp":
        return _remote_artist(scene)
    key = scene, view, settings.renderer, settings.smooth
    if key not in _ARTISTS:
        _ARTISTS[key] = open_view(scene, settings, view)
    return _ARTISTS[key]


@functools.lru_cache(maxsize=1)
def _remote_artist(scene: Scene) -> Artist:
    if not _OPEN_REMOTE:
        raise EnvironmentProblem("these images are rendered on a GPU: add --engine gpu")
    return _OPEN_REMOTE[-1](scene)
