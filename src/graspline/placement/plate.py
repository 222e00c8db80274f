"""A plate, the fruit that lies on it, and the distances that a further one must keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.parameters import Parameters

Array = NDArray[np.float64]

# Places are kept this far off the least distance, so that rounding does not put them inside it.
HAIR_M = 1e-7


class SpotParameters(Parameters):
    """Where on the plate fruit is put."""

    strategy: Literal["packing", "center_to_edge"] = Field(
        default="packing",
        description="packing leaves room for the fruit still to come; center_to_edge goes outward in rings",
    )
    least_apart_m: float = Field(default=0.06, ge=0, le=0.2, description="least distance between two fruits' centres")
    margin_m: float = Field(
        default=0.014, ge=0, le=0.05, description="least distance between two fruits' skins, room for a finger"
    )
    edge_margin_m: float = Field(
        default=0.01, ge=0, le=0.05, description="how far inside the rim a fruit's centre must lie"
    )
    rim_gap_m: float = Field(default=0.001, ge=0, le=0.02, description="least distance between a fruit's skin and rim")
    off_spot_m: float = Field(
        default=0.003,
        ge=0,
        le=0.02,
        description="how far from its spot a fruit may come to rest without taking room from those still to come",
    )
    tries: int = Field(default=100, ge=1, le=1000, description="largest number of spots tried")
    max_x_m: float | None = Field(
        default=None, gt=0, le=2, description="farthest spot from the robot along x; without it, planning decides"
    )
    max_y_m: float | None = Field(
        default=None, gt=0, le=2, description="farthest spot from the robot along y; without it, planning decides"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plate:
    """A round plate on the table: where its middle is, and its shape above its underside.

    On a floor stands a rim, round in section: a tube of radius `rim_tube_m`, flush with the outer edge and
    `rim_height_m` high.
    """

    x_m: float
    y_m: float
    # Of the outer edge.
    radius_m: float
    floor_m: float = 0.004
    rim_tube_m: float = 0.004
    rim_height_m: float = 0.012


@dataclass(frozen=True, slots=True, kw_only=True)
class Resting:
    """A fruit that already lies on the plate, in the world."""

    name: str
    x_m: float
    y_m: float
    radius_m: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A place for the next fruit, in the world."""

    x_m: float
    y_m: float
    # What is left of the distances to rim and resting fruit beyond those that must be kept.
    slack_m: float
    # Whether all fruit still to come is known to fit beside it.
    fits_all: bool


def apart_m(radius_m: Array | float, other_m: Array | float, parameters: SpotParameters) -> Array:
    """Least distance between the centres of two fruits."""
    return np.maximum(parameters.least_apart_m, np.add(radius_m, other_m) + parameters.margin_m)


def inside_m(plate: Plate, margin_m: float) -> float:
    """How far from the middle a fruit's centre may lie to be inside the rim by a margin."""
    return plate.radius_m - 2 * plate.rim_tube_m - margin_m


def farthest_m(plate: Plate, radius_m: float, parameters: SpotParameters) -> float:
    """How far from the middle a fruit may lie, inside the rim and clear of it; negative if nowhere."""
    # The fruit bulges over the rim: its centre may come nearer than its radius.
    up = plate.floor_m + radius_m - (plate.rim_height_m - plate.rim_tube_m)
    reach = radius_m + plate.rim_tube_m + parameters.rim_gap_m
    overhung = plate.radius_m - plate.rim_tube_m - float(np.sqrt(max(reach * reach - up * up, 0.0)))
    return min(inside_m(plate, parameters.edge_margin_m), overhung)
