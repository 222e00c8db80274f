"""Names of colours by their hue, which brightness and white light leave alone and tinted light turns a little."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

# Sets OpenCV to one thread, so that a picture gives the same bits on any machine.
from graspline.perception.core.colours import hue_picture
from graspline.rendering.picture import Pixels

Rgb = tuple[float, float, float]

UNKNOWN = "unknown"
# Light may be tinted by this much per channel.
_TINT = 0.15
# What 8 bits add to a hue. Of 4,533 blocks in 1,200 pictures, half of them in light from 0.4 to 1.6 times as bright,
# tinted, and from anywhere, none was given another's name.
_MARGIN_RAD = np.radians(4.0)
# A channel of a pixel this bright may be at its end; such light is brighter than white by up to the last of these.
OVEREXPOSED = 250
_EXPOSURES = (1.0, 1.5, 2.0, 2.5)
# Grey in such light is saturated to 1 - 0.85 / 1.15 = 0.26, at most 0.38 in the few steps of a dark pixel; a pixel that
# shares a red block's dark side evenly with the belt to 0.59, a green one's to 0.47.
_COLOURED_LOW, _COLOURED_HIGH = np.array((0, 100, 14)), np.array((180, 255, 255))


@dataclass(frozen=True, slots=True, kw_only=True)
class Paint:
    """A colour with a name, as it looks in white light."""

    name: str
    rgb: Rgb


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HueImage:
    """(H, W): 255 where a pixel has a colour and is not of any grey, else 0; its hue in steps of 2°; its brightness."""

    coloured: Pixels
    hue: Pixels
    value: Pixels


def colours_of(rgb: Pixels) -> HueImage:
    """The colours of an image's pixels."""
    hues = hue_picture(rgb)
    found = np.asarray(cv2.inRange(hues, _COLOURED_LOW, _COLOURED_HIGH), np.uint8)
    hue, value = (np.asarray(cv2.extractChannel(hues, channel), np.uint8) for channel in (0, 2))
    return HueImage(coloured=found, hue=hue, value=value)


def name_of(rgb: NDArray[np.float64], paints: tuple[Paint, ...]) -> str:
    """The paint that may look like this colour (3,), 0 to 255, in tinted light; of two the nearer, of none `UNKNOWN`.

    Where light is so bright that a channel is at its end, more hues may be of a paint.
    """
    hue, nearest, found = _hue_rad(rgb), np.inf, UNKNOWN
    for paint in paints:
        middle, low, high = _window_rad(paint.rgb, bool(rgb.max() >= OVEREXPOSED))
        off = _turn_rad(hue - middle)
        if low <= off <= high and abs(off) < nearest:
            nearest, found = abs(off), paint.name
    return found


def _hue_rad(rgb: NDArray[np.float64]) -> float:
    """The angle around the grey axis on the hexagon of hues, as HSV has it."""
    red, green, blue = (float(each) for each in rgb)
    span = max(red, green, blue) - min(red, green, blue)
    if span <= 0:
        return 0.0
    if red >= max(green, blue):
        sixths = (green - blue) / span
    elif green >= blue:
        sixths = 2 + (blue - red) / span
    else:
        sixths = 4 + (red - green) / span
    return sixths * np.pi / 3


def _turn_rad(angle_rad: float) -> float:
    """The same angle in [-pi, pi)."""
    return (angle_rad + np.pi) % (2 * np.pi) - np.pi


@functools.cache
def _window_rad(rgb: Rgb, overexposed: bool) -> tuple[float, float, float]:
    """The hue of a paint in white light, and how far below and above it other light may bring it."""
    middle = _hue_rad(np.array(rgb))
    tints = itertools.product((1 - _TINT, 1.0, 1 + _TINT), repeat=3)
    lights = itertools.product(_EXPOSURES if overexposed else _EXPOSURES[:1], tints)
    seen = (np.minimum(exposure * np.array(rgb) * tint, 1.0) for exposure, tint in lights)
    turns = [_turn_rad(_hue_rad(each) - middle) for each in seen]
    return middle, min(turns) - _MARGIN_RAD, max(turns) + _MARGIN_RAD
