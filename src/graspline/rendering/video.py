"""Videos of an episode, and words on their frames."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Self

import av
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from graspline.errors import EnvironmentProblem, InputError
from graspline.rendering.picture import Pixels

# Outlines stay sharp to the eye; a moving arm takes 60 kB per second at 1024×480 and 30 fps.
_QUALITY = {"preset": "superfast", "crf": "20"}
_CAPTION_SHARE = 0.045
_CAPTION_LEAST_PX = 10.0
# Pillow's own font has little beyond ASCII; these are the signs our reports use.
_PLAIN = str.maketrans({"≥": ">=", "≤": "<=", "→": "->", "×": "x", "–": "-", "−": "-", "µ": "u"})
_CAPTION_BAR = (0, 0, 0, 150)
_SHEET_GAP_PX = 4
_SHEET_COLOUR = 255


class VideoWriter:
    """An H.264 file that appears under its name when it is complete, and not otherwise.

    Frames go to `<name>.part` beside it. An exception that leaves the `with` block deletes that file; a
    killed process leaves it behind, for the next run to overwrite.
    """

    def __init__(self, path: Path, width: int, height: int, fps: int | Fraction) -> None:
        _check_size(path, width, height)
        self.path = path
        self._shape = (height, width, 3)
        self._part = path.with_name(path.name + ".part")
        with _written(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # The index goes to the front when the file closes, so that a browser can start before it has it all.
            self._file = av.open(self._part, "w", format="mp4", options={"movflags": "faststart"})
        self._stream = self._file.add_stream("libx264", rate=fps, options=_QUALITY)
        self._stream.width, self._stream.height = width, height
        self._stream.pix_fmt = "yuv420p"
        # Kept here: the stream's own changes to the container's finer one when the first packet is written.
        self._time_base = 1 / Fraction(fps)
        self._frames = 0
        self._closed = False

    def write(self, rgb: Pixels) -> None:
        """Append one frame, (H, W, 3)."""
        if rgb.shape != self._shape:
            raise InputError(f"{self.path.name} takes frames of shape {self._shape}, got {rgb.shape}")
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(rgb), format="rgb24")
        frame.pts, frame.time_base = self._frames, self._time_base
        self._frames += 1
        with _written(self.path):
            self._file.mux(self._stream.encode(frame))

    def close(self) -> None:
        """Finish the file and give it its name."""
        if self._closed:
            return
        if not self._frames:
            self.abort()
            raise InputError(f"{self.path}: the video would have no frames")
        try:
            with _written(self.path):
                self._file.mux(self._stream.encode())
                self._file.close()
                with self._part.open("rb") as file:
                    os.fsync(file.fileno())
                self._part.replace(self.path)
                self._closed = True
        finally:
            self.abort()

    def abort(self) -> None:
        """Drop what was written; nothing appears under the final name."""
        if not self._closed:
            self._closed = True
            # What is dropped need not be written.
            with contextlib.suppress(OSError):
                self._file.close()
            # The file is created with the first frame.
            self._part.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


@contextlib.contextmanager
def _written(path: Path) -> Iterator[None]:
    """What the disk refuses is reported with the file's name."""
    try:
        yield
    except OSError as error:
        raise EnvironmentProblem(f"{path}: cannot be written: {error.strerror or error}") from None


def _check_size(path: Path, width: int, height: int) -> None:
    # Colour is stored at half resolution in both directions, so H.264 players accept even sizes only.
    problems = [
        f"{path.name}: {name} must be even and at least 16 pixels, got {value}"
        for name, value in (("width", width), ("height", height))
        if value % 2 or value < 16
    ]
    if problems:
        raise InputError(problems)


def caption(rgb: Pixels, lines: Sequence[str]) -> Pixels:
    """A copy of a frame with lines of text on a translucent bar along its top; long lines are wrapped."""
    height, width = rgb.shape[:2]
    size = max(_CAPTION_LEAST_PX, _CAPTION_SHARE * height)
    font = ImageFont.load_default(size)
    margin, pitch = size / 2, 1.3 * size
    rows = [row for line in lines for row in _wrapped(line.translate(_PLAIN), font, width - 2 * margin)]
    image = Image.fromarray(rgb)
    pen = ImageDraw.Draw(image, "RGBA")
    pen.rectangle((0, 0, width, margin + pitch * len(rows)), fill=_CAPTION_BAR)
    for index, row in enumerate(rows):
        pen.text((margin, margin / 2 + pitch * index), row, font=font, fill="white")
    return np.array(image)


def _wrapped(line: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, width_px: float) -> list[str]:
    """A line broken between words so that each row fits; a word that does not fit alone sticks out."""
    rows = [""]
    for word in line.split(" "):
        longer = f"{rows[-1]} {word}" if rows[-1] else word
        if not rows[-1] or font.getlength(longer) <= width_px:
            rows[-1] = longer
        else:
            rows.append(word)
    return rows


def contact_sheet(frames: Sequence[Pixels], columns: int) -> Pixels:
    """Frames of one size side by side, row by row, with gaps between them."""
    if not frames or columns < 1 or len({frame.shape for frame in frames}) > 1:
        raise InputError(
            f"a sheet needs at least one column and frames of one shape, got {columns} columns and "
            f"shapes {sorted({frame.shape for frame in frames})}"
        )
    height, width = frames[0].shape[:2]
    rows = -(-len(frames) // columns)
    pitch_y, pitch_x = height + _SHEET_GAP_PX, width + _SHEET_GAP_PX
    sheet = np.full((rows * pitch_y - _SHEET_GAP_PX, columns * pitch_x - _SHEET_GAP_PX, 3), _SHEET_COLOUR, np.uint8)
    for index, frame in enumerate(frames):
        top, left = index // columns * pitch_y, index % columns * pitch_x
        sheet[top : top + height, left : left + width] = frame
    return sheet
