"""Oranges separated in an image: whole ones, ones behind the arm, and ones behind one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from graspline.perception.colour.balls import BallFit, BallPrior, fit_ball
from graspline.perception.core.colours import ORANGE, pixels_within, shows_scenery
from graspline.perception.core.cones import AGREES_PX, Cones, cross, guess_cones, on_whole_balls
from graspline.perception.core.outlines import Array, Lens, Outline, find_outline, on_table
from graspline.rendering.picture import Pixels

# What an edge is seen before lies this far outside it.
_OUTSIDE_PX = 3.0
# Radii that an orange may have, a little beyond the 25 to 35 mm that there are.
_RADII_M = (0.0225, 0.0375)
# What is believed of a radius before looking.
_RADIUS_M, _RADIUS_SIGMA_M = 0.030, 0.0035
# Less of an outline than this and there is nothing to say.
_LEAST_SHARE = 0.1
# An orange found explains orange pixels that no other did: this share of its disc at least.
_LEAST_NEW = 0.07
# Scenery may shine through this share of a disc, for pixels are mixed at edges.
_MOST_SCENERY = 0.08
# Rings inside a disc, as shares of its radius, and points on each, at which scenery is looked for.
_RINGS, _RING_POINTS = (0.4, 0.65, 0.87), 16
# A held orange is seen about this near to where it is believed; cones that differ from its own by less are its too.
_HELD_SIGMA_M, _HELD_SAME_PX = 0.012, 5.0
# Cones that differ less are the same.
_SAME_PX = 1.0
# Guesses refused before the rest of a picture is given up.
_MOST_REFUSED = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrangePixels:
    """What there is of oranges in a picture, or in a piece of one that begins at `corner_px`."""

    lens: Lens
    hues: Pixels
    mask: Pixels
    outline: Outline
    rays: Array
    corner_px: Array

    @classmethod
    def of(cls, lens: Lens, hues: Pixels, field: NDArray[np.float32], corner_px: Array) -> OrangePixels:
        """The pixels of an image that may belong to an orange."""
        mask = pixels_within(hues, ORANGE)
        outline = find_outline(mask, field, darkens=True)
        # Beside the robot, a block or another orange the edge may be theirs, seen before this one; not if it is round.
        own = shows_scenery(hues, outline.points_px + _OUTSIDE_PX * outline.normals_px, plate_counts=True)
        outline = outline.moved(corner_px)
        rays = lens.rays(outline.points_px)
        own |= on_whole_balls(outline, rays, lens)
        return cls(lens=lens, hues=hues, mask=mask, outline=outline.only(own), rays=rays[own], corner_px=corner_px)

    def on_piece(self, rays: Array) -> Array:
        """Where rays (..., 3) are in the piece, in its pixels."""
        return self.lens.pixels(self.lens.position_m + rays) - self.corner_px


def opaque(pixels: OrangePixels, cones: Cones) -> NDArray[np.bool_]:
    """(H,): whether no scenery shines through a disc where a ball would hide it."""
    return scenery_shares(pixels, cones) <= _MOST_SCENERY


def scenery_shares(pixels: OrangePixels, cones: Cones) -> Array:
    """(H,): through how much of each disc scenery shines."""
    inside = cones.around(_RINGS, _RING_POINTS)
    scenery = shows_scenery(pixels.hues, pixels.on_piece(inside.reshape(-1, 3)), plate_counts=True)
    return scenery.reshape(len(cones), inside.shape[1]).mean(axis=1)


class Explained:
    """Which outline points and which pixels the oranges found so far account for."""

    def __init__(self, pixels: OrangePixels) -> None:
        self._pixels = pixels
        self._mask = np.zeros_like(pixels.mask)
        self.free: NDArray[np.bool_] = np.ones(len(pixels.rays), bool)

    def new_share(self, cone: Cones) -> float:
        """How much of a disc is orange that nothing accounts for yet."""
        corners = self._corners(cone, 1.0)
        low = np.maximum(corners.min(axis=0), 0)
        high = np.maximum(corners.max(axis=0) + 1, low)
        disc = np.zeros((high - low)[::-1], np.uint8)
        cv2.fillPoly(disc, [corners - low], 255)
        part = np.s_[low[1] : high[1], low[0] : high[0]]
        mask = self._pixels.mask[part]
        inside = disc[: mask.shape[0], : mask.shape[1]] > 0
        return float((inside & (mask > 0) & (self._mask[part] == 0)).sum() / max(1, (disc > 0).sum()))

    def add(self, cone: Cones) -> None:
        """Mark what a cone covers as explained."""
        cv2.fillPoly(self._mask, [self._corners(cone, 1.06)], 255)
        # Points inside the disc are where something hides it.
        self.free = self.free & (cone.misses_px(self._pixels.rays, self._pixels.lens.focal_px)[0] > 1.5)

    def _corners(self, cone: Cones, share: float) -> NDArray[np.int32]:
        return np.rint(self._pixels.on_piece(cone.around((share,), 48)[0])).astype(np.int32)


def find_lying(pixels: OrangePixels, plate: tuple[Array, float, float] | None, held_m: Array | None) -> list[BallFit]:
    """Oranges on the table or on a plate (its place, its radius, the height of its floor), a held one left out."""
    cones, explained = guess_cones(pixels.outline, pixels.rays, pixels.lens), Explained(pixels)
    if held_m is not None:
        cones = _leave_out_held(pixels, cones, explained, held_m)
    cones = cones.only(_could_lie(pixels.lens, cones))
    cones = cones.only(opaque(pixels, cones))
    reach = _reach_m(pixels.lens, cones)
    found = []
    for index in _by_support(pixels, cones, explained):
        fit = _fit_lying(pixels, explained, pixels.lens.position_m + reach[index] * cones.axes[index], plate)
        if fit is None:
            continue
        own = cone_of(pixels.lens, fit)
        if fit.share_seen < _LEAST_SHARE or explained.new_share(own) < _LEAST_NEW or not opaque(pixels, own)[0]:
            continue
        explained.add(own)
        found.append(fit)
    return found


def _reach_m(lens: Lens, cones: Cones) -> Array:
    """(H,): how far along each axis the middle of a ball is that rests on the table: one of radius t sin α, t away."""
    return lens.position_m[2] / np.maximum(np.sin(cones.half_angles_rad) - cones.axes[:, 2], 1e-6)


def _could_lie(lens: Lens, cones: Cones) -> NDArray[np.bool_]:
    reach = _reach_m(lens, cones)
    radius = reach * np.sin(cones.half_angles_rad)
    on = on_table(lens.position_m + reach[:, None] * cones.axes)
    return on & (cones.axes[:, 2] < 0) & (radius > _RADII_M[0] - 0.002) & (radius < _RADII_M[1] + 0.002)


def _by_support(pixels: OrangePixels, cones: Cones, explained: Explained) -> Iterator[int]:
    """Indices of cones, always the one that most free points agree with; gives up after too many in vain."""
    agree = (np.abs(cones.misses_px(pixels.rays, pixels.lens.focal_px)) < AGREES_PX).astype(np.float32)
    least = _LEAST_SHARE * 2 * np.pi * cones.half_angles_rad * pixels.lens.focal_px
    untried, refused = np.ones(len(cones), bool), 0
    while refused < _MOST_REFUSED:
        free = explained.free
        support = (agree @ free.astype(np.float32)) * untried
        support[support < least] = 0
        if not len(support) or not support.max():
            return
        best = int(np.argmax(support))
        # What is nearly the same cone would be fitted to the same ball.
        apart = np.linalg.norm(cones.axes - cones.axes[best], axis=1)
        wider = np.abs(cones.half_angles_rad - cones.half_angles_rad[best])
        untried &= np.maximum(apart, wider) * pixels.lens.focal_px > _SAME_PX
        yield best
        refused += free is explained.free


def _fit_lying(
    pixels: OrangePixels, explained: Explained, start_m: Array, plate: tuple[Array, float, float] | None
) -> BallFit | None:
    fit = _fit_on(pixels, explained, start_m, 0.0)
    if fit is None or plate is None:
        return fit
    place, radius, floor = plate
    if np.hypot(*(fit.centre_m - place)[:2]) > radius + 0.02:
        return fit
    # No orange rests with its middle above the rim: between those inside and those outside it there are 40 mm.
    eye = pixels.lens.position_m
    raised = _fit_on(pixels, explained, eye + (fit.centre_m - eye) * (1 - floor / eye[2]), floor)
    return raised if raised is not None and np.hypot(*(raised.centre_m - place)[:2]) < radius else fit


def _fit_on(pixels: OrangePixels, explained: Explained, start_m: Array, surface_m: float) -> BallFit | None:
    belief = BallPrior(
        centre_m=np.array([start_m[0], start_m[1], surface_m + _RADIUS_M]),
        sigma_m=np.array([10.0, 10.0, _RADIUS_SIGMA_M]),
        surface_m=surface_m,
    )
    free = explained.free
    fit = fit_ball(pixels.lens, pixels.rays[free], belief, start_m)
    return fit if fit is not None and _RADII_M[0] < fit.radius_m < _RADII_M[1] else None


def _leave_out_held(pixels: OrangePixels, cones: Cones, explained: Explained, held_m: Array) -> Cones:
    """Account for the held orange; cones that are nearly its own are left out."""
    distance = np.linalg.norm(held_m - pixels.lens.position_m)
    radius = distance * np.sin(cones.half_angles_rad)
    its = opaque(pixels, cones) & (radius > _RADII_M[0]) & (radius < _RADII_M[1])
    merit = merits(pixels, cones, held_m, _HELD_SIGMA_M) * its
    if not len(merit) or not merit.max():
        return cones
    best = int(np.argmax(merit))
    explained.add(cones.only(np.arange(len(cones)) == best))
    apart = np.linalg.norm(cones.axes - cones.axes[best], axis=1) * pixels.lens.focal_px
    return cones.only(apart > _HELD_SAME_PX)


def merits(pixels: OrangePixels, cones: Cones, expected_m: Array, sigma_m: float) -> Array:
    """(H,): how many outline points agree with each cone, discounted by how far from the expected place it passes."""
    agree = np.abs(cones.misses_px(pixels.rays, pixels.lens.focal_px)) < AGREES_PX
    aside = np.linalg.norm(cross(cones.axes, expected_m - pixels.lens.position_m), axis=1)
    return agree.sum(axis=1) * np.exp(-((aside / sigma_m) ** 2) / 2)


def cone_of(lens: Lens, fit: BallFit) -> Cones:
    """The cone of sight that a fitted ball fills."""
    sight = fit.centre_m - lens.position_m
    distance = np.linalg.norm(sight)
    return Cones(axes=(sight / distance)[None], half_angles_rad=np.array([np.arcsin(fit.radius_m / distance)]))
