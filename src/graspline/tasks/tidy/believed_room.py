"""What the robot believes of the room: furniture as it is configured and things, corrected by what it has seen."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.grasping.whole_body_reach import Surroundings
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.perception.rgbd.odometry_drift import Slip
from graspline.scenes.fittings import Fitting, Slab
from graspline.scenes.household import KNOWN
from graspline.scenes.room import WALL_X_M, WALL_Y_M

# What is not looked at before it is passed stands where it is believed to within this; of a shelf only boards are seen.
_SIGMAS_M = {"leg": 0.012, "wall": 0.015, "shelf_left": 0.004, "shelf_right": 0.004}
_BELOW_TOP_M = 0.05
Array = NDArray[np.float64]

_WALLS = (
    ("wall_back", (WALL_X_M - 0.05, 0.5, 1.0), (0.05, 4.0, 1.0)),
    ("wall_left", (0.5, WALL_Y_M + 0.05, 1.0), (4.0, 0.05, 1.0)),
)
_PARTS = {item.name: [part for part in item.parts if part.solid] for item in KNOWN}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class House:
    """Furniture in O, and things on the table."""

    table: Fitting
    shelf: Fitting
    things: tuple[Belief, ...] = ()

    @property
    def solids(self) -> tuple[Belief, ...]:
        """Everything that is not to be touched, besides things that stand on it."""
        walls = (_box(name, np.array(at), np.array([1.0, 0, 0, 0]), half) for name, at, half in _WALLS)
        return (*solids_of(self.table), *solids_of(self.shelf), *walls)

    def after(self, slip: Slip) -> House:
        """The same with furniture where it really stands."""
        return replace(self, table=slip.fitting(self.table), shelf=slip.fitting(self.shelf))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownRoom:
    """The room as it was seen last."""

    house: House


def around(house: House, held: HeldObject | None = None, *, things: Sequence[Belief] | None = None) -> Surroundings:
    """What stands around: furniture, and the things on the table or others in their place."""
    stand = house.things if things is None else things
    return Surroundings(solids=(*house.solids, *(whole(each) for each in stand)), held=held)


def without(surroundings: Surroundings, solid: Belief, held: HeldObject | None) -> Surroundings:
    """The same with a thing taken up."""
    left = tuple(each for each in surroundings.solids if each is not whole(solid))
    return replace(surroundings, solids=left, held=held)


@functools.lru_cache(maxsize=1024)
def whole(solid: Belief) -> Belief:
    """A known thing with all its parts, as a box around them where they stick out: a mug with its handle."""
    low, high = _bounds(solid.name)
    if (high <= solid.half_extents_m + 1e-6).all() and (-low <= solid.half_extents_m + 1e-6).all():
        return solid
    middle = solid.position_m + solid.rotation @ ((low + high) / 2)
    return replace(solid, shape="box", position_m=middle, half_extents_m=(high - low) / 2)


def parts_of(solid: Belief) -> tuple[Belief, ...]:
    """A known thing, given as `whole` has it, in parts: each a solid of its own; any other as it is."""
    parts = _PARTS.get(solid.name, ())
    if len(parts) < 2:
        return (solid,)
    low, high = _bounds(solid.name)
    main = solid.position_m - solid.rotation @ ((low + high) / 2)
    return tuple(
        replace(
            solid,
            shape=part.shape,
            position_m=main + solid.rotation @ np.array(part.position_m),
            half_extents_m=np.array(part.half_extents_m),
        )
        for part in parts
    )


def _bounds(name: str) -> tuple[Array, Array]:
    """Corners, (3,) each, of the box around all parts of a known thing in its frame; of others all zeros."""
    parts = _PARTS.get(name, ())
    corners = [np.array(part.position_m) + sign * np.array(part.half_extents_m) for part in parts for sign in (-1, 1)]
    return (np.min(corners, axis=0), np.max(corners, axis=0)) if corners else (np.zeros(3), np.zeros(3))


def solids_of(fitting: Fitting) -> tuple[Belief, ...]:
    """The slabs of a piece of furniture as solids."""
    return tuple(_solid(fitting, slab) for slab in fitting.slabs)


def _solid(fitting: Fitting, slab: Slab) -> Belief:
    """A slab; legs end below what they carry, so that what is kept clear of them beside is not kept above."""
    (x, y, z), (half_x, half_y, half_z) = slab.position_m, slab.half_extents_m
    less = _BELOW_TOP_M / 2 if "leg" in slab.name else 0.0
    at = fitting.in_world((x, y, z - less))
    return _box(slab.name, at, np.array(fitting.quaternion), (half_x, half_y, half_z - less))


def _box(name: str, at: Array, quaternion: Array, half: tuple[float, float, float]) -> Belief:
    sigma = next((sigma for part, sigma in _SIGMAS_M.items() if part in name), 0.0)
    return replace(Belief.exact(name, at, quaternion, np.array(half)), position_sigma_m=sigma)
