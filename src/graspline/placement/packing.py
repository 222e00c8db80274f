"""Whether several fruits fit on a plate together: all on one ring, or one in the middle and the others around it.

Each fruit of the ring lies as far out as it may, where it leaves the others most room; so packing is a question of
angles. A sweep around the plate puts each fruit at the first angle that is free, one after the other. Every function
here works on many rows at once: a row is one arrangement to be tried.

A plan keeps `off_spot_m` more than the distance needed between fruits still to come. Where one of them ends up
that far off its spot, the plan for the others still stands: that is why a plate is filled one by one, seeing again
where each fruit came to lie, and does not run out of spots half way.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graspline.placement.plate import HAIR_M, Array, Plate, SpotParameters, apart_m, farthest_m

Flags = NDArray[np.bool_]

# More than half a turn: blocks a ring all round.
_ALL_ROUND_RAD = 4.0
# Up to this many fruits, every order around the ring is tried.
_ALL_ORDERS = 5


def capacity(plate: Plate, radii_m: Sequence[float], parameters: SpotParameters) -> int:
    """How many of these fruits, in the order given, the plate surely holds.

    It holds them as one ring, or as one ring around a fruit in the middle, with `off_spot_m` to spare; a plate wide
    enough for two rings may hold more.
    """
    nothing = np.zeros((0, 2)), np.zeros(0)
    count = 0
    while count < len(radii_m) and len(plans(plate, radii_m[: count + 1], *nothing, parameters)):
        count += 1
    return count


def plans(
    plate: Plate, radii_m: Sequence[float], resting_m: Array, resting_radii_m: Array, parameters: SpotParameters
) -> Array:
    """Ways to lay all these fruits beside those resting at `resting_m` (n, 2), seen from the plate's middle.

    Places (ways, k, 2) in the order of the radii; none if they do not fit as a ring with or without a middle.
    """
    radii = np.array(radii_m, dtype=float)
    distance = np.array([farthest_m(plate, radius, parameters) - HAIR_M for radius in radii])
    own = apart_m(radii[:, None], radii[None, :], parameters) + parameters.off_spot_m
    others = apart_m(radii[:, None], resting_radii_m[None, :], parameters) + HAIR_M
    found = [np.zeros((0, len(radii), 2))]
    for middle in (None, *range(len(radii))):
        order = _orders([index for index in range(len(radii)) if index != middle], radii)
        place = np.zeros((len(order), len(radii), 2))
        fits = np.ones(len(order), dtype=bool)
        if order.shape[1]:
            blocked = np.broadcast_to(resting_m, (len(order), *resting_m.shape))
            apart = own[order, np.roll(order, -1, axis=1)]
            angle, fits = sweep(distance[order], apart, blocked, others[order])
            ring = distance[order][..., None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
            place[np.arange(len(order))[:, None], order] = ring
        found.append(place[fits & _keeps_apart(place, own, resting_m, others) & bool((distance >= 0).all())])
    return np.concatenate(found)


def _orders(indices: list[int], radii_m: Array) -> NDArray[np.intp]:
    """Orders of these fruits around a ring, (orders, k); for many fruits a few that mix sizes well."""
    if len(indices) <= _ALL_ORDERS and len({radii_m[index] for index in indices}) > 1:
        return np.array(list(itertools.permutations(indices)), dtype=np.intp)
    falling = sorted(indices, key=lambda index: (-radii_m[index], index))
    half = (len(falling) + 1) // 2
    mixed = [*falling]
    mixed[0::2], mixed[1::2] = falling[:half], falling[half:]
    return np.array([indices, falling, mixed], dtype=np.intp)


def _keeps_apart(place: Array, own: Array, resting_m: Array, others: Array) -> Flags:
    """Which rows of places (rows, k, 2) keep all distances, among themselves (k, k) and to the resting (k, n)."""
    each = np.linalg.norm(place[:, :, None] - place[:, None, :], axis=-1)
    off_diagonal = ~np.eye(len(own), dtype=bool)
    to_resting = np.linalg.norm(place[:, :, None] - resting_m, axis=-1)
    apart = np.all((each >= own - HAIR_M / 2) | ~off_diagonal, axis=(1, 2))
    return apart & np.all(to_resting >= others - HAIR_M / 2, axis=(1, 2))


def alike_fit(
    plate: Plate,
    radius_m: float,
    count: int,
    blocked_m: Array,
    from_blocked: Array,
    extra_m: Array,
    parameters: SpotParameters,
) -> Flags:
    """In which rows `count` fruits of one size fit, all with `extra_m` (rows,) to spare.

    They keep `from_blocked` (rows, n) from what lies at `blocked_m` (rows, n, 2), seen from the plate's middle.
    """
    rows, number = from_blocked.shape
    distance = farthest_m(plate, radius_m, parameters) - extra_m
    own = apart_m(radius_m, radius_m, parameters) + np.maximum(extra_m, parameters.off_spot_m)

    def ring(chosen: Flags, size: int) -> Flags:
        fits = chosen.copy()
        if size and chosen.any():
            shape = int(chosen.sum()), size
            each, apart = (np.broadcast_to(row[chosen, None], shape) for row in (distance, own))
            others = np.broadcast_to(from_blocked[chosen, None, :], (*shape, number))
            fits[chosen] = sweep(each, apart, blocked_m[chosen], others)[1]
        return fits

    fits = ring(np.ones(rows, dtype=bool), count)
    from_middle = np.hypot(blocked_m[..., 0], blocked_m[..., 1])
    around = ~fits & (distance >= 0) & (from_middle >= from_blocked).all(axis=1)
    if count > 1:
        around &= distance >= own
    return fits | ring(around, count - 1)


def sweep(distance_m: Array, apart: Array, blocked_m: Array, from_blocked: Array) -> tuple[Array, Flags]:
    """Angles (rows, k) around the middle at which fruits lie on a ring in the order given, and which rows fit.

    `distance_m` (rows, k) is each fruit's distance from the middle, `apart` (rows, k) what must be kept between it
    and the next, `from_blocked` (rows, k, n) what it must keep from the fruit at `blocked_m` (rows, n, 2), seen
    from the plate's middle.
    """
    rows, count = distance_m.shape
    radial = np.hypot(blocked_m[..., 0], blocked_m[..., 1])
    angle = np.arctan2(blocked_m[..., 1], blocked_m[..., 0])
    # Start where something blocks the ring for certain, if anything does.
    start = np.zeros((rows, 1))
    if radial.shape[1]:
        start = np.take_along_axis(angle, np.argmax(radial, axis=1)[:, None], axis=1)
    ahead = np.mod(angle - start, 2 * np.pi)
    half = _angle_between(distance_m[:, :, None], radial[:, None, :], from_blocked)
    turns = (-2 * np.pi, 0.0, 2 * np.pi)
    first = np.concatenate([ahead[:, None, :] - half + turn for turn in turns], axis=2)
    last = np.concatenate([ahead[:, None, :] + half + turn for turn in turns], axis=2)
    step = _angle_between(distance_m, np.roll(distance_m, -1, axis=1), apart)
    found = np.zeros((rows, count))
    now = np.zeros(rows)
    for index in range(count):
        now = _next_free(now, first[:, index], last[:, index])
        found[:, index] = now
        now = now + step[:, index]
    fits = np.all(distance_m >= 0, axis=1) & (found[:, -1] <= 2 * np.pi)
    if count > 1:
        fits &= now <= found[:, 0] + 2 * np.pi
    return found + start, fits


def _next_free(angle: Array, first: Array, last: Array) -> Array:
    """The angle itself or, where it lies within blocked intervals (rows, n), the end of them."""
    for _ in range(first.shape[1]):
        within = (first < angle[:, None]) & (angle[:, None] < last)
        if not within.any():
            break
        angle = np.maximum(angle, np.where(within, last, -np.inf).max(axis=1))
    return angle


def _angle_between(distance_m: Array, other_m: Array, apart: Array) -> Array:
    """The angle at the middle from which on two points, this far from it, are that far apart."""
    product = np.maximum(2 * distance_m * other_m, 1e-18)
    cosine = (distance_m * distance_m + other_m * other_m - apart * apart) / product
    return np.where(cosine <= -1, _ALL_ROUND_RAD, np.arccos(np.clip(cosine, -1, 1)))
