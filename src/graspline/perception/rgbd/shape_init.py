"""First guesses of boxes, cylinders and balls from the points that are seen of them."""

from __future__ import annotations

import numpy as np

from graspline.perception.core.outlines import Array
from graspline.perception.rgbd.sightings import Sighting

# Headings tried for a box, a quarter turn of them; the second one tried is not this near to the first.
_TURNS, _ANOTHER_RAD = np.radians(np.arange(0.0, 90.0, 3.0)), np.radians(14.0)
# Points this near to the top are not of a side; least number of these in a start.
_TOP_M, _LEAST_SIDE = 0.008, 20
# Circles through this many triples of points are compared, by how many points are this near to them; sizes of circles.
_TRIPLES, _SEED, _ON_CIRCLE_M, _RADII_M = 80, 3, 0.004, (0.012, 0.10)
_ENDLESS_M = 1e3
_LEAST_M = 0.01
# Points of sides are this near to those that face the camera, or count all the same.
_NEAR_SIDE_M = 0.010


def _sides(sighting: Sighting) -> Array:
    """(n, 2): places of points that are on sides, if there are enough of these."""
    sides = sighting.points_m[:, 2] < sighting.top_m - _TOP_M
    return sighting.points_m[sides if sides.sum() >= _LEAST_SIDE else slice(None), :2]


def box_starts(sighting: Sighting) -> Array:
    """(2, 6): boxes around the points, with the two headings that bring most of them onto the sides seen, as an L."""
    sides, places = _sides(sighting), sighting.points_m[:, :2]
    towards = sighting.lens.position_m[:2] - places.mean(axis=0)
    cosine, sine = np.cos(_TURNS)[:, None], np.sin(_TURNS)[:, None]

    def turned(points: Array) -> Array:
        return np.stack([cosine * points[:, 0] + sine * points[:, 1], cosine * points[:, 1] - sine * points[:, 0]])

    # (2, T, n): along both axes of every heading, positive towards the camera.
    facing = np.sign(turned(towards[None]))
    along, whole = turned(sides) * facing, turned(places)
    off = np.percentile(along, 97, axis=2)[..., None] - along
    cost = np.minimum(np.abs(off).min(axis=0), _NEAR_SIDE_M).mean(axis=1)
    low, high = np.percentile(whole, 1, axis=2), np.percentile(whole, 99, axis=2)
    best = int(np.argmin(cost))
    # Headings come round after a quarter turn.
    apart = np.abs((_TURNS - _TURNS[best] + np.pi / 4) % (np.pi / 2) - np.pi / 4)
    other = int(np.argmin(np.where(apart > _ANOTHER_RAD, cost, np.inf)))
    starts = np.zeros((2, 6))
    for row, turn in enumerate((best, other)):
        (x, y), (wide, deep) = (low[:, turn] + high[:, turn]) / 2, (high[:, turn] - low[:, turn]) / 2
        c, s = np.cos(_TURNS[turn]), np.sin(_TURNS[turn])
        starts[row] = (
            c * x - s * y,
            s * x + c * y,
            _TURNS[turn],
            max(wide, _LEAST_M),
            max(deep, _LEAST_M),
            sighting.top_m,
        )
    return starts


def cylinder_starts(sighting: Sighting) -> Array:
    """(1, 6): the circle that most points of sides are on."""
    x, y, radius = find_circle(sighting, _RADII_M)
    return np.array([[x, y, 0.0, radius, radius, sighting.top_m]])


def find_circle(sighting: Sighting, radii_m: tuple[float, float]) -> tuple[float, float, float]:
    """x, y and radius of the circle of such a size through three points of sides that most of them are on.

    It turns its front to the camera. If there is none, it is a small one behind the points.
    """
    sides, camera = _sides(sighting), sighting.lens.position_m[:2]
    triples = sides[np.random.default_rng(_SEED).integers(len(sides), size=(_TRIPLES, 3))]
    middles, radii = _circles(triples)
    away = sides.mean(axis=0) - camera
    sound = ((middles - sides.mean(axis=0)) @ away > 0) & (radii > radii_m[0]) & (radii < radii_m[1])
    if not sound.any():
        x, y = sides.mean(axis=0) + away / np.linalg.norm(away) * radii_m[0]
        return float(x), float(y), radii_m[0]
    middles, radii = middles[sound], radii[sound]
    off = np.hypot(sides[:, None, 0] - middles[:, 0], sides[:, None, 1] - middles[:, 1]) - radii
    best = int(np.argmax((np.abs(off) < _ON_CIRCLE_M).sum(axis=0)))
    return float(middles[best, 0]), float(middles[best, 1]), float(radii[best])


def _circles(triples: Array) -> tuple[Array, Array]:
    """Middles (T, 2) and radii (T,) of circles through triples (T, 3, 2); those of points in a line are huge."""
    first, other = triples[:, 1] - triples[:, 0], triples[:, 2] - triples[:, 0]
    area = 2 * (first[:, 0] * other[:, 1] - first[:, 1] * other[:, 0])
    area = np.where(np.abs(area) > 1e-8, area, np.nan)
    one, two = (first * first).sum(axis=1), (other * other).sum(axis=1)
    x = (other[:, 1] * one - first[:, 1] * two) / area
    y = (first[:, 0] * two - other[:, 0] * one) / area
    off = np.nan_to_num(np.stack([x, y], axis=1), nan=_ENDLESS_M)
    return triples[:, 0] + off, np.hypot(off[:, 0], off[:, 1])


def ball_starts(sighting: Sighting) -> Array:
    """(1, 6): the ball on the ground nearest to all points."""
    x, y, z = sighting.points_m.T
    rows = np.stack([x, y, z, np.ones_like(x)], axis=1)
    (a, b, c, _), *_ = np.linalg.lstsq(rows, x * x + y * y + z * z, rcond=None)
    radius = float(np.clip(c / 2, *_RADII_M))
    return np.array([[a / 2, b / 2, 0.0, radius, radius, 2 * radius]])
