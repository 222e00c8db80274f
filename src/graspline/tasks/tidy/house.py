"""What the robot believes of the room: furniture as it is configured, corrected by what it has seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.perception.beliefs import Belief
from graspline.scenes.fittings import Fitting, Slab
from graspline.scenes.room import WALL_X_M, WALL_Y_M

# What is not looked at before it is passed stands where it is believed to within this; of a shelf only boards are seen.
_SIGMAS_M = {"leg": 0.012, "wall": 0.015, "shelf_left": 0.004, "shelf_right": 0.004}
_BELOW_TOP_M = 0.05
Array = NDArray[np.float64]

_WALLS = (
    ("wall_back", (WALL_X_M - 0.05, 0.5, 1.0), (0.05, 4.0, 1.0)),
    ("wall_left", (0.5, WALL_Y_M + 0.05, 1.0), (4.0, 0.05, 1.0)),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class House:
    """Furniture in O, and where the robot stands to see it."""

    table: Fitting
    shelf: Fitting

    @property
    def solids(self) -> tuple[Belief, ...]:
        """Everything that is not to be touched, besides things that stand on it."""
        walls = (_box(name, np.array(at), np.array([1.0, 0, 0, 0]), half) for name, at, half in _WALLS)
        return (*solids_of(self.table), *solids_of(self.shelf), *walls)


def solids_of(fitting: Fitting) -> tuple[Belief, ...]:
    return tuple(_solid(fitting, slab) for slab in fitting.slabs)


def _solid(fitting: Fitting, slab: Slab) -> Belief:
    """A slab; legs end below what they carry, so that what is kept clear of them beside is not kept above."""
    (x, y, z), (half_x, half_y, half_z) = slab.position_m, slab.half_extents_m
    less = _BELOW_TOP_M / 2 if "leg" in slab.name else 0.0
    at = fitting.in_world((x, y, z - less))
    return _box(slab.name, at, np.array(fitting.quaternion), (half_x, half_y, half_z - less))


def before(fitting: Fitting, distance_m: float, across_m: float = 0.0) -> tuple[float, float, float]:
    """Where the base is, x, y and heading, when it faces a piece of furniture at this distance from its front."""
    front = min(level.position_m[0] - level.half_extents_m[0] for level in fitting.levels)
    x, y, _ = fitting.in_world((front - distance_m, across_m, 0.0)).tolist()
    return x, y, fitting.yaw_rad


def _box(name: str, at: Array, quaternion: Array, half: tuple[float, float, float]) -> Belief:
    return Belief(
        name=name,
        shape="box",
        position_m=at,
        quaternion=quaternion,
        half_extents_m=np.array(half),
        position_sigma_m=next((sigma for part, sigma in _SIGMAS_M.items() if part in name), 0.0),
        yaw_sigma_rad=0.0,
    )
