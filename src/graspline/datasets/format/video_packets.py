"""Episodes inside video files: cut out and put together packet by packet, never encoded again.

Every episode begins with a key frame and none refers to frames of another, so packets only need new times. Those are
counted in frames, for sums of fractions of a second drift.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import av
import numpy as np
from av.container import InputContainer
from av.error import FFmpegError
from av.video.stream import VideoStream
from numpy.typing import NDArray

from graspline.datasets.format.files import file_at
from graspline.errors import DatasetProblem, EnvironmentProblem

Pixels = NDArray[np.uint8]
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """Consecutive frames of one video file."""

    path: Path
    first: int
    frames: int
    fps: int

    def pictures(self) -> Iterator[Pixels]:
        """Every frame, (H, W, 3)."""
        with _opened(self.path) as (file, stream):
            self._seek(file, stream)
            wanted = self.first
            for frame in _readable(self.path, file.decode(stream)):
                number = self._number(frame.pts, stream)
                if number == wanted and number < self.first + self.frames:
                    yield frame.to_ndarray(format="rgb24").astype(np.uint8, copy=False)
                    wanted += 1
                elif number >= wanted:
                    break
            self._check_count(wanted - self.first)

    def packets(self, file: InputContainer, stream: VideoStream) -> Iterator[av.Packet]:
        """Every frame as it was encoded, in order."""
        self._seek(file, stream)
        count = 0
        for packet in _readable(self.path, file.demux(stream)):
            # The last one is empty; before the first one lie those between it and the key frame that was sought.
            if packet.pts is None or (number := self._number(packet.pts, stream)) < self.first:
                continue
            if number >= self.first + self.frames:
                break
            if packet.pts != packet.dts or number != self.first + count or (count == 0 and not packet.is_keyframe):
                raise DatasetProblem(f"{self.path}: frame {number} cannot be cut out without encoding it again")
            count += 1
            yield packet
        self._check_count(count)

    def digest(self) -> str:
        """As `digest_of` gave it for the file that these frames came from."""
        with _opened(self.path) as (file, stream):
            return _digest(stream, self.packets(file, stream))

    def _seek(self, file: InputContainer, stream: VideoStream) -> None:
        try:
            file.seek(int(self.first / (self.fps * _time_base(stream))), stream=stream)
        except FFmpegError as error:
            raise _unreadable(self.path, error) from None

    def _number(self, pts: int | None, stream: VideoStream) -> int:
        number = Fraction(pts or 0) * _time_base(stream) * self.fps
        if number.denominator != 1:
            raise DatasetProblem(f"{self.path}: a frame is at {float(number):.3f}, between two frames at {self.fps} Hz")
        return number.numerator

    def _check_count(self, count: int) -> None:
        if count != self.frames:
            last = self.first + self.frames - 1
            raise DatasetProblem(f"{self.path}: {count} frames, expected {self.frames} ({self.first} to {last})")


def clip_in(path: Path, row: Mapping[str, Any], key: str, fps: int) -> Clip:
    """An episode's frames in the file that its row names."""
    return Clip(path=path, first=round(row[f"videos/{key}/from_timestamp"] * fps), frames=row["length"], fps=fps)


def digest_of(mp4: bytes) -> str:
    """SHA-256 of a file's pictures as they were encoded: the same in whatever file they lie later."""
    with av.open(io.BytesIO(mp4), "r") as file:
        stream = file.streams.video[0]
        return _digest(stream, (packet for packet in file.demux(stream) if packet.pts is not None))


def _digest(stream: VideoStream, packets: Iterable[av.Packet]) -> str:
    found = hashlib.sha256(stream.codec_context.extradata or b"")
    for packet in packets:
        found.update(bytes(packet))
    return found.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoFile:
    """What a file's header says; clips go into one file if they are encoded alike."""

    frames: int
    bytes: int
    # Of one picture, decoded.
    frame_bytes: int
    encoding: tuple[object, ...]


def look_at(path: Path) -> VideoFile:
    """The properties of a video file."""
    with _opened(path) as (_, stream):
        context = stream.codec_context
        encoding = (context.name, context.width, context.height, stream.time_base, context.extradata)
        return VideoFile(
            frames=stream.frames,
            bytes=path.stat().st_size,
            frame_bytes=3 * context.width * context.height,
            encoding=encoding,
        )


def join(target: Path, clips: Sequence[Clip], done: Callable[[], object]) -> None:
    """Put clips one behind the other into a new file; `done` is called after each."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with av.open(target, "w", format="mp4") as joined:
            begin, into = 0, None
            for clip in clips:
                with _opened(clip.path) as (file, stream):
                    into = into or joined.add_stream_from_template(stream)
                    ticks = int(1 / (clip.fps * _time_base(stream)))
                    for number, packet in enumerate(clip.packets(file, stream), begin):
                        packet.stream = into
                        packet.pts = packet.dts = number * ticks
                        packet.duration = ticks
                        joined.mux(packet)
                begin += clip.frames
                done()
    except FFmpegError as error:
        raise EnvironmentProblem(f"{target}: cannot be written: {error.strerror or error}") from None


@contextmanager
def _opened(path: Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    try:
        file = av.open(file_at(path), "r")
    except (FFmpegError, OSError) as error:
        raise _unreadable(path, error) from None
    with file:
        if not file.streams.video:
            raise DatasetProblem(f"{path}: contains no video")
        yield file, file.streams.video[0]


def _readable(path: Path, items: Iterator[Item]) -> Iterator[Item]:
    """The same items; what goes wrong between them is said of the file."""
    try:
        yield from items
    except FFmpegError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> DatasetProblem:
    return DatasetProblem(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}")


def _time_base(stream: VideoStream) -> Fraction:
    assert stream.time_base is not None
    return stream.time_base
