"""Rotations: unit quaternions (w first), 3×3 matrices, rotation vectors."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rotation_x(angle_rad: float | Array) -> Array:
    """The rotation about x by an angle, (…, 3, 3)."""
    c, s, o, z = _parts(angle_rad)
    return _stack(o, z, z, z, c, -s, z, s, c)


def rotation_y(angle_rad: float | Array) -> Array:
    """The rotation about y by an angle, (…, 3, 3)."""
    c, s, o, z = _parts(angle_rad)
    return _stack(c, z, s, z, o, z, -s, z, c)


def rotation_z(angle_rad: float | Array) -> Array:
    """The rotation about z by an angle, (…, 3, 3)."""
    c, s, o, z = _parts(angle_rad)
    return _stack(c, -s, z, s, c, z, z, z, o)


def _parts(angle_rad: float | Array) -> tuple[Array, Array, Array, Array]:
    angle = np.asarray(angle_rad, float)
    return np.cos(angle), np.sin(angle), np.ones_like(angle), np.zeros_like(angle)


def _stack(*entries: Array) -> Array:
    return np.stack(entries, axis=-1).reshape(*np.shape(entries[0]), 3, 3)


def from_rpy(roll_rad: float, pitch_rad: float, yaw_rad: float) -> Array:
    """Fixed-axis XYZ angles, as URDF writes them, to a matrix."""
    return multiply(rotation_z(yaw_rad), multiply(rotation_y(pitch_rad), rotation_x(roll_rad)))


def multiply(a: Array, b: Array) -> Array:
    """Matrix product over the last two axes, row for row the same bits at any batch size."""
    return np.einsum("...ij,...jk->...ik", a, b)


def rotate(matrix: Array, vector: Array) -> Array:
    """Matrix times vector over leading axes."""
    return np.einsum("...ij,...j->...i", matrix, vector)


def transpose(matrix: Array) -> Array:
    """The transpose of each matrix, which is the inverse of a rotation."""
    return np.swapaxes(matrix, -1, -2)


def matrix_from_quaternion(quaternion: Array) -> Array:
    """Unit quaternions `(..., 4)`, w first, to matrices `(..., 3, 3)`."""
    q = np.asarray(quaternion, float)
    # Of one quaternion plain numbers: the same bits at a fraction of the time.
    w, x, y, z = q.tolist() if q.ndim == 1 else (q[..., 0], q[..., 1], q[..., 2], q[..., 3])
    entries = (
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    )  # fmt: skip
    return np.array(entries).reshape(3, 3) if q.ndim == 1 else _stack(*entries)


def quaternion_from_matrix(matrix: Array) -> Array:
    """Matrices to unit quaternions with w ≥ 0, from the largest of the four components for accuracy everywhere."""
    m = np.asarray(matrix, float)
    if m.ndim == 2:
        return _one_quaternion(*m.ravel().tolist())
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    squares = (1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz)
    a, b, c = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    d, e, f = m[..., 1, 0] + m[..., 0, 1], m[..., 0, 2] + m[..., 2, 0], m[..., 2, 1] + m[..., 1, 2]
    rows = ((squares[0], a, b, c), (a, squares[1], d, e), (b, d, squares[2], f), (c, e, f, squares[3]))
    best = np.argmax(np.stack(squares, axis=-1), axis=-1)
    stacked = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    quaternion = np.take_along_axis(stacked, best[..., None, None], axis=-2)[..., 0, :]
    quaternion = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    return np.where(quaternion[..., :1] < 0, -quaternion, quaternion)


def _one_quaternion(
    xx: float, xy: float, xz: float, yx: float, yy: float, yz: float, zx: float, zy: float, zz: float
) -> Array:
    """Of one matrix, in plain numbers: the same bits at a fraction of the time."""
    squares = (1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz)
    a, b, c, d, e, f = zy - yz, xz - zx, yx - xy, yx + xy, xz + zx, zy + yz
    rows = ((squares[0], a, b, c), (a, squares[1], d, e), (b, d, squares[2], f), (c, e, f, squares[3]))
    # The first that is no number, if there is one, as numpy's `argmax` takes it.
    best = next((i for i, each in enumerate(squares) if each != each), squares.index(max(squares)))
    w, x, y, z = rows[best]
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    if not norm > 0.0:
        return np.full(4, np.nan)
    w, x, y, z = w / norm, x / norm, y / norm, z / norm
    return np.array((-w, -x, -y, -z) if w < 0 else (w, x, y, z))


def rotation_vector(matrix: Array) -> Array:
    """The rotation vector (axis × angle, angle in [0, π]) of each matrix; exact at 0 and at π.

    Reading the axis off the antisymmetric part divides by sin θ, which vanishes at both ends; the quaternion does not.
    """
    quaternion = quaternion_from_matrix(matrix)
    w, v = quaternion[..., 0], quaternion[..., 1:]
    sine = np.linalg.norm(v, axis=-1)
    # As θ → 0, θ / sin(θ/2) → 2.
    factor = np.where(sine > 1e-12, 2 * np.arctan2(sine, w) / np.maximum(sine, 1e-300), 2.0)
    return v * factor[..., None]


def matrix_from_vector(vector: Array) -> Array:
    """The matrix of a rotation vector (inverse of `rotation_vector`)."""
    vector = np.asarray(vector, float)
    angle = np.linalg.norm(vector, axis=-1)
    # sin(θ/2)/θ → 1/2 as θ → 0.
    factor = np.where(angle > 1e-12, np.sin(angle / 2) / np.maximum(angle, 1e-300), 0.5)
    return matrix_from_quaternion(np.concatenate([np.cos(angle / 2)[..., None], vector * factor[..., None]], axis=-1))


def wrap(angle_rad: Array | float) -> Array:
    """Angles brought into [-π, π)."""
    turned = np.mod(np.asarray(angle_rad, float) + np.pi, 2 * np.pi)
    # A hair below -π, `mod` rounds up to its divisor.
    return turned * (turned < 2 * np.pi) - np.pi


def yaw_of(quaternion: Array) -> Array:
    """Heading of the body's x axis seen from above."""
    w, x, y, z = np.moveaxis(np.asarray(quaternion, float), -1, 0)
    return np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))
