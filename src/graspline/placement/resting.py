"""Evidence that a fruit rests on the plate where it was put, and that nothing else was moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field

from graspline.evidence import Evidence, at_least, at_most
from graspline.parameters import Parameters
from graspline.perception.core.speeds import fitted_speed, speed_now
from graspline.placement.plate import Array, Plate, inside_m
from graspline.placement.query import Support


class RestParameters(Parameters):
    """When a fruit counts as placed."""

    inside_margin_m: float = Field(
        default=0.01, ge=0, le=0.05, description="how far inside the rim the fruit's centre must lie"
    )
    height_m: float = Field(
        default=0.012, gt=0, le=0.05, description="how far its centre may be from its radius above the plate's floor"
    )
    speed_m_s: float = Field(default=0.02, gt=0, le=0.5, description="how fast it may still move")
    still_s: float = Field(default=0.3, ge=0, le=5, description="how long it must have been this slow")
    displaced_m: float = Field(default=0.01, gt=0, le=0.05, description="how far placing it may move another fruit")
    plate_shift_m: float = Field(default=0.01, gt=0, le=0.05, description="how far placing it may move the plate")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FruitSighting:
    """Where a fruit's centre and the middle of the plate's underside were seen, in the world, (3,) each."""

    time_s: float
    position_m: Array
    plate_m: Array
    # As only a simulator knows it; nan where it must be fitted through several sightings.
    speed_m_s: float = float("nan")


def rests_on(
    window: Sequence[FruitSighting], radius_m: float, plate: Plate, parameters: RestParameters, error_m: float = 0.0
) -> Evidence:
    """Over a short window the fruit lies on the plate's floor, inside its rim, and still.

    The plate is where it was seen; of `plate` only the shape is used. `error_m` is the error, 1σ, of one sighting of
    one thing: limits on place and height are tightened by twice the error of their mean. A speed cannot be judged
    more finely than it can be seen, so its limit is widened by the error of the fitted speed. A hanging fruit can be
    still for a moment: look after the hand has left.
    """
    if not window:
        return (at_least("sightings", 0, 1),)
    apart = np.stack([each.position_m - each.plate_m for each in window]).mean(axis=0)
    # Both ends of the distance are seen with an error.
    unsure_m = 2 * error_m * float(np.sqrt(2 / len(window)))
    speed, speed_error = _speed_m_s(window, error_m)
    off_floor = abs(float(apart[2]) - plate.floor_m - radius_m)
    return (
        at_most(
            "from_middle", float(np.hypot(*apart[:2])), inside_m(plate, parameters.inside_margin_m) - unsure_m, "m"
        ),
        at_most("off_floor", off_floor, parameters.height_m - unsure_m, "m"),
        at_most("speed", speed, parameters.speed_m_s + 3 * speed_error, "m/s"),
    )


def has_been_still(window: Sequence[FruitSighting], parameters: RestParameters, error_m: float = 0.0) -> Evidence:
    """How long the fruit has been still, beside how long it must have been."""
    return (at_least("still", at_rest_for_s(window, parameters, error_m), parameters.still_s, "s"),)


def is_still_now(window: Sequence[FruitSighting], parameters: RestParameters, error_m: float = 0.0) -> Evidence:
    """How fast fruit and plate are at the very end, beside half the speed a fruit may have; see `speed_now`.

    A plate that is pulled away moves before the fruit on it does.
    """
    if len(window) < 2:
        return (at_least("sightings", len(window), 2),)
    times, positions = _seen(window)
    plates = np.stack([each.plate_m for each in window])
    limit = parameters.speed_m_s
    plate = replace(speed_now(times, plates, limit, error_m), name="plate_speed_now")
    return speed_now(times, positions, limit, error_m), plate


def at_rest_for_s(window: Sequence[FruitSighting], parameters: RestParameters, error_m: float = 0.0) -> float:
    """How long the fruit has been still at the end of the window: over consecutive sightings, each slow enough.

    Backward from the last sighting, up to one from which the fruit has moved farther by the next sighting, or by the
    last one, than the allowed speed and the error of two sightings explain, or in which it is known to have been
    faster.
    """
    if not window:
        return 0.0
    last = following = window[-1]
    still_since_s = last.time_s
    for sighting in reversed(window):
        moved = any(_too_far(sighting, each, parameters, error_m) for each in (following, last))
        if moved or sighting.speed_m_s > parameters.speed_m_s:
            break
        still_since_s, following = sighting.time_s, sighting
    # To the nanosecond: times are sums of ticks.
    return round(last.time_s - still_since_s, 9)


def _too_far(before: FruitSighting, after: FruitSighting, parameters: RestParameters, error_m: float) -> bool:
    moved_m = float(np.linalg.norm(after.position_m - before.position_m))
    allowed_m = parameters.speed_m_s * (after.time_s - before.time_s)
    return moved_m > allowed_m + 3 * float(np.sqrt(2)) * error_m


def not_displaced(
    before_m: Mapping[str, Array], after_m: Mapping[str, Array], parameters: RestParameters, error_m: float = 0.0
) -> Evidence:
    """How far each fruit of `before_m` has moved, beside the limit; one that is not seen again is absent and fails.

    Positions (3,) or (2,) in one frame, the plate's if it may have been pushed. No neighbours, no evidence.
    """
    limit = parameters.displaced_m - _unsure_m(error_m)
    return tuple(
        at_most(f"displaced_{name}", _moved_m(before_m[name], after_m.get(name)), limit, "m")
        for name in sorted(before_m)
    )


def plate_not_shifted(
    before_m: Array, after_m: Array | None, parameters: RestParameters, error_m: float = 0.0
) -> Evidence:
    """How far the plate has moved, beside the limit; a plate that is not seen again is absent and fails."""
    limit = parameters.plate_shift_m - _unsure_m(error_m)
    return (at_most("plate_shift", _moved_m(before_m, after_m), limit, "m"),)


def _moved_m(before_m: Array, after_m: Array | None) -> float:
    return float("nan") if after_m is None else float(np.linalg.norm(after_m - before_m))


def _unsure_m(error_m: float) -> float:
    """Twice the error of a distance between two sightings."""
    return 2 * float(np.sqrt(2)) * error_m


def _speed_m_s(window: Sequence[FruitSighting], error_m: float) -> tuple[float, float]:
    """Speed over the window and its standard error: fitted through sightings, or as the only one has it."""
    return (window[0].speed_m_s, 0.0) if len(window) == 1 else fitted_speed(*_seen(window), error_m)


def _seen(window: Sequence[FruitSighting]) -> tuple[Array, Array]:
    """When and where."""
    return np.array([each.time_s for each in window]), np.stack([each.position_m for each in window])


def resting_evidence(
    position_m: Array,
    up: float,
    speed_m_s: float,
    support: Support,
    half_height_m: float,
    limits: tuple[float, float, float, float],
) -> Evidence:
    """How far from its spot a thing is, how far off its support, how far it leans, how fast it is; with the limits.

    `up` is the height component of its upright axis.
    """
    off_m, height_m, lean_rad, speed_limit_m_s = limits
    apart = float(np.hypot(position_m[0] - support.x_m, position_m[1] - support.y_m))
    off_surface_m = abs(float(position_m[2]) - half_height_m - support.z_m)
    return (
        at_most("off_spot", apart, off_m, "m"),
        at_most("off_support" if support.name else "off_table", off_surface_m, height_m, "m"),
        at_most("lean", float(np.arccos(np.clip(abs(up), -1, 1))), lean_rad, "rad"),
        at_most("speed", speed_m_s, speed_limit_m_s, "m/s"),
    )
