"""Two fingers as planning sees them: where their inner faces are at every position of the jaw, and how far they reach.

In the gripper frame x is along the fingers and z from the fixed finger to the moving one. A hand whose fingers both
move is `centred`: it takes an object in its middle, and neither finger has to be brought up to it first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Faces:
    """The moving finger's face at some positions of the jaw: where its pieces begin, their way and its square."""

    start_m: Array
    way_m: Array
    square_m2: Array
    # Whether all of it is beyond the fixed finger's face.
    past: Flags


@dataclass(frozen=True, kw_only=True, eq=False)
class Hand:
    """The fingers of one robot. Positions of the jaw grow as it opens."""

    # Where the robot's readings have the tool point, in the gripper frame.
    tool_m: tuple[float, float, float]
    # How far the fingertips reach, and from where on they grip, along x.
    tip_m: float
    grip_from_m: float
    # Positions of the jaw that plans choose from, rising.
    positions: Array
    # Corners of the moving finger's inner face at positions (...,): along and across, (..., corners); two for each
    # straight piece of it, the far one first.
    moving_face_m: Callable[[float | Array], tuple[Array, Array]]
    # Where the fixed finger's inner face is, across; of a centred hand it mirrors the moving one.
    face_m: float = 0.0
    centred: bool = False

    def fixed_across_m(self, position: float | Array) -> float | Array:
        """Where the innermost face of the finger opposite to the moving one is, across."""
        return -self.moving_face_m(position)[1].min(axis=-1) if self.centred else self.face_m

    def across_m(self, beside_m: float, half_m: float) -> float:
        """Where an object's middle is, across, that begins `beside_m` from the fixed finger; 0 in a centred hand."""
        return 0.0 if self.centred else self.face_m + beside_m + half_m

    @functools.cached_property
    def lowest_m(self) -> float:
        """How far below the tool point fingers that point straight down reach, however far they are open."""
        along, _ = self.moving_face_m(self.positions)
        return float(max(along.max(), self.tip_m)) - self.tool_m[0]

    def tilt_rad(self, position: float) -> float:
        """How far the moving fingertip's face is turned out of parallel to the fixed one's."""
        along, across = self.moving_face_m(position)
        return float(np.arctan2(across[..., 0] - across[..., 1], along[..., 0] - along[..., 1]))

    def clear_gap_m(self, position: float | Array, from_m: float) -> Array:
        """The room between the fingers for something that reaches up to `from_m` along the approach axis.

        A finger that swings leans in towards its pivot when open, so what counts is the narrowest place below that
        height. Opened so far that it ends above that height it has nothing to close on: there is no room then.
        """
        along, across = self.moving_face_m(position)
        nearest = np.where(along >= from_m, across, np.inf).min(axis=-1)
        # Where a face passes `from_m` between two corners, take it there.
        for low in range(0, along.shape[-1], 2):
            far, near = along[..., low], along[..., low + 1]
            share = (from_m - near) / np.where(far == near, 1.0, far - near)
            crossing = across[..., low + 1] + share * (across[..., low] - across[..., low + 1])
            nearest = np.where((share >= 0) & (share <= 1), np.minimum(nearest, crossing), nearest)
        return np.where(np.isinf(nearest), 0.0, nearest - self.fixed_across_m(position))

    def ball_room_m(self, positions: Array, along_m: float, across_m: float) -> Array:
        """Distance from a point between the fingers to the moving one's inner face, at each of these positions."""
        face = self._every_face if positions is self.positions else self._faces(positions)
        to = np.array([along_m, across_m]) - face.start_m
        share = np.clip(np.vecdot(to, face.way_m) / face.square_m2, 0, 1)
        apart = to - share[..., None] * face.way_m
        nearest = np.sqrt(np.vecdot(apart, apart)).min(axis=-1)
        # Where the finger has not yet swung past the point, there is no room at all.
        return np.where(face.past, nearest, 0.0)

    def _faces(self, positions: Array) -> _Faces:
        along, across = self.moving_face_m(positions)
        corner = np.stack([along, across], axis=-1)
        way = corner[:, 1:] - corner[:, :-1]
        square = np.maximum(np.vecdot(way, way), 1e-12)
        past = across.min(axis=-1) > (0.0 if self.centred else self.face_m)
        return _Faces(start_m=corner[:, :-1], way_m=way, square_m2=square, past=past)

    @functools.cached_property
    def _every_face(self) -> _Faces:
        return self._faces(self.positions)


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredFace:
    """Where the corners of a finger's inner face are, as measured at rising positions of the jaw."""

    positions: Array  # (k,)
    # In the order in which `Hand.moving_face_m` has them, (k, corners).
    along_m: Array
    across_m: Array

    def __call__(self, position: float | Array) -> tuple[Array, Array]:
        """Position and direction of the face at jaw positions."""
        at = np.asarray(position, float)
        along, across = (
            np.stack([np.interp(at, self.positions, corner) for corner in values.T], axis=-1)
            for values in (self.along_m, self.across_m)
        )
        return along, across


def parallel_hand(positions: Array, gaps_m: Array, ahead_m: Array, pad_length_m: float) -> Hand:
    """Two flat pads that stay parallel, with the tool frame in the middle between them when they are shut.

    `gaps_m` and `ahead_m`, how far the pads' middle is along the approach axis, are measured at rising positions.
    """
    half_m, across_m = pad_length_m / 2, gaps_m / 2
    return Hand(
        tool_m=(0.0, 0.0, 0.0),
        tip_m=float(ahead_m[0]) + pad_length_m / 2,
        grip_from_m=float(ahead_m[0]) - pad_length_m / 2,
        positions=np.linspace(float(positions[0]), float(positions[-1]), 151),
        moving_face_m=MeasuredFace(
            positions,
            np.stack([ahead_m + half_m, ahead_m - half_m], axis=1),
            np.stack([across_m, across_m], axis=1),
        ),
        centred=True,
    )
