"""Short moving pictures for web pages and READMEs: GIF and WebP."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Self

import numpy as np
from PIL import Image

from graspline.errors import EnvironmentProblem, InputError
from graspline.rendering.picture import Pixels

FORMATS = {".gif": "GIF", ".webp": "WEBP"}
# A frame of a scene that stands still but for an arm takes 5 kB at 480 pixels.
_WEBP = {"quality": 62, "method": 3, "minimize_size": False, "kmax": 60}
# How long the last frame is shown before the first comes again.
_LAST_MS = 1800
# Frames that a GIF's colours are chosen from.
_SAMPLED = 6


class AnimationWriter:
    """A file that repeats for ever, and appears under its name when it is complete. Frames are kept until then."""

    def __init__(self, path: Path, fps: float) -> None:
        if path.suffix not in FORMATS:
            raise InputError(f"{path.name}: expected a name that ends in {' or '.join(FORMATS)}")
        self.path, self._ms = path, round(1000 / fps)
        self._frames: list[Image.Image] = []

    def write(self, rgb: Pixels) -> None:
        """Append one frame, (H, W, 3)."""
        self._frames.append(Image.fromarray(np.array(rgb)))

    def close(self) -> None:
        """Encode the file and give it its name."""
        if not self._frames:
            raise InputError(f"{self.path}: the video would have no frames")
        part = self.path.with_name(self.path.name + ".part")
        kind = FORMATS[self.path.suffix]
        frames = _with_one_palette(self._frames) if kind == "GIF" else self._frames
        durations = [self._ms] * (len(frames) - 1) + [_LAST_MS]
        options = {"optimize": False, "disposal": 1} if kind == "GIF" else _WEBP
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                frames[0].save(
                    file, kind, save_all=True, append_images=frames[1:], duration=durations, loop=0, **options
                )
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.path)
        except OSError as error:
            raise EnvironmentProblem(f"{self.path}: cannot be written: {error.strerror or error}") from None
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        if kind is None:
            self.close()


def _with_one_palette(frames: list[Image.Image]) -> list[Image.Image]:
    """Frames in the same 256 colours, without dithering: where nothing moves, no pixel changes."""
    picked = [np.asarray(frames[index]) for index in np.linspace(0, len(frames) - 1, _SAMPLED).astype(int)]
    palette = Image.fromarray(np.concatenate(picked)).quantize(256, Image.Quantize.MEDIANCUT)
    return [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
