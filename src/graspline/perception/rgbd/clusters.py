"""Patches put together to clusters, one for each thing that stands on a surface.

Things stand beside each other, so their footprints do not overlap: patches whose footprints do are parts of one thing,
a stripe around a box, a cap on a bottle. A level patch at the top of another one, from its left to its right end, is
its lid. And things do not float: a patch with something behind it just below is a handle.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from graspline.perception.core.silhouettes import beyond_px
from graspline.perception.rgbd.above_surface import Ground
from graspline.perception.rgbd.clouds import DepthView, Flags, Image, Indices
from graspline.perception.rgbd.patches import Labels, colours_without_light, find_patches
from graspline.rendering.picture import Array

# Patches this near to one another in the picture may be parts of one thing.
_STEPS_PX = (1, 2, 4)
# Of one patch this share lies within the footprint of the other, give or take so much.
_SHARED, _SLACK_M = 0.5, 0.003
# A patch that floats begins at this height at least, and what is seen so far below it is behind it: nothing hides its
# foot.
_FLOATS_M, _BELOW_PX = 0.012, (2, 3, 4, 5)
# Slivers, and parts that float, are this near to what they are a part of; handles stick out of their own colour.
_ATTACHED_M, _HANGING_M = 0.02, 0.08
# Patches of fewer pixels, or of less than this share of what they touch, are part of it if they have its colour.
_SLIVER_PX, _SLIVER_SHARE = 60, 0.06
# Colours without light that differ by no more than this are the same.
_ALIKE = 0.04
# Fewer pixels are no thing.
_LEAST_PX = 40
# A lid is this level, this near to the height of what it lies on, and does not stick out by more than this.
_LEVEL_M, _SAME_HEIGHT_M, _SAME_END_M = 0.008, 0.006, 0.005
# One of another colour is at least this share as wide, and this near to the edge it lies on.
_LEAST_LID, _LID_APART_M = 0.6, 0.015
# Number of points of a patch that are looked at; number of the lowest that may be strays.
_SAMPLE, _STRAYS = 160, 6

# By pairs of labels, the smaller first: how far patches are apart that are near one another in the picture.
Contacts = dict[tuple[int, int], float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cluster:
    """Pixels of one thing: rows and columns, (N,) each."""

    rows: Indices
    columns: Indices


@dataclass(slots=True, kw_only=True, eq=False)
class _PatchGroup:
    """A patch, or several that were put together."""

    rows: Indices
    columns: Indices
    # (S, 3), in the frame of the surface.
    sample: Array
    # (3,), without light.
    colour: Array
    low_m: float
    high_m: float
    # (V, 2), convex.
    footprint: Array
    # Where it begins and ends, from right to left as the camera sees it.
    ends_rad: Array

    @property
    def pixels(self) -> int:
        return len(self.rows)


def find_clusters(ground: Ground, mask: Flags) -> list[Cluster]:
    """Clusters of a mask."""
    labels = find_patches(ground.view, mask)
    if not labels.any():
        return []
    pieces = _pieces(ground, labels)
    contacts = _contacts(labels, ground.view.points_m)
    _join_overlapping(pieces, contacts)
    _join_floating(pieces, contacts, ground.view)
    _join_slivers(pieces, contacts)
    return [Cluster(rows=each.rows, columns=each.columns) for each in pieces.values() if len(each.rows) >= _LEAST_PX]


def _pieces(ground: Ground, labels: Labels) -> dict[int, _PatchGroup]:
    """Every patch by its label."""
    rows, columns = np.nonzero(labels)
    order = np.argsort(labels[rows, columns], kind="stable")
    rows, columns = rows[order], columns[order]
    bounds = np.searchsorted(labels[rows, columns], np.arange(1, int(labels.max()) + 2))
    spans = (slice(low, high) for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
    return {label: _piece(ground, rows[span], columns[span]) for label, span in enumerate(spans, start=1)}


def _piece(ground: Ground, rows: Indices, columns: Indices) -> _PatchGroup:
    every = slice(None, None, max(1, len(rows) // _SAMPLE))
    sample = ground.points(rows[every], columns[every])
    heights = np.sort(ground.heights_m[rows, columns])
    colour = np.median(colours_without_light(ground.view.rgb[rows[every], columns[every]]), axis=1)
    return _PatchGroup(
        rows=rows,
        columns=columns,
        sample=sample,
        colour=colour.astype(float),
        low_m=float(heights[min(_STRAYS, len(heights) // 10)]),
        high_m=float(heights[int(0.95 * len(heights))]),
        footprint=_hull(sample[:, :2]),
        ends_rad=_ends_rad(sample),
    )


def _ends_rad(sample: Array) -> Array:
    """(2,): bearings from below the camera, which is where the frame begins."""
    middle = np.median(sample[:, :2], axis=0)
    x, y = sample[:, :2].T
    # About the middle's, so that bearings of one thing do not jump.
    turn = np.arctan2(middle[0] * y - middle[1] * x, middle[0] * x + middle[1] * y)
    return np.percentile(turn, (2, 98)) + np.arctan2(middle[1], middle[0])


def _hull(places_m: Array) -> Array:
    return np.asarray(cv2.convexHull(places_m.astype(np.float32)), float).reshape(-1, 2)


def _contacts(labels: Labels, points_m: Image) -> Contacts:
    """How far patches are apart where they are near one another along a row or a column."""
    rows, columns = np.flatnonzero(labels.any(axis=1)), np.flatnonzero(labels.any(axis=0))
    piece = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    pairs, apart = [], []
    for turned in (False, True):
        near = labels[piece].T if turned else labels[piece]
        points = points_m[:, *piece].swapaxes(1, 2) if turned else points_m[:, *piece]
        for step in _STEPS_PX:
            differ = (near[:-step] != near[step:]) & (near[:-step] > 0) & (near[step:] > 0)
            pairs.append(np.sort(np.stack([near[:-step][differ], near[step:][differ]], axis=1), axis=1))
            off = points[:, :-step][:, differ] - points[:, step:][:, differ]
            apart.append(np.sqrt((off * off).sum(axis=0)))
    found, which = np.unique(np.concatenate(pairs), axis=0, return_inverse=True)
    distances = np.concatenate(apart)
    return {(a, b): float(np.percentile(distances[which.ravel() == k], 25)) for k, (a, b) in enumerate(found.tolist())}


def _join(pieces: dict[int, _PatchGroup], contacts: Contacts, into: int, other: int) -> None:
    """Make one piece a part of another."""
    kept, lost = pieces[into], pieces.pop(other)
    if lost.pixels > kept.pixels:
        kept.colour = lost.colour
    kept.rows, kept.columns = np.concatenate([kept.rows, lost.rows]), np.concatenate([kept.columns, lost.columns])
    kept.sample = np.concatenate([kept.sample, lost.sample])
    kept.low_m, kept.high_m = min(kept.low_m, lost.low_m), max(kept.high_m, lost.high_m)
    kept.footprint, kept.ends_rad = _hull(kept.sample[:, :2]), _ends_rad(kept.sample)
    for one, third in [pair for pair in contacts if other in pair]:
        apart_m, neighbour = contacts.pop((one, third)), one + third - other
        if neighbour != into:
            pair = min(neighbour, into), max(neighbour, into)
            contacts[pair] = min(apart_m, contacts.get(pair, np.inf))


def _neighbours(contacts: Contacts, label: int) -> dict[int, float]:
    """How far away each neighbour of a piece is."""
    return {a + b - label: apart_m for (a, b), apart_m in sorted(contacts.items()) if label in (a, b)}


def _join_overlapping(pieces: dict[int, _PatchGroup], contacts: Contacts) -> None:
    """Join what stands in the same place, until nothing does."""
    tested: dict[tuple[int, int], int] = {}
    while True:
        size = {pair: pieces[pair[0]].pixels + pieces[pair[1]].pixels for pair in contacts}
        fresh = sorted(pair for pair in contacts if tested.get(pair) != size[pair])
        if not fresh:
            return
        one, other = fresh[0]
        tested[fresh[0]] = size[fresh[0]]
        if _are_one(pieces[one], pieces[other], contacts[fresh[0]]):
            _join(pieces, contacts, one, other)


def _are_one(one: _PatchGroup, other: _PatchGroup, apart_m: float) -> bool:
    shared = max(_share_within(one, other), _share_within(other, one))
    return shared >= _SHARED or _is_lid(one, other, apart_m) or _is_lid(other, one, apart_m)


def _are_alike(one: _PatchGroup, other: _PatchGroup) -> bool:
    return bool(np.abs(one.colour - other.colour).max() < _ALIKE)


def _is_lid(lid: _PatchGroup, below: _PatchGroup, apart_m: float) -> bool:
    """Whether a piece is the top of another, or of the same colour a part of that."""
    if lid.high_m - lid.low_m > _LEVEL_M or abs(lid.high_m - below.high_m) > _SAME_HEIGHT_M:
        return False
    slack = _SAME_END_M / float(np.hypot(*np.median(lid.sample[:, :2], axis=0)))
    within = (lid.ends_rad - below.ends_rad) * np.array([1, -1]) > -slack
    wide = np.ptp(lid.ends_rad) > _LEAST_LID * np.ptp(below.ends_rad)
    return bool(within.all()) and (_are_alike(lid, below) or (bool(wide) and apart_m < _LID_APART_M))


def _share_within(one: _PatchGroup, other: _PatchGroup) -> float:
    """How much of one piece is above the footprint of another."""
    if len(other.footprint) < 3:
        return 0.0
    return float((beyond_px(other.footprint, one.sample[:, :2]) > -_SLACK_M).mean())


def _join_floating(pieces: dict[int, _PatchGroup], contacts: Contacts, view: DepthView) -> None:
    """Join what hangs in the air with what it hangs on."""
    for label in sorted(pieces, key=lambda each: pieces[each].pixels):
        piece = pieces[label]
        # The lowest parts of things are lost in noise.
        noise = view.sigma / float(np.median(view.inverse[piece.rows, piece.columns])) ** 2
        if piece.low_m < _FLOATS_M + noise or not _is_free_below(piece, view.inverse):
            continue
        apart = _neighbours(contacts, label) or _alike_nearby(pieces, label)
        limits = {each: _HANGING_M if _are_alike(piece, pieces[each]) else _ATTACHED_M for each in apart}
        near = [each for each in apart if apart[each] < limits[each]]
        if near:
            _join(pieces, contacts, min(near, key=lambda each: apart[each]), label)


def _alike_nearby(pieces: dict[int, _PatchGroup], label: int) -> dict[int, float]:
    """How far away pieces of the same colour are; the arms of a handle may be too thin to be seen."""
    piece, apart = pieces[label], {}
    for each, other in pieces.items():
        if each != label and _are_alike(piece, other):
            off = piece.sample[:, None] - other.sample[None]
            apart[each] = float(np.sqrt((off * off).sum(axis=-1).min()))
    return apart


def _is_free_below(piece: _PatchGroup, inverse: Image) -> bool:
    """Whether what is seen below a piece is behind it; something before it could hide that it stands."""
    height, width = inverse.shape
    lowest = np.full(width, -1)
    np.maximum.at(lowest, piece.columns, piece.rows)
    columns = np.flatnonzero(lowest >= 0)
    here = inverse[lowest[columns], columns]
    below = np.minimum(lowest[columns, None] + np.array(_BELOW_PX), height - 1)
    seen = inverse[below, columns[:, None]]
    behind = (seen - here[:, None])[seen > 0]
    return bool(len(behind)) and float(np.median(behind)) < 0


def _join_slivers(pieces: dict[int, _PatchGroup], contacts: Contacts) -> None:
    """Join small pieces with neighbours of their colour that are as high."""
    for label in sorted(pieces, key=lambda each: pieces[each].pixels):
        piece = pieces[label]
        apart = _neighbours(contacts, label)
        for each in sorted(apart, key=lambda each: -pieces[each].pixels):
            if apart[each] < _ATTACHED_M and _is_sliver(piece, pieces[each]):
                _join(pieces, contacts, each, label)
                break


def _is_sliver(piece: _PatchGroup, other: _PatchGroup) -> bool:
    """Whether a piece is a small part of another one."""
    small = piece.pixels < max(_SLIVER_PX, _SLIVER_SHARE * other.pixels)
    return small and _are_alike(piece, other) and piece.high_m < other.high_m + _SLACK_M
