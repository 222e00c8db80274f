"""The files of one episode, laid out for the place it gets in a dataset.

The worker that renders an episode lays it out, for the place it will have if all before it are committed. Then a commit
has only to put the files there; if one before it falls out, it is laid out again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from graspline.datasets.format.files import parquet_bytes
from graspline.datasets.format.frames import columns_of, table_of
from graspline.datasets.format.recording import Recording, pack
from graspline.datasets.format.rows import (
    Rejected,
    Row,
    Slot,
    data_file,
    episode_row,
    log_file,
    row_file,
    rows_table,
    video_file,
)
from graspline.datasets.format.settings import DatasetSettings
from graspline.datasets.format.stats import Stats, stats_of
from graspline.datasets.format.tables import numbers_in
from graspline.datasets.format.video import Film
from graspline.datasets.format.video_packets import digest_of
from graspline.scenes.scene import Scene


class Ahead(NamedTuple):
    """What the place of an episode depends on of one before it that is not committed yet."""

    frames: int
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodePosition:
    """Where an episode goes and what came before it: all that its files depend on besides itself."""

    # Its number, the lasting one, and that of its first frame.
    index: int
    episode_id: int
    first_row: int
    slot: Slot
    # The number of its sentence.
    task_index: int
    rejected: tuple[Rejected, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidOut:
    """An episode as its files hold it."""

    place: EpisodePosition
    # By name, in the order in which they are written.
    files: dict[str, bytes]
    row: Row
    stats: dict[str, Stats]


def lay_out(
    recording: Recording,
    values: Mapping[str, NDArray[Any]],
    films: Mapping[str, Film],
    settings: DatasetSettings,
    scene: Scene,
    place: EpisodePosition,
) -> LaidOut:
    """Everything of an episode that lies in files of its own."""
    table = table_of(values, scene, place.index, place.first_row, place.task_index)
    stats = {
        column.name: stats_of(numbers_in(table, column.name))
        for column in columns_of(scene)
        if column.dtype != "string"
    }
    stats |= {key: film.stats for key, film in films.items()}
    row = episode_row(
        recording,
        index=place.index,
        episode_id=place.episode_id,
        length=len(table),
        first_row=place.first_row,
        fps=settings.fps,
        digests={key: digest_of(film.mp4) for key, film in films.items()},
        slot=place.slot,
        stats=stats,
        rejected=place.rejected,
    )
    files = {video_file(key, place.slot): film.mp4 for key, film in films.items()}
    files |= {
        log_file(place.episode_id): pack(recording),
        data_file(place.slot): parquet_bytes(table),
        row_file(place.slot): parquet_bytes(rows_table([row])),
    }
    return LaidOut(place=place, files=files, row=row, stats=stats)
