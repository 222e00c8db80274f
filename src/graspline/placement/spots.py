"""Spots for the next fruit on a plate, in the order they should be tried."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graspline.placement.packing import Flags, alike_fit, plans
from graspline.placement.plate import HAIR_M, Array, Plate, Resting, Spot, SpotParameters, apart_m, farthest_m

# The grid of a packing, from the middle to the farthest ring; rings lie closer together the farther out.
_RINGS = 8
_ANGLES = 24
# Of equally good spots the one farthest in this direction comes first.
_AIM_RAD = np.pi
_DENSE_RAD = _AIM_RAD + np.arange(_ANGLES) * (2 * np.pi / _ANGLES)
_DENSE_RING = np.stack([np.cos(_DENSE_RAD), np.sin(_DENSE_RAD)], axis=-1)
# Spots whose room differs by less than this are equally good.
_SAME_ROOM_M = 0.002
# Free areas are narrow where a plate is nearly full, and the grid may miss their middle: corners with so much to spare.
_SPARE_M = np.array([0.0, 0.002, 0.004, 0.007, 0.010, 0.014])


def spots(
    plate: Plate,
    radius_m: float,
    resting: Sequence[Resting],
    still_to_come_m: Sequence[float],
    parameters: SpotParameters,
) -> list[Spot]:
    """Places for a fruit of this radius, best first, at most `tries`; none means that the plate is full.

    Each keeps its distance to the rim and to all resting fruit. `packing` plans for the fruits still to come, given
    by their radii: first the spots beside which all of them fit, those first where all fruit could lie farthest
    apart; then the others, from the middle outward. `center_to_edge` goes outward in rings and plans nothing. Of
    equally good spots the one lowest in x comes first.

    Limits on x and y aside, the list is empty only if there is no such place, not even between grid points.
    """
    middle = np.array([plate.x_m, plate.y_m])
    lying = sorted(resting, key=lambda each: each.name)
    lies = np.array([(each.x_m, each.y_m) for each in lying]).reshape(-1, 2) - middle
    radii = np.array([each.radius_m for each in lying])
    farthest = farthest_m(plate, radius_m, parameters)
    if farthest < 0:
        return []
    apart = apart_m(radius_m, radii, parameters)
    packing = parameters.strategy == "packing"
    widest = farthest - HAIR_M
    rings = _dense_rings(widest) if packing else _even_rings(widest, parameters.tries)
    place = np.concatenate([rings, _corners(farthest, lies, apart)])
    slack = _slack_m(place, farthest, lies, apart)
    free = (slack >= HAIR_M / 2) & _within_limits(place + middle, parameters)
    place, slack = place[free], slack[free]
    room = _room_m(plate, place, slack, radius_m, lies, radii, still_to_come_m, parameters)
    if packing and still_to_come_m and not (room >= 0).any():
        # Fruits of several sizes may fit where as many of the largest size do not.
        planned = plans(plate, [radius_m, *still_to_come_m], lies, radii, parameters)[:, 0]
        planned = planned[_within_limits(planned + middle, parameters)]
        place = np.concatenate([planned, place])
        slack = np.concatenate([_slack_m(planned, farthest, lies, apart), slack])
        room = np.concatenate([np.zeros(len(planned)), room])
    order = (_best_first(place, room) if packing else np.arange(len(place)))[: parameters.tries]
    x, y = (place[order] + middle).T.tolist()
    return [
        Spot(x_m=x_m, y_m=y_m, slack_m=slack_m, fits_all=room_m >= 0)
        for x_m, y_m, slack_m, room_m in zip(x, y, slack[order].tolist(), room[order].tolist(), strict=True)
    ]


def _dense_rings(farthest_m: float) -> Array:
    inward = (np.arange(_RINGS) / _RINGS) ** 2
    around = (farthest_m * (1 - inward))[:, None, None] * _DENSE_RING
    return np.concatenate([np.zeros((1, 2)), around.reshape(-1, 2)])


def _even_rings(farthest_m: float, tries: int) -> Array:
    """The middle, then rings outward with six more spots each, as many as may be tried."""
    rings = 0
    while 1 + 3 * (rings + 1) * (rings + 2) <= tries:
        rings += 1
    found = [np.zeros((1, 2))]
    for ring in range(1, rings + 1):
        angle = _AIM_RAD + np.arange(6 * ring) * (np.pi / (3 * ring))
        found.append(farthest_m * ring / rings * np.stack([np.cos(angle), np.sin(angle)], axis=-1))
    return np.concatenate(found)


def _corners(farthest_m: float, lies_m: Array, apart: Array) -> Array:
    """Where the circles that bound the free area cross, and one point of each, for each width to spare.

    If anything is free, one of these is: a free area's edge is a whole circle or has a corner.
    """
    centre = np.concatenate([np.zeros((1, 2)), lies_m])
    spare = _SPARE_M[:, None] + HAIR_M
    radius = np.concatenate([farthest_m - spare, apart + spare], axis=1)
    one, other = _pairs(len(centre))
    between = centre[other] - centre[one]
    length = np.maximum(np.hypot(between[:, 0], between[:, 1]), HAIR_M)
    along = (length * length + radius[:, one] ** 2 - radius[:, other] ** 2) / (2 * length)
    across = np.sqrt(np.maximum(radius[:, one] ** 2 - along * along, 0.0))[..., None]
    unit = between / length[:, None]
    normal = np.stack([-unit[:, 1], unit[:, 0]], axis=-1)
    foot = centre[one] + along[..., None] * unit
    lone = centre + radius[..., None] * np.array([np.cos(_AIM_RAD), np.sin(_AIM_RAD)])
    return np.concatenate([foot + across * normal, foot - across * normal, lone], axis=1).reshape(-1, 2)


@functools.cache
def _pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Every pair of `count`."""
    one, other = np.triu_indices(count, 1)
    return one, other


