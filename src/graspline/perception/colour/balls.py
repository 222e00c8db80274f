"""A ball fitted to the rays of its outline, with the error that the fit leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graspline.perception.core.cones import AGREES_PX, cross
from graspline.perception.core.outlines import Array, Lens

# Points farther off than this are left out, round by round, while the fit settles.
_ROUNDS_PX = (1.5, AGREES_PX, AGREES_PX)
# No round looks farther from the first guess.
_NEAR_PX = 8.0
# Azimuths around the ball that are looked at to say how much of its outline was seen.
_AZIMUTHS = 48
# MuJoCo renders a ball with 28 by 16 facets; its outline is that much narrower, on the mean over its turns.
_RENDERED = 0.992
# Chosen on 450 pictures of 640 × 480 by OpenGL, then measured on 200 others with 674 oranges found: errors divided by
# the stated sigma are 0.68 rms, none beyond 4. Whole oranges are off by 0.08 mm (1σ) per axis, at most 0.5 mm, with
# 0.13 mm of that a constant in x; a radius by at most 0.1 mm. Larger than the scatter of edges, 0.13 px, for facets
# move neighbouring edges alike.
_EDGE_SIGMA_PX = 0.38
_SIGMA_FLOOR_M = 0.0001
# Edges scatter more than this about a ball that is not round; then how far its middle moves, in pixels per pixel. In 60
# pictures of oranges whose axes differ by 3 % the errors were 1.4 times the stated sigma, 1.5 % of them beyond 4.
_ROUND_PX, _OUT_OF_ROUND = 0.15, 4.0
# The outline of a ball of facets is larger or smaller by this share as the ball turns.
_SIZE_SHARE = 0.0015


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BallPrior:
    """What is known of a ball beforehand: a place with one standard deviation per axis, and its size or its support.

    With a surface the ball lies on it, and its radius is its height above it; without, the radius is known.
    """

    centre_m: Array
    sigma_m: Array
    radius_m: float = 0.0
    surface_m: float | None = None

    def radius_at(self, centre: Array) -> float:
        """The radius of a ball whose centre is here."""
        return self.radius_m if self.surface_m is None else float(centre[2]) - self.surface_m


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BallFit:
    """A ball fitted to an outline: where it is, how large, and how certain."""

    centre_m: Array
    radius_m: float
    # (3, 3), of the centre.
    covariance_m2: Array
    share_seen: float

    @property
    def sigma_m(self) -> float:
        """One standard deviation of a horizontal coordinate, the mean over directions."""
        return float(np.sqrt((self.covariance_m2[0, 0] + self.covariance_m2[1, 1]) / 2))


def fit_ball(lens: Lens, rays: Array, belief: BallPrior, start_m: Array) -> BallFit | None:
    """The ball most likely to have this outline, given rays (M, 3) of which some are its own; None if it runs away.

    Gauss and Newton on the angle between each ray and the cone that the ball is seen in.
    """
    centre: Array = np.array(start_m, float)
    rays = rays[np.abs(_misses_px(lens, rays, centre, belief)[0]) < _NEAR_PX]
    prior = np.diag((_EDGE_SIGMA_PX / belief.sigma_m) ** 2)
    normal = prior
    for round_px in _ROUNDS_PX:
        misses, slopes = _misses_px(lens, rays, centre, belief)
        own = np.abs(misses) < round_px
        if own.sum() < 5:
            return None
        normal = slopes[own].T @ slopes[own] + prior
        pull = slopes[own].T @ misses[own] + prior @ (centre - belief.centre_m)
        centre = centre - np.asarray(np.linalg.solve(normal, pull), np.float64)
        if not np.linalg.norm(centre - start_m) < 0.1 or not belief.radius_at(centre) > 0.005:
            return None
    misses, _ = _misses_px(lens, rays, centre, belief)
    own = np.abs(misses) < AGREES_PX
    sight = centre - lens.position_m
    excess_px2 = max(0.0, float(np.mean(misses[own] ** 2)) - _ROUND_PX**2) if own.any() else 0.0
    distance = np.linalg.norm(sight)
    slack = (_SIGMA_FLOOR_M**2 + excess_px2 * (_OUT_OF_ROUND * distance / lens.focal_px) ** 2) * np.eye(3)
    if belief.surface_m is None:
        # Distance follows from apparent size, so a share of one is the same share of the other.
        size_share2 = _SIZE_SHARE**2 + excess_px2 * (distance / (lens.focal_px * belief.radius_m)) ** 2
        slack += size_share2 * np.outer(sight, sight)
    return BallFit(
        centre_m=centre,
        radius_m=belief.radius_at(centre),
        covariance_m2=_EDGE_SIGMA_PX**2 * np.linalg.inv(normal) + slack,
        share_seen=_share_seen(rays[own], sight),
    )


def _misses_px(lens: Lens, rays: Array, centre: Array, belief: BallPrior) -> tuple[Array, Array]:
    """(M,) how far outside the ball each ray passes, in pixels, and (M, 3) how that changes with the centre."""
    sight = centre - lens.position_m
    distance = np.linalg.norm(sight)
    ahead, radius = sight / distance, belief.radius_at(centre)
    sine = _RENDERED * radius / distance
    cosine = np.sqrt(1 - sine * sine)
    along = rays @ ahead
    aside = np.sqrt(np.maximum(1 - along * along, 1e-12))
    misses = np.arctan2(aside, along) - np.arcsin(sine)
    slopes = (along[:, None] * ahead - rays) / (aside * distance)[:, None] + ahead * (sine / (cosine * distance))
    if belief.surface_m is not None:
        slopes[:, 2] -= _RENDERED / (distance * cosine)
    return misses * lens.focal_px, slopes * lens.focal_px


def _share_seen(rays: Array, sight: Array) -> float:
    first = np.array([sight[1], -sight[0], 0.0]) / np.hypot(sight[0], sight[1])
    second = cross(sight / np.linalg.norm(sight), first)
    turn = np.arctan2(rays @ second, rays @ first)
    bins = np.floor((turn / (2 * np.pi) % 1.0) * _AZIMUTHS).astype(int) % _AZIMUTHS
    return len(np.unique(bins)) / _AZIMUTHS
