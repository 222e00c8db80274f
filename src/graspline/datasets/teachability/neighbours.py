"""The most similar scenes of each scene."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.datasets.teachability.scenes import SceneStart, folded

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Up to this number of interchangeable objects the best matching is found; with more, each is matched to its nearest.
MOST_MATCHED = 4
# Candidates of which the best matching is computed, for each neighbour that is wanted.
_CANDIDATES = 4
# Pairs that are in memory at once.
_PAIRS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Neighbours:
    """For each of n scenes the most similar others, most similar first, (n, count)."""

    # -1 where there are no more scenes to compare with.
    index: Indices
    # Infinite there.
    distance_mm: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Kind:
    """The m objects of one kind in n scenes."""

    position_mm: Array  # (n, m, 3)
    yaw_rad: Array  # (n, m)
    period_rad: Array  # (n, m)
    half_mm: Array  # (n, m, 3)


def nearest(scenes: Sequence[SceneStart], count: int, done: Callable[[], object] = lambda: None) -> Neighbours:
    """The `count` most similar scenes of each; `done` is called once for every scene."""
    index = np.full((len(scenes), count), -1, dtype=np.int64)
    distance = np.full((len(scenes), count), np.inf)
    alike: dict[tuple[str, ...], list[int]] = {}
    for number, scene in enumerate(scenes):
        alike.setdefault(scene.composition, []).append(number)
    for members in map(np.array, alike.values()):
        kinds = _stacked([scenes[number] for number in members])
        for rows in _chunks(len(members), kinds):
            found, apart = _nearest_of(kinds, rows, count)
            index[members[rows], : found.shape[1]] = members[found]
            distance[members[rows], : found.shape[1]] = apart
            for _ in rows:
                done()
    return Neighbours(index=index, distance_mm=distance)


def _stacked(scenes: Sequence[SceneStart]) -> list[_Kind]:
    kinds = dict.fromkeys(each.kind for each in scenes[0].objects)
    found = []
    for kind in kinds:
        rows = [[each for each in scene.objects if each.kind == kind] for scene in scenes]
        found.append(
            _Kind(
                position_mm=np.array([[each.position_mm for each in row] for row in rows]),
                yaw_rad=np.array([[each.yaw_rad for each in row] for row in rows]),
                period_rad=np.array([[each.period_rad for each in row] for row in rows]),
                half_mm=np.array([[each.half_mm for each in row] for row in rows]),
            )
        )
    return found


def _chunks(count: int, kinds: Sequence[_Kind]) -> list[Indices]:
    most = max((kind.yaw_rad.shape[1] ** 2 for kind in kinds), default=1)
    return np.array_split(np.arange(count), -(-count * count * most // _PAIRS))


def _nearest_of(kinds: Sequence[_Kind], rows: Indices, count: int) -> tuple[Indices, Array]:
    """The nearest scenes of those in `rows`, and their distances, both (rows, up to count)."""
    total = len(kinds[0].yaw_rad) if kinds else len(rows)
    every_row = np.broadcast_to(np.arange(total), (len(rows), total))
    matched = any(kind.yaw_rad.shape[1] > 1 for kind in kinds)
    bound = _squares(kinds, rows, every_row, exact=not matched)
    bound[np.arange(len(rows)), rows] = np.inf
    wanted = min(count, total - 1)
    some = min(_CANDIDATES * count, total - 1) if matched else wanted
    chosen = np.sort(np.argpartition(bound, some - 1, axis=1)[:, :some], axis=1) if some else every_row[:, :0]
    squares = _squares(kinds, rows, chosen, exact=True) if matched else np.take_along_axis(bound, chosen, axis=1)
    order = np.argsort(squares, axis=1, kind="stable")[:, :wanted]
    return np.take_along_axis(chosen, order, axis=1), np.sqrt(np.take_along_axis(squares, order, axis=1))


def _squares(kinds: Sequence[_Kind], rows: Indices, others: Indices, *, exact: bool) -> Array:
    """Squared differences, mm², of each scene of `rows` and each of its `others`, (rows, others)."""
    return sum((_matched(_table(kind, rows, others), exact=exact) for kind in kinds), np.zeros(others.shape))


def _table(kind: _Kind, rows: Indices, others: Indices) -> Array:
    """Squared difference of every object of the one and every object of the other, (rows, others, m, m)."""
    count = kind.yaw_rad.shape[1]
    table = np.empty((*others.shape, count, count))
    radius = np.hypot(kind.half_mm[..., 0], kind.half_mm[..., 1])
    for a, b in itertools.product(range(count), range(count)):
        period = np.maximum(kind.period_rad[rows, a][:, None], kind.period_rad[others, b])
        yaw = folded(kind.yaw_rad[others, b] - kind.yaw_rad[rows, a][:, None], period)
        square = (yaw * (radius[rows, a][:, None] + radius[others, b]) / 2) ** 2
        for axis in range(3):
            square += (kind.position_mm[others, b, axis] - kind.position_mm[rows, a, axis][:, None]) ** 2
            square += (kind.half_mm[others, b, axis] - kind.half_mm[rows, a, axis][:, None]) ** 2
        table[..., a, b] = square
    return table


def _matched(table: Array, *, exact: bool) -> Array:
    """The least sum over matchings of the last two axes; a lower bound of it if not exact, or if there are too many."""
    count = table.shape[-1]
    if exact and count <= MOST_MATCHED:
        ways = np.array(list(itertools.permutations(range(count))))
        # Each way takes one entry of each row.
        return np.min([table[..., np.arange(count), way].sum(axis=-1) for way in ways], axis=0)
    return np.maximum(table.min(axis=-1).sum(axis=-1), table.min(axis=-2).sum(axis=-1))
