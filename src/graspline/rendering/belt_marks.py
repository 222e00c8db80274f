"""Bars across surfaces that move by themselves, so that people see a belt move. They are no part of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.rendering.picture import Array

# How far surfaces have moved since the start, by their geoms' names, each in the frame of its geom.
Travelled = Mapping[str, tuple[float, float, float]]

# Wide enough to be a pixel or two from across the room, and far enough apart that none jumps to the place of the next
# from one frame to the next, however fast the belt is.
BAR_M, PITCH_M = 0.008, 0.11
# What of the surface bars leave free on either side.
_BESIDE_M = 0.012
# How high a bar is above the surface, so that it hides what is below it.
_ABOVE_M = 0.0006
# How much lighter the surface is there.
LIGHTER = 0.13


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar: the geom it is on, its middle and half extents in the geom's frame."""

    geom: int
    middle_m: Array
    half_m: Array


def bars(model: mujoco.MjModel, travelled_m: Travelled) -> list[Bar]:
    """Bars on top of every box that is named, across the direction its surface runs in."""
    return [bar for name, gone in travelled_m.items() for bar in _on(model, model.geom(name).id, np.array(gone))]


def _on(model: mujoco.MjModel, geom: int, gone_m: Array) -> list[Bar]:
    along, across = _axes(model, geom)
    half = model.geom_size[geom]
    first = -half[along] + (gone_m[along] + half[along]) % PITCH_M
    found = []
    for middle in np.arange(first - PITCH_M, half[along] + PITCH_M, PITCH_M):
        low, high = np.clip([middle - BAR_M / 2, middle + BAR_M / 2], -half[along], half[along])
        if high - low > 1e-6:
            at, size = np.zeros(3), np.zeros(3)
            at[along], size[along] = (low + high) / 2, (high - low) / 2
            size[across] = half[across] - _BESIDE_M
            at[2], size[2] = half[2], _ABOVE_M
            found.append(Bar(geom=geom, middle_m=at, half_m=size))
    return found


def is_marked(model: mujoco.MjModel, geom: int, points_m: Array, gone_m: Array) -> NDArray[np.bool_]:
    """Which points (n, 3) of a surface, in its geom's frame, are on a bar."""
    along, across = _axes(model, geom)
    half = model.geom_size[geom]
    place = (points_m[:, along] - gone_m[along] + BAR_M / 2) % PITCH_M
    inside = np.abs(points_m[:, across]) <= half[across] - _BESIDE_M
    return (place <= BAR_M) & inside & (points_m[:, 2] > half[2] - _ABOVE_M)


def _axes(model: mujoco.MjModel, geom: int) -> tuple[int, int]:
    """The axis a surface runs along, and the one across it."""
    along = int(np.argmax(np.abs(model.geom_surfacevel[geom, :2])))
    return along, 1 - along
