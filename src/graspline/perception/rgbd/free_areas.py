"""Places on a surface where something can be put down, the farthest from the camera first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from graspline.perception.core.beliefs import Belief
from graspline.perception.core.outlines import Array
from graspline.perception.rgbd.clouds import DepthView, Flags
from graspline.perception.rgbd.planes import expected_inverse
from graspline.perception.rgbd.surfaces import ON_SIGMAS, Surface

# Places are tried on a grid of this pitch.
_CELL_M = 0.005
_ROUNDING_M = 1e-9
# Of the ground under a thing so much must have been seen bare; holes in a picture are closed over this many pixels.
_LEAST_SEEN, _HOLE_PX = 0.8, 7
# Where a thing may be off by more than its sigma times this, it is not.
_SIGMAS = 2.0
# More room than asked for is reported up to this, in steps of a centimetre.
_MORE_ROOM_M = (0.01, 0.02, 0.03, 0.04, 0.05)
# Of two places nearer to each other than this share of the thing's size only the better one is reported.
_APART_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FreeArea:
    """A free place for a thing with this footprint, aligned with the surface; in O."""

    # (3,), the middle of the footprint, on the surface.
    position_m: Array
    # Of the surface: x points away from the camera.
    yaw_rad: float
    # Half the footprint's depth and width.
    half_m: tuple[float, float]
    # How much is free all around the footprint at least.
    room_m: float


def free_areas(
    surface: Surface,
    solids: Sequence[Belief],
    half_m: tuple[float, float],
    *,
    margin_m: float,
    view: DepthView | None = None,
    most: int = 12,
    inside: tuple[tuple[float, float], tuple[float, float]] | None = None,
) -> tuple[FreeArea, ...]:
    """Places for a footprint of this half depth and half width, with a margin to everything and to the surface's sides.

    With a `view` the ground must have been seen bare there: what is behind something is not known to be free. With a
    rectangle `inside`, its middle and half extents along the surface's axes, the whole footprint is in there.
    """
    x, y = (np.arange(_CELL_M / 2 - half, half, _CELL_M) for half in surface.half_m)
    cells = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)
    taken = np.zeros(cells.shape[:2], bool)
    for solid in solids:
        taken |= _is_under(solid, surface, cells)
    room = _room(taken, half_m, margin_m)
    if view is not None:
        room[_window_mean(_is_bare(view, surface, cells), half_m) < _LEAST_SEEN] = -1
    if inside is not None:
        middle, half = np.array(inside)
        room[(np.abs(cells - middle) > half - np.array(half_m) + _ROUNDING_M).any(axis=-1)] = -1
    return tuple(
        FreeArea(
            position_m=_on_surface(surface, cells[row, column]),
            yaw_rad=surface.yaw_rad,
            half_m=half_m,
            room_m=float(room[row, column]),
        )
        for row, column in _chosen(room, half_m, most)
    )


def _is_under(solid: Belief, surface: Surface, cells: Array) -> Flags:
    """(X, Y): which cells a solid stands above or may stand above."""
    sigma = _SIGMAS * solid.position_sigma_m
    at = surface.in_own_frame(solid.position_m)
    off = cells - at
    if solid.shape != "box":
        return np.hypot(off[..., 0], off[..., 1]) < solid.half_extents_m[0] + sigma
    turn = solid.yaw_rad - surface.yaw_rad
    along = np.cos(turn) * off[..., 0] + np.sin(turn) * off[..., 1]
    across = np.cos(turn) * off[..., 1] - np.sin(turn) * off[..., 0]
    beyond = np.maximum(np.abs(np.stack([along, across])) - solid.half_extents_m[:2, None, None], 0)
    return np.hypot(*beyond) <= sigma


def _room(taken: Flags, half_m: tuple[float, float], margin_m: float) -> Array:
    """(X, Y): how much is free around a footprint in the middle of each cell, -1 where less than the margin is."""
    room = np.full(taken.shape, -1.0)
    for more in (0.0, *_MORE_ROOM_M):
        reach = margin_m + more
        window = np.ones(_window((half_m[0] + reach, half_m[1] + reach)), np.uint8)
        # Outside of the surface everything is taken.
        around = cv2.dilate(taken.astype(np.uint8), window, borderType=cv2.BORDER_CONSTANT, borderValue=1)
        room[around == 0] = reach
    return room


def _window(half_m: tuple[float, float]) -> tuple[int, int]:
    """How many cells a footprint around the middle of one touches."""
    return 2 * int(np.ceil(half_m[0] / _CELL_M - 0.5)) + 1, 2 * int(np.ceil(half_m[1] / _CELL_M - 0.5)) + 1


def _window_mean(flags: Flags, half_m: tuple[float, float]) -> Array:
    rows, columns = _window(half_m)
    return np.asarray(cv2.blur(flags.astype(np.float32), (columns, rows), borderType=cv2.BORDER_CONSTANT), float)


def _is_bare(view: DepthView, surface: Surface, cells: Array) -> Flags:
    """(X, Y): whether the surface itself was seen there."""
    off = (view.inverse - expected_inverse(view, surface.plane)) / np.float32(view.sigma)
    on = ((np.abs(off) < ON_SIGMAS) & view.measured).astype(np.uint8)
    on = cv2.morphologyEx(on, cv2.MORPH_CLOSE, np.ones((_HOLE_PX, _HOLE_PX), np.uint8))
    points = np.concatenate([cells, np.zeros((*cells.shape[:2], 1))], axis=-1) @ surface.rotation.T + surface.middle_m
    pixels = np.rint(view.lens.pixels(points)).astype(int)
    height, width = on.shape
    inside = (pixels >= 0).all(axis=-1) & (pixels[..., 0] < width) & (pixels[..., 1] < height)
    pixels = np.clip(pixels, 0, (width - 1, height - 1))
    return inside & (on[pixels[..., 1], pixels[..., 0]] > 0)


def _chosen(room: Array, half_m: tuple[float, float], most: int) -> list[tuple[int, int]]:
    """Cells to tell of: the farthest first, of those as far the one with most room, and none too near to one before."""
    rows, columns = np.nonzero(room >= 0)
    order = np.lexsort((columns, -room[rows, columns], -rows))
    apart = _APART_SHARE * 2 * np.array(half_m) / _CELL_M
    chosen: list[tuple[int, int]] = []
    for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        if all(abs(row - a) >= apart[0] or abs(column - b) >= apart[1] for a, b in chosen):
            chosen.append((row, column))
            if len(chosen) == most:
                break
    return chosen


def _on_surface(surface: Surface, place: Array) -> Array:
    x, y, _ = surface.middle_m + surface.rotation @ np.array([*place, 0.0])
    return np.array([x, y, surface.plane.height_m(float(x), float(y))])
