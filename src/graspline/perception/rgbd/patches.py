"""Pixels of things divided into patches: wherever the picture folds inwards, jumps back or changes colour.

Things are convex, or nearly so, and stand apart: going over one of them, 1 / depth bends down like a roof. Where it
bends up there is a valley between two things, or the edge of one before another. What is cut too often is put together
again in `clusters`.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from graspline.perception.rgbd.clouds import DepthView, Flags, Image

Labels = NDArray[np.int32]

# Means over windows of this size in pixels, this far apart, are compared; least number of pixels in a window.
_ALONG_PX, _ACROSS_PX, _STEP_PX, _LEAST_IN_WINDOW = 3, 5, 4, 9
_BEND_SIGMAS = 5.0
# Neighbours in a row that differ by so much are on different surfaces.
_JUMP_SIGMAS = 8.0
# Colours without their brightness differ by this much over this many pixels; what is darker than this has none.
_COLOUR_STEP, _COLOUR_STEP_PX, _DARK = 0.07, 2, 8.0
# Fewer pixels are not the beginning of a patch.
_LEAST_SEED_PX = 25
# Patches grow back over cuts by this many pixels, onto what is as far away, to these sigmas and this per metre.
_GROWTH_PX, _GROWTH_SIGMAS, _GROWTH_SLOPE = 5, 4.0, 0.003
_NEIGHBOURS = ((0, 1), (0, -1), (1, 0), (-1, 0))


def find_patches(view: DepthView, mask: Flags) -> Labels:
    """(H, W): 1, 2, … on patches of a mask, else 0."""
    labels = np.zeros(mask.shape, np.int32)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return labels
    piece = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    inverse, inside, colour = view.inverse[piece], mask[piece], colours_without_light(view.rgb[piece])
    cut = _folds(inverse, inside, view.sigma) | _colour_edges(colour, inside)
    cut = cv2.dilate(cut.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    cut |= _jumps(inverse, inside, view.sigma)
    found = _seeds(inside & ~cut, 0)
    far = _GROWTH_SIGMAS * view.sigma + _GROWTH_SLOPE
    _grow(found, inverse, colour, inside, far)
    # What is left are narrow things, all of them near some cut.
    found += _linked(inside & (found == 0), inverse, colour, far, int(found.max()))
    _grow(found, inverse, colour, inside, far)
    labels[piece] = found
    return labels


def colours_without_light(rgb: NDArray[np.uint8]) -> Image:
    """(3, ...): shares of red, green and blue of colours (..., 3), which are the same on bright and on shaded faces."""
    values = np.moveaxis(rgb, -1, 0).astype(np.float32, order="C")
    return values / (values[0] + values[1] + values[2] + np.float32(_DARK))


def _folds(inverse: Image, inside: Flags, sigma: float) -> Flags:
    """(H, W): where 1 / depth bends up, along rows or along columns."""
    weights = inside.astype(np.float32)
    return _bends_up(inverse, weights, sigma) | _bends_up(inverse.T, weights.T, sigma).T


def _bends_up(inverse: Image, weights: Image, sigma: float) -> Flags:
    """(H, W): where it does along columns."""
    window, step = (_ACROSS_PX, _ALONG_PX), _STEP_PX
    found = np.zeros(inverse.shape, bool)
    if len(inverse) <= 2 * step:
        return found
    weights = np.ascontiguousarray(weights)
    count = cv2.boxFilter(weights, -1, window, normalize=False, borderType=cv2.BORDER_CONSTANT)
    total = cv2.boxFilter(inverse * weights, -1, window, normalize=False, borderType=cv2.BORDER_CONSTANT)
    mean, share = total / np.maximum(count, 1), 1 / np.maximum(count, 1)
    before, here, after = slice(None, -2 * step), slice(step, -step), slice(2 * step, None)
    bend = mean[before] + mean[after] - 2 * mean[here]
    spread = sigma * np.sqrt(share[before] + share[after] + 4 * share[here])
    enough = count >= _LEAST_IN_WINDOW
    found[here] = (bend > _BEND_SIGMAS * spread) & enough[before] & enough[after] & (weights[here] > 0)
    return found


def _jumps(inverse: Image, inside: Flags, sigma: float) -> Flags:
    """(H, W): where something is far behind the pixel beside it in a row.

    Along columns a surface seen from above may recede as fast.
    """
    behind = np.zeros(inside.shape, bool)
    both = inside[:, 1:] & inside[:, :-1]
    step = inverse[:, 1:] - inverse[:, :-1]
    behind[:, :-1] |= both & (step > _JUMP_SIGMAS * sigma)
    behind[:, 1:] |= both & (step < -_JUMP_SIGMAS * sigma)
    return behind


def _colour_edges(colour: Image, inside: Flags) -> Flags:
    """(H, W): where the colour is another on one side than on the other."""
    found, step = np.zeros(inside.shape, bool), _COLOUR_STEP_PX
    for turned in (False, True):
        each, within = (colour.swapaxes(1, 2), inside.T) if turned else (colour, inside)
        both = within[2 * step :] & within[: -2 * step]
        changes = _differ(each[:, 2 * step :], each[:, : -2 * step])
        (found.T if turned else found)[step:-step] |= changes & both
    return found & inside


def _differ(one: Image, other: Image) -> Flags:
    """(...,): whether shares (3, ...) are of different colours."""
    off = np.abs(one - other) > _COLOUR_STEP
    return off[0] | off[1] | off[2]


def _seeds(inside: Flags, first: int) -> Labels:
    """(H, W): numbers from `first` + 1 on pieces that hang together and are large enough."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(inside.astype(np.uint8), connectivity=4)
    return _numbered(np.asarray(labels, np.int32), stats[:, cv2.CC_STAT_AREA], first)


