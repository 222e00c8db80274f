"""Episodes that were taken out of a dataset: each whole in a folder of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from graspline.datasets.format.files import file_at
from graspline.datasets.format.frames import stats_widths
from graspline.datasets.format.recording import unpack
from graspline.datasets.format.rows import Row, row_problems, stats_problems
from graspline.datasets.format.store import DELETED, Dataset
from graspline.datasets.format.tables import frames_in, table_in
from graspline.datasets.format.video_packets import Clip, look_at
from graspline.errors import DatasetProblem


def place_aside(episode_id: int) -> str:
    """The folder that keeps a deleted episode."""
    return f"{DELETED}/episode-{episode_id:06d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """One of them, which can be put back."""

    folder: Path
    row: Row
    clips: dict[str, Clip]

    @classmethod
    def read(cls, dataset: Dataset, episode_id: int) -> Self:
        """A problem of the dataset if it was not kept whole."""
        folder = dataset.root / place_aside(episode_id)
        row, fps = _row_in(dataset, folder), dataset.settings.fps
        clips = {key: Clip(path=folder / f"{key}.mp4", first=0, frames=row["length"], fps=fps) for key in dataset.keys}
        frames_in(folder, "data.parquet", row, dataset.scene)
        for clip in clips.values():
            if (frames := look_at(clip.path).frames) != clip.frames:
                raise DatasetProblem(f"{clip.path}: its number of frames is {frames}, expected {clip.frames}")
        log = file_at(folder / "log.npz")
        try:
            logged = unpack(log.read_bytes()).facts["state_hash"]
        except ValueError as error:
            raise DatasetProblem(f"{log}: {error}") from None
        if logged != row["state_hash"]:
            raise DatasetProblem(f"{log}: state_hash is {row['state_hash']} in the row and {logged} in the log")
        return cls(folder=folder, row=row, clips=clips)


def _row_in(dataset: Dataset, folder: Path) -> Row:
    rows = table_in(folder, "row.parquet").to_pylist()
    problems = [] if len(rows) == 1 else [f"holds {len(rows)} rows, expected 1"]
    for row in rows:
        problems += row_problems(row, dataset.settings.views)
        problems += stats_problems(row, stats_widths(dataset.settings, dataset.scene))
    if problems:
        raise DatasetProblem("\n".join(f"{folder / 'row.parquet'}: {each}" for each in problems))
    return rows[0]