def _slack_m(place: Array, farthest_m: float, lies_m: Array, apart: Array) -> Array:
    """What each place (rows, 2) leaves beyond its distances to the rim and the resting fruit; negative: not free."""
    offset = place[:, None] - lies_m
    to_rim = farthest_m - np.hypot(place[:, 0], place[:, 1])
    return np.minimum(to_rim, (np.hypot(offset[..., 0], offset[..., 1]) - apart).min(axis=1, initial=np.inf))


def _within_limits(world: Array, parameters: SpotParameters) -> Flags:
    limits = np.array([parameters.max_x_m or np.inf, parameters.max_y_m or np.inf])
    return np.all(np.abs(world) <= limits, axis=1)


def _room_m(
    plate: Plate,
    place: Array,
    slack_m: Array,
    radius_m: float,
    lies_m: Array,
    radii_m: Array,
    to_come_m: Sequence[float],
    parameters: SpotParameters,
) -> Array:
    """How much farther than needed all fruit could be from each other and the rim, with the next one at each place.

    -1 where what is still to come would not fit, taking all of it to be as large as the largest: a place that is
    good for a fruit is good for a smaller one.
    """
    if not to_come_m or not len(place):
        return slack_m
    if not len(lies_m):
        # On an empty plate only the distance from the middle counts.
        _, one, like = np.unique(
            np.round(np.hypot(place[:, 0], place[:, 1]), 9), return_index=True, return_inverse=True
        )
        if len(one) < len(place):
            place, slack_m = place[one], slack_m[one]
            return _room_m(plate, place, slack_m, radius_m, lies_m, radii_m, to_come_m, parameters)[like]
    largest = max(to_come_m)
    blocked = np.concatenate([np.broadcast_to(lies_m, (len(place), *lies_m.shape)), place[:, None]], axis=1)
    from_lying = apart_m(largest, radii_m, parameters)
    from_next = float(apart_m(largest, radius_m, parameters))

    def fits(rows: NDArray[np.intp], extra: Array) -> Flags:
        # The next fruit may come to rest off its spot; those that lie already will not.
        apart = np.concatenate(
            [from_lying + extra[:, None], from_next + np.maximum(extra, parameters.off_spot_m)[:, None]], axis=1
        )
        return alike_fit(plate, largest, len(to_come_m), blocked[rows], apart, extra, parameters)

    every = np.arange(len(place))
    if parameters.strategy != "packing":
        return np.where(fits(every, np.zeros(len(place))), 0.0, -1.0)

    def quarters_kept(rows: NDArray[np.intp], least: Array, most: Array, quarters: Array) -> NDArray[np.intp]:
        """How many of these quarters of the way from least to most each row still leaves, one after the other."""
        extra = least[:, None] + (most - least)[:, None] * quarters
        kept = fits(np.repeat(rows, len(quarters)), extra.ravel()).reshape(extra.shape)
        return np.logical_and.accumulate(kept, axis=1).sum(axis=1)

    kept = quarters_kept(every, np.zeros(len(place)), slack_m, np.array([0.0, 0.25, 0.5, 0.75]))
    room = np.where(kept > 0, slack_m * 0.25 * (kept - 1), -1.0)
    # Spots that cannot become one of the best any more are not distinguished further.
    rows = np.flatnonzero((kept > 0) & (room + 0.25 * slack_m > room.max(initial=0.0) - _SAME_ROOM_M))
    if len(rows):
        least, most = room[rows], room[rows] + 0.25 * slack_m[rows]
        room[rows] += 0.0625 * slack_m[rows] * quarters_kept(rows, least, most, np.array([0.25, 0.5, 0.75]))
    return room


def _best_first(place: Array, room_m: Array) -> NDArray[np.intp]:
    fits = room_m >= 0
    from_middle = np.hypot(place[:, 0], place[:, 1])
    rank = np.where(fits, -np.round(room_m / _SAME_ROOM_M), np.round(from_middle / _SAME_ROOM_M))
    toward = place[:, 0] * np.cos(_AIM_RAD) + place[:, 1] * np.sin(_AIM_RAD)
    return np.lexsort((place[:, 1], place[:, 0], -np.round(toward, 6), rank, ~fits))
