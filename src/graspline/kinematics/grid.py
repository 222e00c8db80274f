"""A coarse grid of an arm's targets, seen from its first axis: radius, height and pitch; and goals at its cells."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arm import STRAIGHT_DOWN_RAD
from graspline.kinematics.newton import Goals
from graspline.kinematics.structure import Indices, Structure

Array = NDArray[np.float64]

# Numbers of radii and pitches; heights are as far apart as radii, and pitches go from nearly ahead over straight down
# to leaning back.
_RADII, _PITCHES, _PITCH_STEP_RAD, _FIRST_PITCH_RAD = 18, 10, np.pi / 12, np.pi / 18


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """Radii, heights and pitches of a grid's cells, in this order."""

    low: Array  # (3,)
    step: Array
    shape: tuple[int, int, int]

    def nearest(self, radius: Array, height: Array, pitch: Array) -> Indices:
        """The cell of each target, or the nearest at the grid's edge."""
        found = np.zeros(radius.shape, dtype=np.intp)
        for axis, values in enumerate((radius, height, pitch)):
            at = np.rint((values - self.low[axis]) / self.step[axis])
            found = found * self.shape[axis] + np.minimum(np.maximum(at, 0), self.shape[axis] - 1).astype(np.intp)
        return found

    def nearest_and_beside(self, radius: Array, height: Array, pitch: Array) -> tuple[Indices, Array]:
        """The cell nearest to each target, and how far beside it that is, in cells, (3, L), but half of one at most."""
        cell = self.nearest(radius, height, pitch)
        away = (np.array([radius, height, pitch]) - self.targets(cell)) / self.step[:, None]
        return cell, np.minimum(np.maximum(away, -0.5), 0.5)

    def around(self, radius: Array, height: Array, pitch: Array) -> tuple[Indices, Array]:
        """The lowest of the eight cells around each target, and weights (L, 1, 32) of all of them; see `corners`.

        The first of each four is of values at a cell, the others of how these change to the next along each axis. Of a
        smooth function linear interpolation is off by its second derivatives, and by slopes alone as much the other
        way: half of each leaves only the third ones.
        """
        at = (np.array([radius, height, pitch]) - self.low[:, None]) / self.step[:, None]
        below = np.maximum(np.minimum(np.floor(at), self._lowest), 0.0)
        share = np.minimum(np.maximum(at - below, 0.0), 1.0)
        shares = np.array([1 - share, share])
        weights = np.empty((2, 2, 2, 4, len(radius)))
        np.multiply((shares[:, None, 0] * shares[None, :, 1])[:, :, None], shares[:, 2], out=weights[:, :, :, 0])
        slopes = 0.5 * np.array([share, share - 1])
        np.multiply(weights[:, :, :, 0], slopes[:, None, None, 0], out=weights[:, :, :, 1])
        np.multiply(weights[:, :, :, 0], slopes[:, None, 1], out=weights[:, :, :, 2])
        np.multiply(weights[:, :, :, 0], slopes[:, 2], out=weights[:, :, :, 3])
        cells = below.astype(np.intp)
        lowest = (cells[0] * self.shape[1] + cells[1]) * self.shape[2] + cells[2]
        return lowest, weights.reshape(32, -1).T[:, None].copy()

    @functools.cached_property
    def _lowest(self) -> Indices:
        """(3, 1): the highest cells that can be the lowest of those around a target."""
        return np.array(self.shape)[:, None] - 2

    @functools.cached_property
    def corners(self) -> Indices:
        """(8,): how far the eight cells around a target are behind the lowest of them."""
        _, heights, pitches = self.shape
        steps = np.meshgrid((0, heights * pitches), (0, pitches), (0, 1), indexing="ij")
        return np.add.reduce(steps).ravel()

    def targets(self, cells: Indices) -> Array:
        """Radius, height and pitch of each cell, (3, L)."""
        return self.low[:, None] + self.step[:, None] * np.stack(np.unravel_index(cells, self.shape))

    def neighbours(self, cells: Indices) -> tuple[Indices, Indices]:
        """Cells beside these, and which of these each is beside."""
        at = np.stack(np.unravel_index(cells, self.shape))
        found, beside = [], []
        for axis in range(3):
            for way in (-1, 1):
                moved = at.copy()
                moved[axis] += way
                inside = (moved[axis] >= 0) & (moved[axis] < self.shape[axis])
                found.append(np.ravel_multi_index(tuple(moved[:, inside]), self.shape))
                beside.append(np.flatnonzero(inside))
        return np.concatenate(found), np.concatenate(beside)


def grid_of(structure: Structure) -> Grid:
    """About all that the arm reaches."""
    step = structure.reach_m / (_RADII - 1)
    low, high = structure.heights_m
    # An arm without a joint for the pitch has the one that it always has: hands of such arms point straight down.
    first, pitches = (_FIRST_PITCH_RAD, _PITCHES) if structure.pitched else (STRAIGHT_DOWN_RAD, 1)
    return Grid(
        low=np.array([0.0, low, first]),
        step=np.array([step, step, _PITCH_STEP_RAD]),
        shape=(_RADII, int(np.ceil((high - low) / step)) + 1, pitches),
    )


def goals_at(structure: Structure, targets: Array, way: Array) -> Goals:
    """The wrist's point at radius, height and pitch (3, L) ahead, jaws opening to the left of the way the arm looks."""
    radius, height, pitch = targets
    nothing = np.zeros_like(radius)
    position = np.stack([structure.axis_m[0] + radius, structure.axis_m[1] + nothing, height])
    sine, cosine = np.sin(pitch), np.cos(pitch)
    return Goals(
        position_m=position,
        tool_m=np.repeat(wrist_point(structure)[:, None], len(radius), axis=1),
        pitch=np.stack([sine, cosine]),
        across=np.stack([way, nothing, nothing] if structure.planar else [sine, nothing, cosine]),
        along=np.stack([nothing, way, nothing]),
        headed=structure.steered,
    )


def wrist_point(structure: Structure) -> Array:
    """(3,): the point of the wrist's axis that is nearest to the tool, in the gripper frame."""
    if not structure.steered:
        return structure.tool_m
    hand = structure.chain.steps[-1]
    # The gripper's origin and axes in the wrist's frame, whose z is the axis.
    beside = hand[:, 3].copy()
    beside[2] = 0.0
    return np.array([structure.tool_m[0], 0.0, 0.0]) - np.array([0.0, *(hand[:, 1:3].T @ beside)])
