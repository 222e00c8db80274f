"""How a film's frame is laid out: the scene, and beside it a camera's picture above a column of words.

Nothing is laid over the scene, so nothing hides the work.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from graspline.rendering.picture import Pixels

SCENE_PX = (640, 480)
SIDE_PX = (384, 288)
FILM_PX = (SCENE_PX[0] + SIDE_PX[0], SCENE_PX[1])

_PAPER, _INK, _FAINT, _NOW, _GOOD, _BAD = "#f6f6f3", "#23272d", "#8a9099", "#1f5fbf", "#1c7c3c", "#b3402a"
_MARGIN_PX, _TITLE_PX, _TEXT_PX, _PITCH_PX = 18, 22, 16, 24
# From the right edge: where the time is written, which changes with every frame.
_TIME_PX = (110, 30)
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What is written beside one frame."""

    title: str
    time_s: float
    # States up to now, the current one last.
    states: tuple[str, ...]
    # How the episode ended, in its last frame.
    verdict: str = ""
    succeeded: bool = False


class FilmLayout:
    """Puts frames together. The column of words is rendered again only when a word changes, less the time."""

    def __init__(self, *, with_side: bool) -> None:
        self._top = SIDE_PX[1] if with_side else 0
        self._key: Words | None = None
        self._column = np.empty(0, np.uint8)
        self._frame = np.empty((FILM_PX[1], FILM_PX[0], 3), np.uint8)

    def frame(self, scene: Pixels, side: Pixels | None, words: Words) -> Pixels:
        """One frame; overwritten by the next. Without a camera's picture, the last one stays beside the scene."""
        frame, (wide, high) = self._frame, SCENE_PX
        frame[:, :wide] = resized(scene, SCENE_PX)
        if side is not None:
            frame[: self._top, wide:] = resized(side, SIDE_PX)
        key = _without_time(words)
        if key != self._key:
            self._key, self._column = key, _column(key, SIDE_PX[0], high - self._top)
        frame[self._top :, wide:] = self._column
        right, down = frame.shape[1] - _MARGIN_PX + 6, self._top + _MARGIN_PX - 4
        frame[down : down + _TIME_PX[1], right - _TIME_PX[0] : right] = _time(words.time_s)
        return frame


def _without_time(words: Words) -> Words:
    rows = (FILM_PX[1] - SIDE_PX[1]) // _PITCH_PX
    return Words(
        title=words.title, time_s=0.0, states=words.states[-rows:], verdict=words.verdict, succeeded=words.succeeded
    )


def resized(rgb: Pixels, size_px: tuple[int, int]) -> Pixels:
    """A picture at this width and height; the same one if it has them."""
    if (rgb.shape[1], rgb.shape[0]) == size_px:
        return rgb
    shrinks = rgb.shape[1] > size_px[0]
    return np.asarray(cv2.resize(rgb, size_px, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR), np.uint8)


def _column(words: Words, width: int, height: int) -> Pixels:
    """Title, the last states from top to bottom, and the verdict in place of the last."""
    image = Image.new("RGB", (width, height), _PAPER)
    pen = ImageDraw.Draw(image)
    pen.text((_MARGIN_PX, _MARGIN_PX - 6), words.title, font=_font(_TITLE_PX), fill=_INK)
    first = _MARGIN_PX + _TITLE_PX + 14
    count = (height - first - 8) // _PITCH_PX
    rows = [(each, _FAINT) for each in words.states]
    if words.verdict:
        rows.append((words.verdict, _GOOD if words.succeeded else _BAD))
    elif rows:
        rows[-1] = rows[-1][0], _NOW
    for index, (text, colour) in enumerate(rows[-count:]):
        at = _MARGIN_PX, first + _PITCH_PX * index
        pen.text(at, _fitted(plain(text), width - 2 * _MARGIN_PX), font=_font(_TEXT_PX), fill=colour)
    return np.asarray(image)


def _time(time_s: float) -> Pixels:
    image = Image.new("RGB", _TIME_PX, _PAPER)
    ImageDraw.Draw(image).text((_TIME_PX[0] - 6, 2), f"{time_s:.1f} s", font=_font(_TITLE_PX), fill=_FAINT, anchor="ra")
    return np.asarray(image)


def labelled(rgb: Pixels, text: str) -> Pixels:
    """A copy of a small picture with a few words at its lower left."""
    image = Image.fromarray(rgb)
    pen = ImageDraw.Draw(image, "RGBA")
    font = _font(_TEXT_PX)
    wide = pen.textlength(text, font=font)
    top = image.height - _PITCH_PX - 14
    pen.rounded_rectangle((10, top, 10 + wide + 20, top + _PITCH_PX + 4), 7, fill=(246, 246, 243, 225))
    pen.text((20, top + 4), text, font=font, fill=_INK)
    return np.asarray(image)


def plain(state: str) -> str:
    """A state's path as words, its last two parts: the others are longer than they are telling."""
    return " / ".join(state.replace("_", " ").split(".")[-2:])


def _fitted(text: str, width_px: float) -> str:
    font = _font(_TEXT_PX)
    while font.getlength(text) > width_px and len(text) > 4:
        text = text[:-4].rstrip() + "..."
    return text


@functools.cache
def _font(size_px: int) -> Font:
    return ImageFont.load_default(size_px)
