"""What a spot on a plate must keep, by every distance beside its limit: an own check of the spots that are found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graspline.evidence import Evidence, at_least, at_most
from graspline.placement.plate import Plate, Resting, Spot, SpotParameters, apart_m, inside_m


def rim_gap_m(plate: Plate, radius_m: float, from_middle_m: float) -> float:
    """Distance between rim and skin of a fruit that lies on the plate's floor, its centre that far from the middle."""
    sideways = plate.radius_m - plate.rim_tube_m - from_middle_m
    up = plate.floor_m + radius_m - (plate.rim_height_m - plate.rim_tube_m)
    return float(np.hypot(sideways, up)) - radius_m - plate.rim_tube_m


def spot_free(
    spot: Spot,
    resting: Sequence[Resting],
    plate: Plate,
    radius_m: float,
    parameters: SpotParameters,
    error_m: float = 0.0,
) -> Evidence:
    """Distances of a fruit on this spot to rim and resting fruit, each beside its limit.

    `error_m` is the error, 1σ, of where the fruits and the plate are seen: limits are tightened by twice as much.
    """
    unsure_m = 2 * error_m
    from_middle = float(np.hypot(spot.x_m - plate.x_m, spot.y_m - plate.y_m))
    evidence = [
        at_most("from_middle", from_middle, inside_m(plate, parameters.edge_margin_m) - unsure_m, "m"),
        at_least("rim_gap", rim_gap_m(plate, radius_m, from_middle), parameters.rim_gap_m + unsure_m, "m"),
    ]
    for fruit in sorted(resting, key=lambda each: each.name):
        apart = float(np.hypot(spot.x_m - fruit.x_m, spot.y_m - fruit.y_m))
        limit = float(apart_m(radius_m, fruit.radius_m, parameters)) + unsure_m
        evidence.append(at_least(f"apart_from_{fruit.name}", apart, limit, "m"))
    for axis, place, limit in (("x", spot.x_m, parameters.max_x_m), ("y", spot.y_m, parameters.max_y_m)):
        if limit is not None:
            evidence.append(at_most(axis, abs(place), limit, "m"))
    return tuple(evidence)
