"""Episodes that were played live: the last few in memory, and all of them in a dataset where one is wanted."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graspline.choices import DEFAULT_VIEWS
from graspline.episodes.camera_views import views_of
from graspline.episodes.episode import Episode
from graspline.errors import InputError
from graspline.execution.drivers import TELEOP
from graspline.parameters import Parameters
from graspline.rendering.choose import gl_problem
from graspline.serve.live.commands import ReplayEpisode
from graspline.serve.live.teleop import RecordingPlace
from graspline.tasks.task import Task

if TYPE_CHECKING:
    from graspline.datasets.format.rows import Row
    from graspline.datasets.format.store import Dataset
    from graspline.datasets.write.writer import Writer

# What writes datasets is imported where one is written: it takes a quarter of a second, in which a server is awaited.
_MOST = 20


class Archive:
    """Where a session's episodes go. `keep` is called in one thread, the rest from any."""

    def __init__(self, writer: Writer | None) -> None:
        self._writer = writer
        self._lock = threading.Lock()
        self._episodes: OrderedDict[str, ReplayEpisode] = OrderedDict()
        self._kept = 0
        self._seeds = set[int]() if writer is None or not writer.committed else _seeds_in(writer.root)

    @property
    def place(self) -> str:
        """What people call the dataset; empty if there is none."""
        return "" if self._writer is None else self._writer.root.name

    def place_for(self, task: str) -> RecordingPlace:
        """What a session of a task has to know of the dataset."""
        if self._writer is None:
            return RecordingPlace(problem="nothing can be recorded: start the server with --record DIR")
        if self._writer.settings.task != task:
            return RecordingPlace(problem=f"{self.place} holds {self._writer.settings.task}, not {task}")
        return RecordingPlace(has=lambda seed: seed in self._seeds)

    def keep(self, episode: Episode) -> str:
        """Remember an episode, and write it; returns what became of it, in words."""
        scenario = episode.scenario
        self._kept += 1
        by_hand = ", by hand" if any(state == TELEOP for _, state in episode.entries) else ""
        name = f"{self._kept:03d} {scenario.task.name}, seed {scenario.seed}{by_hand}: {episode.verdict}"
        with self._lock:
            self._episodes[name] = ReplayEpisode(episode.log, name, episode.state_hash)
            while len(self._episodes) > _MOST:
                self._episodes.popitem(last=False)
        if self._writer is None:
            return ""
        row = self._write(self._writer, episode)
        self._seeds.add(scenario.seed)
        return f"episode {row['episode_index']} written into {self.place}, {row['length']} frames: {episode.verdict}"

    def known(self, task: str) -> Mapping[str, Callable[[], ReplayEpisode]]:
        """Episodes of a task that can be replayed, by name."""
        with self._lock:
            recent = {name: partial(_same, each) for name, each in self._episodes.items() if f" {task}," in name}
        if self._writer is None or self._writer.settings.task != task or not self._writer.committed:
            return recent
        from graspline.datasets.format.store import Dataset

        dataset = Dataset.open(self._writer.root)
        kept = {
            f"{self.place} {row['episode_index']}, seed {row['seed']}: {row['verdict']}": partial(_read, dataset, row)
            for row in dataset.rows[-_MOST:]
        }
        return {**kept, **recent}

    def _write(self, writer: Writer, episode: Episode) -> Row:
        from graspline.datasets.format.recording import recording_of
        from graspline.datasets.write.jobs import Drawing, is_kept, render

        scenario = episode.scenario
        if scenario.task.name != writer.settings.task:
            raise InputError(f"{writer.root.name} holds {writer.settings.task}, not {scenario.task.name}")
        recording = recording_of(episode, scenario.task.machine(scenario.parameters))
        if not is_kept(recording, writer.settings):
            raise InputError(f"{recording.verdict} is not a demonstration")
        if scenario.seed in self._seeds:
            raise InputError(f"{writer.root.name} already has an episode with seed {scenario.seed}; run another seed")
        rendered = render(Drawing(settings=writer.settings, recording=recording))
        return writer.commit(rendered)


def _seeds_in(root: Path) -> set[int]:
    from graspline.datasets.format.store import Dataset

    return {row["seed"] for row in Dataset.open(root).rows}


def _same(episode: ReplayEpisode) -> ReplayEpisode:
    return episode


def _read(dataset: Dataset, row: Mapping[str, object]) -> ReplayEpisode:
    return ReplayEpisode(dataset.log(row).log, f"episode {row['episode_index']}", str(row["state_hash"]))


@contextmanager
def open_archive(task: Task[Any], parameters: Parameters, seed: int, folder: Path | None) -> Iterator[Archive]:
    """An archive that writes a dataset into a folder, or none."""
    if folder is None:
        yield Archive(None)
        return
    from graspline.datasets.format.settings import settings_of
    from graspline.datasets.write.writer import open_writer

    views = views_of(task.scene(parameters), DEFAULT_VIEWS)
    settings = settings_of(
        task, parameters, seed=seed, views=views, keep="all", renderer="rays" if gl_problem() else "gl"
    )
    with open_writer(folder, settings) as writer:
        yield Archive(writer)