def _linked(inside: Flags, inverse: Image, colour: Image, far: float, first: int) -> Labels:
    """The same for pixels that hang together only if they are as far away and of the same colour."""
    height, width = inside.shape
    # Pixels, and between them what links them.
    lattice = np.zeros((2 * height - 1, 2 * width - 1), np.uint8)
    lattice[::2, ::2] = inside
    lattice[::2, 1::2] = inside[:, 1:] & inside[:, :-1] & (np.abs(np.diff(inverse, axis=1)) < far)
    lattice[1::2, ::2] = inside[1:] & inside[:-1] & (np.abs(np.diff(inverse, axis=0)) < far)
    lattice[::2, 1::2] &= ~_differ(colour[:, :, 1:], colour[:, :, :-1])
    lattice[1::2, ::2] &= ~_differ(colour[:, 1:], colour[:, :-1])
    count, labels = cv2.connectedComponents(lattice, connectivity=4)
    labels = np.asarray(labels[::2, ::2], np.int32)
    return _numbered(labels, np.bincount(labels.ravel(), minlength=count), first)


def _numbered(labels: Labels, areas: NDArray[Any], first: int) -> Labels:
    kept = areas >= _LEAST_SEED_PX
    kept[0] = False
    return np.where(kept, first + np.cumsum(kept), 0).astype(np.int32)[labels]


def _grow(labels: Labels, inverse: Image, colour: Image, inside: Flags, far: float) -> None:
    """Give pixels without a label that of a neighbour on the same surface, as far as cuts are wide."""
    shares = _colours_of(labels, colour)
    height, width = inside.shape
    for _ in range(_GROWTH_PX):
        rows, columns = np.nonzero(inside & (labels == 0))
        if not len(rows):
            return
        found = np.zeros(len(rows), np.int32)
        for down, across in _NEIGHBOURS:
            there = np.clip(rows + down, 0, height - 1), np.clip(columns + across, 0, width - 1)
            near = labels[there]
            alike = np.abs(inverse[there] - inverse[rows, columns]) < far
            alike &= ~_differ(shares[:, near], colour[:, rows, columns])
            found = np.where((found == 0) & alike, near, found)
        labels[rows, columns] = found


def _colours_of(labels: Labels, colour: Image) -> Image:
    """(3, L + 1): the mean colour of each label."""
    count = np.maximum(np.bincount(labels.ravel()), 1)
    return np.stack([np.bincount(labels.ravel(), each.ravel()) / count for each in colour]).astype(np.float32)
