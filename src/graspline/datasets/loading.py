"""A dataset for programs: episodes, their frames as arrays, and their pictures, without LeRobot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, overload

from numpy.typing import NDArray

from graspline.datasets.format.frames import columns_of
from graspline.datasets.format.rows import Row
from graspline.datasets.format.sentences import sentences_of
from graspline.datasets.format.store import Dataset
from graspline.datasets.format.tables import numbers_in
from graspline.datasets.format.video_packets import Clip, Pixels, clip_in
from graspline.errors import InputError, nearest
from graspline.notebook import Html, badge, card, table
from graspline.wording import counted

# Rows of the table that a notebook shows.
_MOST_SHOWN = 12


class UnknownColumn(InputError, KeyError):
    """A column that the dataset does not have; the message names those it has."""

    __str__ = Exception.__str__


class Columns(dict[str, NDArray[Any]]):
    """Columns by name; an unknown name gets the nearest one and all there are."""

    def __missing__(self, name: object) -> NoReturn:
        raise UnknownColumn(f"no column {name!r}; {nearest(str(name), self)}")


@dataclass(frozen=True)
class LoadedEpisode:
    """One episode: its instruction, how it ended, its frames and its pictures."""

    dataset: Dataset
    row: Row

    @property
    def index(self) -> int:
        """The number of the episode."""
        return self.row["episode_index"]

    @property
    def seed(self) -> int:
        """The seed of the episode."""
        return self.row["seed"]

    @property
    def success(self) -> bool:
        """Whether the goal was met, by the simulator's ground truth."""
        return self.row["success"]

    @property
    def outcome(self) -> str:
        """How the task says that it ended: its verdict."""
        return self.row["verdict"]

    @property
    def sentence(self) -> str:
        """The instruction in words."""
        return " ".join(self.row["tasks"])

    @property
    def retries(self) -> int:
        """How many retries were made."""
        return self.row["retries"]

    def __len__(self) -> int:
        """How many frames it has."""
        return self.row["length"]

    @cached_property
    def frames(self) -> Mapping[str, NDArray[Any]]:
        """Every column by its name: (T,) for plain numbers and text, (T, n) for lists; `names` says what the n are."""
        found = self.dataset.frames(self.row)
        return Columns({name: numbers_in(found, name) for name in found.column_names})

    def picture(self, camera: str, frame: int = 0) -> Pixels:
        """One picture, (H, W, 3) of 0 to 255; -1 is the last frame."""
        if not -len(self) <= frame < len(self):
            raise InputError(f"frame {frame}: the episode has frames 0 to {len(self) - 1}")
        clip = self._clip(camera)
        (picture,) = Clip(path=clip.path, first=clip.first + frame % len(self), frames=1, fps=clip.fps).pictures()
        return picture

    def pictures(self, camera: str) -> Iterator[Pixels]:
        """Every picture of a camera in order; each is decoded when it is asked for."""
        return self._clip(camera).pictures()

    def _clip(self, camera: str) -> Clip:
        views = {view.camera: view for view in self.dataset.settings.views}
        if camera not in views:
            raise InputError(f"no camera {camera!r}; {nearest(camera, views)}")
        key = views[camera].key
        return clip_in(self.dataset.video(self.row, key), self.row, key, self.dataset.settings.fps)

    def __repr__(self) -> str:
        return f"<episode {self.index}, seed {self.seed}: {self.outcome}, {counted(len(self), 'frame')}>"

    def _repr_html_(self) -> str:
        mark = badge(self.outcome, "good" if self.success else "bad")
        shapes = [(name, "×".join(map(str, each.shape)), str(each.dtype)) for name, each in self.frames.items()]
        shown = table(("column", "shape", "type"), shapes)
        return str(card(f"episode {self.index}, seed {self.seed}", mark, [self.sentence, *_duration(self)], [shown]))


class LoadedDataset(Sequence[LoadedEpisode]):
    """The episodes of a dataset, in order. Nothing is read from disk but its index until it is asked for."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._episodes = tuple(LoadedEpisode(dataset, row) for row in dataset.rows)

    @property
    def root(self) -> Path:
        """The dataset's folder."""
        return self._dataset.root

    @property
    def task(self) -> str:
        """The name of the task that made it."""
        return self._dataset.settings.task

    @property
    def fps(self) -> int:
        """Frames per second."""
        return self._dataset.settings.fps

    @property
    def cameras(self) -> tuple[str, ...]:
        """The names of the cameras."""
        return tuple(view.camera for view in self._dataset.settings.views)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Every instruction once."""
        return sentences_of(self._dataset.rows)

    def names(self, column: str) -> tuple[str, ...]:
        """What the entries of a column are, such as the joints of `action`; its own name for a plain number."""
        columns = {each.name: each for each in columns_of(self._dataset.scene)}
        if column not in columns:
            raise UnknownColumn(f"no column {column!r}; {nearest(column, columns)}")
        return columns[column].entries or (column,)

    def __len__(self) -> int:
        return len(self._episodes)

    @overload
    def __getitem__(self, index: int) -> LoadedEpisode: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[LoadedEpisode, ...]: ...

    def __getitem__(self, index: int | slice) -> LoadedEpisode | tuple[LoadedEpisode, ...]:
        if isinstance(index, int) and not -len(self) <= index < len(self):
            raise IndexError(f"episode {index}: the dataset has episodes 0 to {len(self) - 1}")
        return self._episodes[index]

    def __repr__(self) -> str:
        return f"<dataset {self.root}: {self.task}, {counted(len(self), 'episode')}, {self.fps} fps>"

    def _repr_html_(self) -> str:
        rows: list[tuple[str | Html, ...]] = [
            (
                badge(each.outcome, "good" if each.success else "bad"),
                str(each.index),
                str(each.seed),
                str(len(each)),
                str(each.retries),
                each.sentence,
            )
            for each in self._episodes[:_MOST_SHOWN]
        ]
        more = f"and {len(self) - _MOST_SHOWN} more" if len(self) > _MOST_SHOWN else ""
        shown = table(("outcome", "episode", "seed", "frames", "retries", "instruction"), rows, caption=more)
        cameras = f"cameras {', '.join(self.cameras)}" if self.cameras else "no cameras"
        lines = [f"task {self.task}, {counted(len(self), 'episode')}, {self.fps} fps, {cameras}"]
        return str(card(str(self.root), Html(""), lines, [shown]))


def _duration(episode: LoadedEpisode) -> list[str]:
    fps = episode.dataset.settings.fps
    return [f"{counted(len(episode), 'frame')} at {fps} fps, {len(episode) / fps:.1f} s"]


def load(folder: str | Path) -> LoadedDataset:
    """Open a dataset that `graspline generate` wrote: a sequence of episodes with frames and pictures as arrays.

    >>> import graspline
    >>> dataset = graspline.load("out/dataset")  # doctest: +SKIP
    >>> dataset[0].frames["action"].shape  # doctest: +SKIP
    (214, 6)
    >>> graspline.load("no-such-folder")
    Traceback (most recent call last):
    graspline.errors.InputError: no-such-folder: no such folder
    """
    return LoadedDataset(Dataset.open(Path(folder)))
