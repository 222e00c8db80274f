"""Whether every frame has its picture, where a loader looks for it: size, rate, codec, number, times, and its light."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from av.error import FFmpegError
from av.video.stream import VideoStream
from numpy.typing import NDArray

from graspline.datasets.check.contents import Contents
from graspline.datasets.check.findings import Findings
from graspline.datasets.format.files import file_at
from graspline.datasets.format.rows import DIGEST, Row, row_file, row_slot, stats_problems, video_file, video_slot
from graspline.datasets.format.stats import NAMES, PictureStats, Stats, counted_pixels
from graspline.datasets.format.video import ENCODER_INFO
from graspline.datasets.format.video_packets import clip_in
from graspline.episodes.camera_views import View
from graspline.episodes.processes import cores
from graspline.errors import DatasetProblem

# LeRobot takes a frame for the one it asked for if its time is no farther off than this.
_TOLERANCE_S = 1e-4
# How far mean and deviation of an episode's decoded pictures may be from those of the pictures that were encoded, of
# full brightness: for the colours' conversion, and for what is lost at edges, which evens out over many pixels. At
# least twice what was measured from 32x32 (0.022) to 640x480 (0.007), with both cameras and everything randomised.
_LOSS, _LOSS_OF_A_PIXEL = 0.015, 0.2


def check_videos(contents: Contents, found: Findings, done: Callable[[], object], *, fast: bool) -> None:
    """All video files; `fast` trusts their headers. `done` is called for every episode and camera."""
    films: dict[str, _Film] = {}
    for view in contents.dataset.settings.views:
        for row in contents.rows:
            name = video_file(view.key, video_slot(row, view.key))
            fresh = _Film(contents.dataset.root / name, view, contents.dataset.settings.fps, [])
            films.setdefault(name, fresh).rows.append(row)
    # Decoding lets go of Python's lock.
    with ThreadPoolExecutor(cores()) as pool:
        examined = pool.map(lambda film: film.problems(fast), films.values())
        for (name, film), problems in zip(films.items(), examined, strict=True):
            for episode, what in problems:
                found.problem(name, what, episode)
            _check_times(film, found)
            for _ in film.rows:
                done()


@dataclass(frozen=True, slots=True)
class _Film:
    """One video file, and the episodes it shows."""

    path: Path
    view: View
    fps: int
    rows: list[Row]

    def problems(self, fast: bool) -> list[tuple[int | None, str]]:
        only = self.rows[0]["episode_index"] if len(self.rows) == 1 else None
        try:
            with av.open(file_at(self.path), "r") as file:
                if not file.streams.video:
                    return [(only, "holds no video")]
                stream = file.streams.video[0]
                # Files are decoded side by side; more threads than cores only get in each other's way.
                stream.codec_context.thread_count = 1
                wrong: list[tuple[int | None, str]] = [(only, each) for each in self._header(stream, fast)]
                if fast:
                    return wrong
                wrong += self._frames(file, stream)
            # Where that is wrong already, other bits are no news.
            return wrong or list(self._digests())
        except DatasetProblem as error:
            return [(only, str(error).removeprefix(f"{self.path}: "))]
        except (FFmpegError, OSError, ValueError) as error:
            return [(only, f"cannot be decoded: {error.strerror or error if isinstance(error, OSError) else error}")]

    @property
    def _length(self) -> int:
        return sum(row["length"] for row in self.rows)

    def _header(self, stream: VideoStream, fast: bool) -> Iterator[str]:
        context = stream.codec_context
        pairs = {
            "size": (f"{context.width}x{context.height}", f"{self.view.width}x{self.view.height}"),
            "codec": (context.codec.canonical_name, ENCODER_INFO["video.codec"]),
            "pixel format": (context.pix_fmt, ENCODER_INFO["video.pix_fmt"]),
            "rate": (stream.average_rate, self.fps),
        }
        if fast:
            pairs["number of frames"] = stream.frames, self._length
        for name, (is_, expected) in pairs.items():
            if is_ != expected:
                yield f"its {name} is {is_}, expected {expected}"

    def _frames(self, file: InputContainer, stream: VideoStream) -> Iterator[tuple[int | None, str]]:
        """Decode everything, and hold times and light of the pictures against what the rows say."""
        times, corrupt = [], 0
        shown = [PictureStats() for _ in self.rows]
        counters = (each for each, row in zip(shown, self.rows, strict=True) for _ in range(row["length"]))
        for frame in file.decode(stream):
            times.append(np.nan if frame.time is None else frame.time)
            corrupt += frame.is_corrupt
            if (counter := next(counters, None)) is not None:
                counter.add(frame.to_ndarray(format="rgb24").astype(np.uint8, copy=False))
        if corrupt:
            yield None, f"{corrupt} frames are damaged"
        if len(times) != self._length:
            yield None, f"holds {len(times)} frames, its episodes have {self._length}"
            return
        at = 0
        for row in self.rows:
            begin_s = row[f"videos/{self.view.key}/from_timestamp"]
            expected = begin_s + np.arange(row["length"]) / self.fps
            off = ~(np.abs(np.array(times[at : at + row["length"]]) - expected) <= _TOLERANCE_S)
            if off.any():
                first = int(off.argmax())
                message = f"frame {first} is at {times[at + first]:.4f} s, expected {expected[first]:.4f} s"
                yield row["episode_index"], message
            at += row["length"]
        for row, counter in zip(self.rows, shown, strict=True):
            yield from ((row["episode_index"], each) for each in self._light(row, counter.stats()))

    def _digests(self) -> Iterator[tuple[int, str]]:
        """Damaged bits often decode to pictures that are only a little wrong."""
        for row in self.rows:
            if clip_in(self.path, row, self.view.key, self.fps).digest() != row[f"videos/{self.view.key}/{DIGEST}"]:
                yield row["episode_index"], "its pictures are not those that were encoded: other bits (SHA-256)"

    def _light(self, row: Row, shown: Stats) -> Iterator[str]:
        """What pictures show, as far as their mean and deviation tell: by channel, as the row has them."""
        if stats_problems(row, {self.view.key: 3}):
            # The check of statistics reports that.
            return
        said = Stats.from_lists({name: row[f"stats/{self.view.key}/{name}"] for name in NAMES})
        tolerance = _LOSS + _LOSS_OF_A_PIXEL / np.sqrt(counted_pixels(self.view.width, self.view.height))
        for name, is_, expected in (("mean", shown.mean, said.mean), ("deviation", shown.std, said.std)):
            if not (np.abs(is_ - expected) <= tolerance).all():
                yield f"its pictures have a {name} of {_levels(is_)}, by its row it is {_levels(expected)}"


def _levels(channels: NDArray[np.float64]) -> str:
    return " ".join(f"{each:.3f}" for each in channels)


def _check_times(film: _Film, found: Findings) -> None:
    """What rows say about the file: one episode after the other, in whole frames."""
    first = 0
    for row in film.rows:
        said = tuple(row[f"videos/{film.view.key}/{name}_timestamp"] for name in ("from", "to"))
        expected = first / film.fps, (first + row["length"]) / film.fps
        if not np.allclose(said, expected, rtol=0, atol=_TOLERANCE_S / 10):
            message = f"{film.view.key} runs from {said[0]:.4f} to {said[1]:.4f} s"
            message += f", expected {expected[0]:.4f} to {expected[1]:.4f} s"
            found.problem(row_file(row_slot(row)), message, row["episode_index"])
        first += row["length"]
