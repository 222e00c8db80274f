"""A film of an episode that plays in a notebook."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from graspline.engine.cpu import CpuEngine
from graspline.episodes.episode import Episode
from graspline.episodes.films.film import SUFFIXES, film
from graspline.episodes.log import replay_logs
from graspline.errors import EnvironmentProblem, InputError, either
from graspline.scenes.scene import Scene


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineFilm:
    """An mp4 file in memory. A notebook plays it, and keeps it when the notebook is saved."""

    mp4: bytes
    title: str
    # Renders the same episode to a file of another kind, by the file's name.
    render: Callable[[Path], object]

    def save(self, path: str | Path) -> Path:
        """Write the film as .mp4, or render it as a small .gif or .webp; returns the path."""
        path = Path(path)
        if path.suffix not in SUFFIXES:
            raise InputError(f"{path}: expected a name that ends in {either(SUFFIXES)}")
        try:
            if path.suffix == ".mp4":
                path.write_bytes(self.mp4)
            else:
                self.render(path)
        except OSError as error:
            raise EnvironmentProblem(f"{path}: cannot be written: {error.strerror or error}") from None
        return path

    def __repr__(self) -> str:
        return f"<InlineFilm of {self.title}: {len(self.mp4) / 1e3:.0f} kB>"

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.mp4).decode()
        return (
            f"<video controls autoplay loop muted playsinline style='max-width:100%' title='{escape(self.title)}' "
            f"src='data:video/mp4;base64,{data}'></video>"
        )


def filmed(episode: Episode) -> InlineFilm:
    """Render an episode's film; where its states were not recorded, its log is replayed first."""
    scenario = episode.scenario
    scene = scenario.task.scene(scenario.parameters)
    complete = _with_states(episode, scene)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        film(complete, scene, path)
        title = f"{scenario.task.name}, seed {scenario.seed}: {episode.verdict}"
        return InlineFilm(mp4=path.read_bytes(), title=title, render=lambda other: film(complete, scene, other))


def _with_states(episode: Episode, scene: Scene) -> Episode:
    """The same episode with its state after each tick. A log replays to the same bits on the engine it came from."""
    if len(episode.log.states):
        return episode
    if not episode.log.ticks:
        raise InputError("the episode ended before its first tick: there is nothing to film")
    (replayed,) = replay_logs(CpuEngine(scene, 1, 1), [episode.log])
    if replayed.state_hash != episode.state_hash:
        raise InputError("the log does not replay to the same state here; run the episode with record_states=True")
    return replace(episode, log=replace(episode.log, states=replayed.states[1:]))
