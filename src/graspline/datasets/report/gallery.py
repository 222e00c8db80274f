"""Contact sheets of some episodes, cut from their videos: only the frames that are shown are decoded."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from PIL import Image

from graspline.datasets.format.store import Dataset
from graspline.datasets.format.video_packets import Clip, Pixels, clip_in
from graspline.datasets.report.summary import ReportedEpisode
from graspline.episodes.camera_views import View
from graspline.rendering.video import caption, contact_sheet

T = TypeVar("T")

# Twelve sheets of six frames of this width take about half a megabyte.
_FRAMES, _COLUMNS, _FRAME_WIDTH = 6, 3, 240
_QUALITY = 76


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSheet:
    """Moments of one episode in one picture."""

    episode: ReportedEpisode
    jpeg: bytes
    width: int
    height: int


def choose(episodes: Sequence[ReportedEpisode], most: int) -> list[ReportedEpisode]:
    """Failures and recoveries first, up to a third each if there are enough others, each kind spread over the set."""
    kinds = (
        [each for each in episodes if not each.row["success"]],
        [each for each in episodes if each.row["recovered"]],
        [each for each in episodes if each.row["success"] and not each.row["recovered"]],
    )
    counts = [min(len(kind), most // 3) for kind in kinds]
    for number in (2, 1, 0):
        counts[number] += min(len(kinds[number]) - counts[number], most - sum(counts))
    return [each for kind, count in zip(kinds, counts, strict=True) for each in spread(kind, count)]


def spread(items: Sequence[T], count: int) -> list[T]:
    """`count` of them at equal distances, the first and the last among them."""
    return [items[number] for number in np.linspace(0, len(items) - 1, count).round().astype(int)] if count else []


def sheet_of(dataset: Dataset, episode: ReportedEpisode, view: View) -> EpisodeSheet:
    """Six moments from the first frame to the last, each with its time and state."""
    fps, length = dataset.settings.fps, episode.row["length"]
    clip = clip_in(dataset.video(episode.row, view.key), episode.row, view.key, fps)
    begin_s = episode.row["first_tick"] * dataset.scene.robot.dt_s
    pictures = []
    for number in spread(range(length), min(_FRAMES, length)):
        words = episode.row["verdict"] if number == length - 1 else episode.state_at(begin_s + number / fps)
        pictures.append(caption(_resized(_frame(clip, number)), [f"{begin_s + number / fps:.1f} s  {words}"]))
    image, buffer = Image.fromarray(contact_sheet(pictures, min(_COLUMNS, len(pictures)))), io.BytesIO()
    image.save(buffer, "JPEG", quality=_QUALITY, optimize=True)
    return EpisodeSheet(episode=episode, jpeg=buffer.getvalue(), width=image.width, height=image.height)


def _frame(clip: Clip, number: int) -> Pixels:
    (picture,) = Clip(path=clip.path, first=clip.first + number, frames=1, fps=clip.fps).pictures()
    return picture


def _resized(rgb: Pixels) -> Pixels:
    height = round(_FRAME_WIDTH * rgb.shape[0] / rgb.shape[1])
    return np.array(Image.fromarray(rgb).resize((_FRAME_WIDTH, height), Image.Resampling.LANCZOS))
