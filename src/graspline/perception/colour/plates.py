"""A round plate of known size on the table, found by its outline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graspline.perception.core.colours import shows_scenery
from graspline.perception.core.outlines import Array, Lens, Outline
from graspline.rendering.picture import Pixels
from graspline.scenes.fruit_table import RIM_RADIUS_M, RIM_TOP_M

# The rim is a ring of 20 straight bars: on the mean over directions this much narrower than the circle they end on.
_BARS = 0.992
# The floor is rendered with 28 sides, and so is a little narrower than it is.
_SIDES = 0.996
_ROUNDS_M = (0.008, 0.003, 0.003)
# What an outline point is compared with lies this far outside it.
_OUTSIDE_PX = 3.0
# Every other point of the outline is enough.
_EVERY = 2
_AZIMUTHS = 48
_LEAST_SHARE = 0.15
# Measured on 200 pictures by OpenGL: off by 0.09 mm (1σ), at most 0.35 mm, a third of what this states; rendered by
# rays the rim is rounder and the plate off by 0.4 mm, which this covers.
_EDGE_SIGMA_M = 0.0012
_SIGMA_FLOOR_M = 0.0001


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlateFit:
    """A plate fitted to an outline: its centre, its error (1σ), and how much was seen."""

    centre_m: Array
    sigma_m: float
    share_seen: float


def fit_plate(lens: Lens, hues: Pixels, outline: Outline, radius_m: float) -> PlateFit | None:
    """The plate whose rim is seen before the table; None where too little of it is."""
    outline = outline.only(np.arange(len(outline)) % _EVERY == 0)
    clear = shows_scenery(hues, outline.points_px + _OUTSIDE_PX * outline.normals_px, plate_counts=False)
    outline = outline.only(clear)
    if len(outline) < 12:
        return None
    rays = lens.rays(outline.points_px)
    centre = _guess(lens, outline, rays, radius_m)
    covariance, own = np.eye(2), np.zeros(len(rays), bool)
    for round_m in _ROUNDS_M:
        misses, slopes = _misses_m(lens, rays, centre, radius_m)
        own = np.abs(misses) < round_m
        if own.sum() < 10:
            return None
        normal = slopes[own].T @ slopes[own] + 1e-6 * np.eye(2)
        centre = centre - np.linalg.solve(normal, slopes[own].T @ misses[own])
        covariance = _EDGE_SIGMA_M**2 * np.linalg.inv(normal)
    share = _share_seen(lens.on_level(rays[own], RIM_TOP_M - RIM_RADIUS_M)[:, :2] - centre)
    if share < _LEAST_SHARE:
        return None
    sigma = float(np.sqrt(np.trace(covariance) / 2 + _SIGMA_FLOOR_M**2))
    return PlateFit(centre_m=np.array([*centre, 0.0]), sigma_m=sigma, share_seen=share)


def _guess(lens: Lens, outline: Outline, rays: Array, radius_m: float) -> Array:
    """The middle that most points vote for, each a radius inward from where it is."""
    rim = lens.on_level(rays, RIM_TOP_M - RIM_RADIUS_M)[:, :2]
    beyond = lens.on_level(lens.rays(outline.points_px + outline.normals_px), RIM_TOP_M - RIM_RADIUS_M)[:, :2]
    # The outline's normal in the picture is not the circle's on the table; its tangent is.
    ahead = lens.rays(outline.points_px + outline.normals_px[:, ::-1] * np.array([1.0, -1.0]))
    along = lens.on_level(ahead, RIM_TOP_M - RIM_RADIUS_M)[:, :2] - rim
    outward = np.stack([along[:, 1], -along[:, 0]], axis=1)
    outward *= np.sign(np.einsum("ij,ij->i", outward, beyond - rim))[:, None]
    votes = rim - (radius_m - RIM_RADIUS_M / 2) * outward / np.hypot(*outward.T)[:, None]
    some = votes[:: max(1, len(votes) // 40)]
    apart = np.abs(np.hypot(*(rim[:, None] - some).T) - (radius_m - RIM_RADIUS_M / 2))
    return some[int(np.argmax((apart < 0.005).sum(axis=1)))]


def _misses_m(lens: Lens, rays: Array, centre: Array, radius_m: float) -> tuple[Array, Array]:
    """(M,) how far outside the plate each ray passes, and (M, 2) how that changes with the centre.

    The far side is seen by the rounded rim, the near side by the foot of the floor under it.
    """
    ring = _BARS * (radius_m - RIM_RADIUS_M)
    rim, rim_slopes = _outside_circle(lens, rays, centre, ring, RIM_TOP_M - RIM_RADIUS_M)
    foot, foot_slopes = _outside_circle(lens, rays, centre, _SIDES * (radius_m - RIM_RADIUS_M), 0.0)
    nearer = rim - RIM_RADIUS_M < foot
    return np.where(nearer, rim - RIM_RADIUS_M, foot), np.where(nearer[:, None], rim_slopes, foot_slopes)


def _outside_circle(lens: Lens, rays: Array, centre: Array, radius_m: float, height_m: float) -> tuple[Array, Array]:
    """(M,) distance of rays from a level circle, more than 0 outside, and (M, 2) its slope by the centre."""
    met = lens.on_level(rays, height_m)[:, :2] - centre
    away = np.hypot(*met.T)
    outward = met / away[:, None]
    # A ray passes nearer to the circle's tangent than the point in its plane is.
    along = outward[:, 0] * rays[:, 1] - outward[:, 1] * rays[:, 0]
    foreshortened = np.abs(rays[:, 2]) / np.sqrt(1 - along * along)
    return (away - radius_m) * foreshortened, -outward * foreshortened[:, None]


def _share_seen(offsets: Array) -> float:
    turn = np.arctan2(offsets[:, 1], offsets[:, 0])
    return len(np.unique(np.floor((turn / (2 * np.pi) % 1.0) * _AZIMUTHS).astype(int))) / _AZIMUTHS
