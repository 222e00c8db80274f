"""Cones of sight: a ball is seen in a cone around the ray to its middle; three rays of its outline give the cone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.perception.core.outlines import Array, Lens, Outline

# Three points of a guess lie this many contour steps apart: a quarter of the outline of an orange to half of it.
_APART_STEPS = (7, 12, 18, 26, 36)
# A guess starts at every so manieth contour point.
_STRIDE = 5
# A contour of which this share agrees with one cone is one ball, and needs no other guess.
_WHOLE_SHARE = 0.9
# A contour of which this share agrees with one cone is hidden by nothing.
_ALL_SHARE = 0.97
# An outline point this near a cone, in pixels, agrees with it.
AGREES_PX = 0.7


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cones:
    """Cones with their tip in the camera: unit axes in W (H, 3) and half angles (H,)."""

    axes: Array
    half_angles_rad: Array

    def __len__(self) -> int:
        return len(self.axes)

    def only(self, chosen: NDArray[np.bool_]) -> Cones:
        """The chosen cones."""
        return Cones(axes=self.axes[chosen], half_angles_rad=self.half_angles_rad[chosen])

    def misses_px(self, rays: Array, focal_px: float) -> Array:
        """(H, M): how far outside each cone each ray (M, 3) is, near its surface."""
        # The arc cosine to first order: what is far from the surface only has to stay far.
        sine, cosine = np.sin(self.half_angles_rad)[:, None], np.cos(self.half_angles_rad)[:, None]
        return (cosine - self.axes @ rays.T) * (focal_px / sine)

    def around(self, shares: tuple[float, ...], count: int) -> Array:
        """(H, shares × count, 3): rays on narrower or wider cones, whose half angles are these shares of these ones."""
        first = np.stack([self.axes[:, 1], -self.axes[:, 0], np.zeros(len(self))], axis=1)
        first /= np.hypot(first[:, 0], first[:, 1])[:, None]
        second = cross(self.axes, first)
        turn = np.arange(count) * (2 * np.pi / count)
        ring = np.cos(turn)[:, None] * first[:, None] + np.sin(turn)[:, None] * second[:, None]
        half = (np.array(shares) * self.half_angles_rad[:, None])[..., None, None]
        return (np.cos(half) * self.axes[:, None, None] + np.sin(half) * ring[:, None]).reshape(
            len(self), len(shares) * count, 3
        )


def cross(a: Array, b: Array) -> Array:
    """The cross product over the last axis; numpy's takes five times as long for a few hundred vectors."""
    ax, ay, az, bx, by, bz = a[..., 0], a[..., 1], a[..., 2], b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def guess_cones(outline: Outline, rays: Array, lens: Lens) -> Cones:
    """Cones that pieces of the outline may belong to: one for a contour that is a whole ball, else many."""
    whole, triples = [], []
    for contour in np.unique(outline.contour):
        at = np.flatnonzero(outline.contour == contour)
        if len(at) < 3:
            continue
        cone = _nearest_cone(rays[at])
        agree = np.abs(cone.misses_px(rays[at], lens.focal_px)) < AGREES_PX
        whole.append(cone)
        if agree.mean() < _WHOLE_SHARE:
            triples.append(at[_triples(len(at))])
    if not whole:
        return Cones(axes=np.zeros((0, 3)), half_angles_rad=np.zeros(0))
    found = [*whole, _cones_through(rays[np.concatenate(triples)])] if triples else whole
    return Cones(
        axes=np.concatenate([each.axes for each in found]),
        half_angles_rad=np.concatenate([each.half_angles_rad for each in found]),
    )


def on_whole_balls(outline: Outline, rays: Array, lens: Lens) -> NDArray[np.bool_]:
    """(M,): whether a point is on a contour that as a whole is a ball's, with nothing before it."""
    whole = np.zeros(len(outline), bool)
    for contour in np.unique(outline.contour):
        at = np.flatnonzero(outline.contour == contour)
        misses = _nearest_cone(rays[at]).misses_px(rays[at], lens.focal_px)
        whole[at] = (np.abs(misses) < AGREES_PX).mean() >= _ALL_SHARE
    return whole


def _triples(length: int) -> NDArray[np.intp]:
    """Indices (T, 3) into a closed contour of this many points."""
    start = np.arange(0, length, _STRIDE)
    apart = np.array([step for step in _APART_STEPS if 3 * step <= length] + [max(1, length // 3)])
    return (start[:, None, None] + apart[:, None] * np.arange(3)).reshape(-1, 3) % length


def _cones_through(corners: Array) -> Cones:
    """Cones through three rays each (T, 3, 3): their tips lie in a plane, and its normal is the axis."""
    normal = cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1)
    apart = length > 1e-12
    axes, corners = normal[apart] / length[apart, None], corners[apart]
    cosine = np.einsum("ij,ij->i", axes, corners[:, 0])
    axes *= np.sign(cosine)[:, None]
    return Cones(axes=axes, half_angles_rad=np.arccos(np.clip(np.abs(cosine), 0, 1)))


def _nearest_cone(rays: Array) -> Cones:
    """The cone nearest to rays (M, 3): the plane through their tips by least squares."""
    middle = rays.mean(axis=0)
    axis = np.linalg.svd(rays - middle, full_matrices=False)[2][-1]
    cosine = float(axis @ middle)
    axis = axis if cosine > 0 else -axis
    return Cones(axes=axis[None], half_angles_rad=np.array([np.arccos(min(1.0, abs(cosine)))]))
