"""How deep blocks seen on a belt stand in each other, which real ones do not: one of the two is seen wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from graspline.perception.core.outlines import Array

_SIGNS = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) / 2


class Footprint(Protocol):
    """A rectangle on the belt, by its middle, full extents and heading."""

    @property
    def size_m(self) -> tuple[float, float, float]:
        """The sizes along the object's own axes."""
        ...

    @property
    def x_m(self) -> float:
        """The position along x."""
        ...

    @property
    def y_m(self) -> float:
        """The position along y."""
        ...

    @property
    def yaw_rad(self) -> float:
        """The rotation about the vertical."""
        ...


def overlaps_m(blocks: Sequence[Footprint]) -> Array:
    """(n,): how deep each stands in another, at most; 0 where in none."""
    deepest = np.zeros(len(blocks))
    reach = [float(np.hypot(*block.size_m[:2])) / 2 for block in blocks]
    for one in range(len(blocks)):
        for other in range(one + 1, len(blocks)):
            a, b = blocks[one], blocks[other]
            if np.hypot(a.x_m - b.x_m, a.y_m - b.y_m) < reach[one] + reach[other]:
                depth = max(0.0, -gap_m(a, b))
                deepest[[one, other]] = np.maximum(deepest[[one, other]], depth)
    return deepest


def gap_m(one: Footprint, other: Footprint) -> float:
    """How far apart two are along that of their sides which separates them best; less than 0 where they overlap."""
    here, there = _corners_m(one), _corners_m(other)
    normals = np.concatenate([_axes(one), _axes(other)])
    near, far = here @ normals.T, there @ normals.T
    return float(np.maximum(far.min(axis=0) - near.max(axis=0), near.min(axis=0) - far.max(axis=0)).max())


def _axes(block: Footprint) -> Array:
    cosine, sine = np.cos(block.yaw_rad), np.sin(block.yaw_rad)
    return np.array([[cosine, sine], [-sine, cosine]])


def _corners_m(block: Footprint) -> Array:
    return np.array([block.x_m, block.y_m]) + (_SIGNS * block.size_m[:2]) @ _axes(block)
