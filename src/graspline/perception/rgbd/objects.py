"""Shapes fitted to what is seen of things that stand on a surface: to depths of the faces seen and to their outline.

Depths anchor the faces that are seen, the outline says where they end. What neither says, the far side of something
hidden, stays at what was believed beforehand, and the error says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from graspline.perception.core.beliefs import Shape
from graspline.perception.core.outlines import Array
from graspline.perception.rgbd.shape_init import ball_starts, box_starts, cylinder_starts
from graspline.perception.rgbd.sightings import Sighting
from graspline.perception.rgbd.upright_shapes import POSE, SIZE, YAW, inverse_depths, reaches_px, with_numbers

# Misses count up to this many sigmas.
_MOST_SIGMAS = 4.0
# What is believed before a fit, 1σ: place, heading, widths and height; and the steps that slopes are taken by.
_DOUBT = np.array([0.2, 0.2, 1.0, 0.03, 0.03, 0.004])
_STEPS = np.array([1e-4, 1e-4, 2e-3, 1e-4, 1e-4, 1e-4])
_LOW = np.array([-np.inf, -np.inf, -np.inf, 0.008, 0.008, 0.012])
_HIGH = np.array([np.inf, np.inf, np.inf, 0.25, 0.25, 0.6])
# What misses by this many sigmas counts half, in one round after the other.
_FIRST_SCALES, _THEN_SCALES, _POSE_SCALES = (20.0, 10.0, 5.0), (3.0, 2.0, 2.0, 2.0), (10.0, 5.0, 3.0, 2.0, 2.0)
# Shapes that fit worse than this many times the best, and so much, are given up: before any round and after the first.
_PROMISING, _AT_FIRST, _THEN = 2.0, 3.0, 1.0
# Fits whose misfits differ by less than this are as good as each other.
_AS_GOOD = 0.15
# How far hidden sides are tried farther out.
_UNSEEN_M = (0.01, 0.02, 0.04)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """An upright (6,) of a shape; which numbers were fitted, and their covariance (P, P)."""

    shape: Shape
    upright: Array
    chosen: tuple[int, ...]
    covariance: Array
    # Mean square miss in sigmas, large ones cut off: 1 is as good as noise allows.
    misfit: float


def fit_shapes(sighting: Sighting) -> list[Fit]:
    """Boxes, a cylinder and a ball that look like what is seen, the best first; those much worse are not worked out."""
    starts: dict[Shape, Array] = {
        "box": box_starts(sighting),
        "cylinder": cylinder_starts(sighting),
        "ball": ball_starts(sighting),
    }
    fits = [
        Fit(
            shape=shape,
            upright=start,
            chosen=(*POSE[shape], *SIZE[shape]),
            covariance=np.diag(_DOUBT[[*POSE[shape], *SIZE[shape]]] ** 2),
            misfit=float(misfit),
        )
        for shape, each in starts.items()
        for start, misfit in zip(each, misfits_of(sighting, shape, each), strict=True)
    ]
    for scales, slack in ((_FIRST_SCALES, _AT_FIRST), (_THEN_SCALES, _THEN)):
        most = _PROMISING * min(fit.misfit for fit in fits) + slack
        fits = [
            _fitted(sighting, fit.shape, fit.upright, fit.chosen, scales) if fit.misfit < most else fit for fit in fits
        ]
    return sorted(fits, key=lambda fit: fit.misfit)


def fit_pose(sighting: Sighting, shape: Shape, starts: Array) -> Fit:
    """The best place for a shape of known size, from starts (S, 6)."""
    fits = [_fitted(sighting, shape, start, POSE[shape], _POSE_SCALES) for start in starts]
    best = min(fits, key=lambda fit: fit.misfit)
    covariance = best.covariance.copy()
    for fit in fits:
        if fit.misfit < best.misfit + _AS_GOOD:
            # It may as well be there.
            off = fit.upright[list(best.chosen)] - best.upright[list(best.chosen)]
            off[2:] = (off[2:] + np.pi / 2) % np.pi - np.pi / 2
            covariance += np.outer(off, off) / 2
    return replace(best, covariance=covariance)


def _fitted(sighting: Sighting, shape: Shape, start: Array, chosen: tuple[int, ...], scales: tuple[float, ...]) -> Fit:
    """Gauss and Newton from one start; the farther off something is seen, the less it counts."""
    picked = list(chosen)
    prior, steps, believed = np.diag(_DOUBT[picked] ** -2.0), _STEPS[picked], start[picked]
    probes = np.concatenate([np.zeros((1, len(picked))), np.diag(steps)])
    values, normal, longest = believed, prior, _DOUBT[picked] / 2
    for scale in scales:
        found = _misses(sighting, shape, with_numbers(shape, start, chosen, values + probes))
        slopes = ((found[1:] - found[0]) / steps[:, None]).T
        weighted = slopes / (1 + (found[0] / scale) ** 2)[:, None]
        normal = weighted.T @ slopes + prior
        change = np.linalg.solve(normal, weighted.T @ found[0] + prior @ (values - believed))
        values = np.clip(values - np.clip(change, -longest, longest), _LOW[picked], _HIGH[picked])
        # What hides a thing pushes its edges out of the way, but does not say where they are.
        hidden = np.flatnonzero(~sighting.edges.own)
        normal -= weighted[hidden].T @ slopes[hidden]
    upright = with_numbers(shape, start, chosen, values[None])[0]
    (misfit,) = misfits_of(sighting, shape, upright[None])
    covariance = np.asarray(np.linalg.inv(normal), float)
    return Fit(shape=shape, upright=upright, chosen=chosen, covariance=covariance, misfit=float(misfit))


def _misses(sighting: Sighting, shape: Shape, uprights: Array) -> Array:
    """(B, M + K): how far uprights (B, 6) reach beyond edges and how far before depths, in sigmas.

    Where something hides a thing it may reach as far as it likes, but not less far. Rays that pass by any of the
    uprights say nothing of how far away that is.
    """
    edges = sighting.edges
    outlines = reaches_px(sighting.lens, shape, uprights, edges.points_px)
    outlines[:, ~edges.own & (outlines[0] > 0)] = 0.0
    found, hit = inverse_depths(shape, uprights, sighting.lens.position_m, sighting.rays)
    depths = np.where(hit.all(axis=0), (found - sighting.inverse) / sighting.sigma, 0.0)
    return np.concatenate([outlines / edges.sigma_px, depths], axis=1)


def misfits_of(sighting: Sighting, shape: Shape, uprights: Array) -> Array:
    """(B,): mean square misses in sigmas; depths of a ray that passes by miss as much as counts."""
    edges = sighting.edges
    off = reaches_px(sighting.lens, shape, uprights, edges.points_px) / edges.sigma_px
    off = np.where(edges.own, off, np.minimum(off, 0.0))
    found, hit = inverse_depths(shape, uprights, sighting.lens.position_m, sighting.rays)
    deep = np.where(hit, (found - sighting.inverse) / sighting.sigma, _MOST_SIGMAS)
    return np.minimum(np.concatenate([off, deep], axis=1) ** 2, _MOST_SIGMAS**2).mean(axis=1)


def of_unknown_size(sighting: Sighting, fits: Sequence[Fit]) -> Fit:
    """The first of these fits, its error grown by what is hidden and by where other shapes as good would be."""
    best = with_unseen(sighting, fits[0])
    covariance = best.covariance.copy()
    for rival in fits[1:]:
        if rival.misfit < best.misfit + _AS_GOOD:
            off = rival.upright[:2] - best.upright[:2]
            covariance[:2, :2] += np.outer(off, off) + with_unseen(sighting, rival).covariance[:2, :2]
    return replace(best, covariance=covariance)


def with_unseen(sighting: Sighting, fit: Fit) -> Fit:
    """A box of unknown size, which ends where it is seen to; its error grown by how far hidden sides may be beyond."""
    if fit.shape != "box":
        return fit
    cosine, sine = np.cos(fit.upright[YAW]), np.sin(fit.upright[YAW])
    sides = np.array([[cosine, sine, 0, 1, 0, 0], [-sine, cosine, 0, 0, 1, 0]])
    ways = np.concatenate([sides, sides * np.array([-1, -1, 1, 1, 1, 1])]) / 2
    grown = fit.upright + np.array(_UNSEEN_M)[:, None, None] * ways
    misfits = misfits_of(sighting, "box", grown.reshape(-1, 6)).reshape(len(_UNSEEN_M), -1)
    reach = ((misfits < fit.misfit + _AS_GOOD) * np.array(_UNSEEN_M)[:, None]).max(axis=0)
    # Anything up to its reach is as likely for a side.
    spread = (reach / np.sqrt(3))[:, None] * ways
    picked = list(fit.chosen)
    covariance = fit.covariance + np.einsum("si,sj->ij", spread[:, picked], spread[:, picked])
    return replace(fit, covariance=covariance)
