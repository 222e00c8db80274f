"""Table and shelf as data: where they are meant to stand, what boxes they are made of, and on what things stand.

Each has a frame F on the floor under its middle. One stands in front of it looking along its x axis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.errors import one_of
from graspline.scenes.scene import Bay
from graspline.scenes.variation import Edit, Variation
from graspline.spatial.rotations import rotate, rotation_z

Array = NDArray[np.float64]
Vector = tuple[float, float, float]

BOARDS = ("board_low", "board_middle", "board_high")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slab:
    """One box of a piece of furniture, in F."""

    name: str
    position_m: Vector
    half_extents_m: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A surface that things stand on: the rectangle between walls, in F, and how much room is above it."""

    name: str
    position_m: Vector
    half_extents_m: tuple[float, float]
    clear_m: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """A piece of furniture that may stand a little off."""

    name: str
    # p_WF and the heading of F's x axis in W.
    position_m: Vector
    yaw_rad: float
    slabs: tuple[Slab, ...]
    levels: tuple[Level, ...]

    @property
    def quaternion(self) -> tuple[float, float, float, float]:
        """Of F in W, w first; of every slab, too."""
        return float(np.cos(self.yaw_rad / 2)), 0.0, 0.0, float(np.sin(self.yaw_rad / 2))

    def level(self, name: str) -> Level:
        """The level of this name."""
        one_of(name, [each.name for each in self.levels], f"level of {self.name}")
        return next(each for each in self.levels if each.name == name)

    def in_world(self, point_F: Vector | Array) -> Array:
        """(3,): a point of F in W."""
        return np.array(self.position_m) + rotate(rotation_z(self.yaw_rad), np.asarray(point_F, float))

    def in_own_frame(self, point_m: NDArray[np.float64]) -> tuple[float, float]:
        """A point of O, (2,) or more, along its own axes."""
        cosine, sine = np.cos(self.yaw_rad), np.sin(self.yaw_rad)
        x, y = float(point_m[0]) - self.position_m[0], float(point_m[1]) - self.position_m[1]
        return float(cosine * x + sine * y), float(cosine * y - sine * x)

    def above(self, level: Level, point_m: NDArray[np.float64]) -> Array:
        """(3,): a point of O from the middle of one of its levels, along its own axes."""
        return rotate(rotation_z(-self.yaw_rad), point_m - self.in_world(level.position_m))

    def moved(self, offset_m: Vector, turn_rad: float) -> Fitting:
        """The same standing elsewhere; the offset is along its own axes."""
        x, y, z = self.in_world(offset_m).tolist()
        return replace(self, position_m=(x, y, z), yaw_rad=self.yaw_rad + turn_rad)

    @property
    def edits(self) -> tuple[Edit, ...]:
        """What puts the body of this name there."""
        return (
            Edit(field="body_pos", element=self.name, values=self.position_m),
            Edit(field="body_quat", element=self.name, values=self.quaternion),
        )

    def in_variation(self, variation: Variation) -> Fitting:
        """This one as it really stands in a lane."""
        found = {edit.field: edit.values for edit in variation.edits if edit.element == self.name}
        if "body_pos" not in found:
            return self
        (x, y, z), (w, _, _, up) = found["body_pos"], found["body_quat"]
        return replace(self, position_m=(x, y, z), yaw_rad=2 * float(np.arctan2(up, w)))

    @property
    def bays(self) -> tuple[Bay, ...]:
        """Its levels in W; a level turned by a right angle has its extents swapped."""
        turned = abs(np.sin(self.yaw_rad)) > np.sqrt(0.5)
        bays = []
        for level in self.levels:
            x, y, z = self.in_world(level.position_m).tolist()
            along, across = level.half_extents_m[::-1] if turned else level.half_extents_m
            bays.append(Bay(name=level.name, position_m=(x, y, z), half_extents_m=(along, across, 0.0)))
        return tuple(bays)


def _slab(name: str, low: Vector, high: Vector) -> Slab:
    """From its lowest to its highest corner."""
    lower, upper = np.array(low), np.array(high)
    (x, y, z), (half_x, half_y, half_z) = ((lower + upper) / 2).tolist(), ((upper - lower) / 2).tolist()
    return Slab(name=name, position_m=(x, y, z), half_extents_m=(half_x, half_y, half_z))


def _table(position_m: Vector, depth_m: float, width_m: float, height_m: float) -> Fitting:
    """A thin top on four legs."""
    x, y, under = depth_m / 2, width_m / 2, height_m - 0.03
    slabs = [_slab("table_top", (-x, -y, under), (x, y, height_m))]
    for end, from_x in (("front", 0.02 - x), ("back", x - 0.06)):
        for side, from_y in (("right", 0.02 - y), ("left", y - 0.06)):
            slabs.append(_slab(f"table_leg_{end}_{side}", (from_x, from_y, 0), (from_x + 0.04, from_y + 0.04, under)))
    top = Level(name="table", position_m=(0.0, 0.0, height_m), half_extents_m=(x, y), clear_m=float("inf"))
    return Fitting(name="table", position_m=position_m, yaw_rad=0.0, slabs=tuple(slabs), levels=(top,))


def _shelf(position_m: Vector, yaw_rad: float, depth_m: float, width_m: float) -> Fitting:
    """Boards between side walls, with a back and a roof, evenly one above the other."""
    thick, back, lowest, pitch = 0.02, 0.012, 0.40, 0.38
    heights = {name: lowest + number * pitch for number, name in enumerate(BOARDS)}
    x, y, clear = depth_m / 2, width_m / 2, pitch - thick
    roof = lowest + len(BOARDS) * pitch - thick
    inner_x, inner_y = (-x, x - back), y - thick
    slabs = [
        _slab("shelf_right", (-x, -y, 0.0), (x, -inner_y, roof + thick)),
        _slab("shelf_left", (-x, inner_y, 0.0), (x, y, roof + thick)),
        _slab("shelf_back", (x - back, -inner_y, 0.0), (x, inner_y, roof + thick)),
        _slab("shelf_roof", (-x, -inner_y, roof), (x - back, inner_y, roof + thick)),
    ]
    levels = []
    for name, height in heights.items():
        slabs.append(_slab(name, (-x, -inner_y, height - thick), (x - back, inner_y, height)))
        middle, half = sum(inner_x) / 2, (inner_x[1] - inner_x[0]) / 2
        levels.append(Level(name=name, position_m=(middle, 0.0, height), half_extents_m=(half, inner_y), clear_m=clear))
    return Fitting(name="shelf", position_m=position_m, yaw_rad=yaw_rad, slabs=tuple(slabs), levels=tuple(levels))


# Where they are meant to be: the table 1 m in front of where the robot starts, the shelf at its left, open towards it.
TABLE = _table((1.3, 0.0, 0.0), depth_m=0.6, width_m=0.8, height_m=0.72)
SHELF = _shelf((-0.1, 1.75, 0.0), np.pi / 2, depth_m=0.34, width_m=0.8)
FITTINGS = (TABLE, SHELF)
