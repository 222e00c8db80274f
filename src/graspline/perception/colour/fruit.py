"""Oranges, the plate and blocks as the front camera sees them, each with the error it may have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.perception.colour.balls import BallFit, BallPrior, fit_ball
from graspline.perception.colour.blocks import BlockFit, find_blocks
from graspline.perception.colour.oranges import OrangePixels, find_lying, merits, opaque, scenery_shares
from graspline.perception.colour.plates import PlateFit, fit_plate
from graspline.perception.core.colours import BLUE, GREEN, PURPLE, hue_picture, pixels_within
from graspline.perception.core.cones import Cones, guess_cones
from graspline.perception.core.outlines import Array, Lens, find_outline, warmth
from graspline.rendering.picture import Picture, Pixels
from graspline.scenes.fruit_table import FLOOR_M

# An orange less certain than this is not reported.
_MOST_SIGMA_M = 0.01
# Less of an outline than this does not say where a watched orange is.
_LEAST_WATCHED_SHARE = 0.15
# A place guessed from three points may be this far off along the ray.
_GUESS_SLACK_M = 0.03
# Pixels around a watched orange that are needed to find its edges.
_MARGIN_PX = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ball:
    """An orange as seen."""

    # (3,), its middle, in W.
    position_m: Array
    radius_m: float
    # One standard deviation of a horizontal coordinate.
    position_sigma_m: float
    # How much of its outline was seen and is surely its own, 0 to 1; beside the robot it is not sure.
    share_seen: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Disc:
    """The plate as seen, lying on the table."""

    # (3,), the middle of its underside, in W.
    position_m: Array
    position_sigma_m: float
    share_seen: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenBlock:
    """A box as seen, standing on the table."""

    # (3,), its middle, in W.
    position_m: Array
    half_extents_m: Array
    # Heading of its first side, within an eighth of a turn of the world's x.
    yaw_rad: float
    position_sigma_m: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seen:
    """All that a picture shows; things mostly hidden are missing from it."""

    oranges: tuple[Ball, ...]
    plate: Disc | None
    blocks: tuple[SeenBlock, ...]


def see_table(picture: Picture, plate_radius_m: float | None, held_m: Array | None = None) -> Seen:
    """What lies on the table. Without a plate radius no plate is looked for.

    An orange that the hand holds must be said to be at `held_m` (3,) in W, to a centimetre or two: it is left
    out, where otherwise it would be taken for a larger one lying farther away.
    """
    lens, hues, field = Lens.of(picture), hue_picture(picture.rgb), warmth(picture.rgb)
    plate = None if plate_radius_m is None else _fit_plate(lens, hues, field, plate_radius_m)
    pixels = OrangePixels.of(lens, hues, field, np.zeros(2))
    support = None if plate is None or plate_radius_m is None else (plate.centre_m, plate_radius_m, FLOOR_M)
    balls = [_as_ball(fit) for fit in find_lying(pixels, support, held_m)]
    blocks = [fit for colour in (GREEN, PURPLE) for fit in find_blocks(lens, hues, pixels_within(hues, colour))]
    return Seen(
        oranges=tuple(ball for ball in balls if ball.position_sigma_m <= _MOST_SIGMA_M),
        plate=None if plate is None else _as_disc(plate),
        blocks=tuple(_as_block(fit) for fit in blocks),
    )


def see_plate(picture: Picture, radius_m: float) -> Disc | None:
    """The plate alone."""
    plate = _fit_plate(Lens.of(picture), hue_picture(picture.rgb), warmth(picture.rgb), radius_m)
    return None if plate is None else _as_disc(plate)


def _fit_plate(lens: Lens, hues: Pixels, field: NDArray[np.float32], radius_m: float) -> PlateFit | None:
    return fit_plate(lens, hues, find_outline(pixels_within(hues, BLUE), -field, darkens=False), radius_m)


def shows_through(picture: Picture, centre_m: Array, radius_m: float) -> float:
    """The share of a ball's disc in which table or backdrop is seen: about 1 if the ball is not there.

    What hides the ball, such as the hand, is not counted; nor is anything outside the picture.
    """
    pixels = _around(picture, centre_m, radius_m)
    if pixels is None:
        return 0.0
    sight = np.asarray(centre_m, float) - pixels.lens.position_m
    distance = float(np.linalg.norm(sight))
    cone = Cones(axes=(sight / distance)[None], half_angles_rad=np.array([np.arcsin(radius_m / distance)]))
    return float(scenery_shares(pixels, cone)[0])


def see_ball_near(picture: Picture, expected_m: Array, radius_m: float, within_m: float) -> Ball | None:
    """The orange of this radius within this distance of where it is expected, (3,) in W, in the air or not.

    Its distance follows from its apparent size. None where no such orange is seen.
    """
    pixels = _around(picture, expected_m, radius_m + within_m)
    if pixels is None or not len(pixels.rays):
        return None
    cones = guess_cones(pixels.outline, pixels.rays, pixels.lens)
    places = pixels.lens.position_m + cones.axes * (radius_m / np.sin(cones.half_angles_rad))[:, None]
    off = np.linalg.norm(places - expected_m, axis=1)
    near = off < within_m + _GUESS_SLACK_M
    cones, places, off = cones.only(near), places[near], off[near]
    # Guesses are surer across the line of sight than along it.
    merit = merits(pixels, cones, expected_m, within_m / 3) * np.exp(-((off / within_m) ** 2))
    merit = merit * opaque(pixels, cones)
    if not len(merit) or merit.max() <= 0:
        return None
    belief = BallPrior(centre_m=np.asarray(expected_m, float), sigma_m=np.full(3, within_m), radius_m=radius_m)
    fit = fit_ball(pixels.lens, pixels.rays, belief, places[int(np.argmax(merit))])
    if fit is None or fit.share_seen < _LEAST_WATCHED_SHARE:
        return None
    return _as_ball(fit) if np.linalg.norm(fit.centre_m - expected_m) <= within_m else None


def _around(picture: Picture, middle_m: Array, radius_m: float) -> OrangePixels | None:
    """The piece of a picture in which a ball around a point is seen; None where it is not in the picture."""
    lens = Lens.of(picture)
    ahead = float(-lens.rotation[:, 2] @ (middle_m - lens.position_m))
    if ahead <= 2 * radius_m:
        return None
    column, row = lens.pixels(np.asarray(middle_m, float))
    # A little more than radius over distance, for what is aside of the axis looks larger.
    reach = 1.1 * lens.focal_px * radius_m / (ahead - radius_m) + _MARGIN_PX
    left, right = (int(np.clip(column + side, 0, lens.width)) for side in (-reach, reach))
    top, bottom = (int(np.clip(row + side, 0, lens.height)) for side in (-reach, reach))
    if right - left < _MARGIN_PX or bottom - top < _MARGIN_PX:
        return None
    rgb = np.ascontiguousarray(picture.rgb[top:bottom, left:right])
    return OrangePixels.of(lens, hue_picture(rgb), warmth(rgb), np.array([left, top], float))


def _as_ball(fit: BallFit) -> Ball:
    return Ball(position_m=fit.centre_m, radius_m=fit.radius_m, position_sigma_m=fit.sigma_m, share_seen=fit.share_seen)


def _as_disc(fit: PlateFit) -> Disc:
    return Disc(position_m=fit.centre_m, position_sigma_m=fit.sigma_m, share_seen=fit.share_seen)


def _as_block(fit: BlockFit) -> SeenBlock:
    return SeenBlock(
        position_m=fit.centre_m,
        half_extents_m=fit.half_extents_m,
        yaw_rad=fit.yaw_rad,
        position_sigma_m=fit.sigma_m,
    )
