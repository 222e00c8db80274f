"""A room of solids for a mobile robot: a table on legs, a shelf with boards, and walls."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.hsr import ranked, solve
from graspline.perception.core.beliefs import Belief, Shape
from graspline.spatial.rotations import multiply, rotation_x, rotation_z

Array = NDArray[np.float64]

# The table's middle, and the shelf's; the table's top is 0.72 m high, and the shelf is open towards -y.
TABLE_M = np.array([1.3, 0.0, 0.72])
SHELF_M = np.array([0.2, 2.2])
BOARDS_M = (0.02, 0.40, 0.80, 1.20)


def solid(
    name: str,
    position_m: tuple[float, float, float],
    half_extents_m: tuple[float, float, float],
    shape: Shape = "box",
) -> Belief:
    return Belief(
        name=name,
        shape=shape,
        position_m=np.array(position_m, float),
        quaternion=np.array([1.0, 0.0, 0.0, 0.0]),
        half_extents_m=np.array(half_extents_m, float),
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
    )


def table() -> list[Belief]:
    x, y, top = TABLE_M
    legs = [(x + 0.27 * i, y + 0.47 * j, 0.345) for i in (-1, 1) for j in (-1, 1)]
    return [
        solid("table", (x, y, top - 0.015), (0.3, 0.5, 0.015)),
        *(solid("leg", leg, (0.02, 0.02, 0.345)) for leg in legs),
    ]


def shelf() -> list[Belief]:
    x, y = SHELF_M
    return [
        *(solid("board", (x, y, top - 0.01), (0.45, 0.175, 0.01)) for top in BOARDS_M),
        *(solid("side", (x + side * 0.46, y, 0.62), (0.01, 0.175, 0.62)) for side in (-1, 1)),
        solid("back", (x, y + 0.18, 0.62), (0.45, 0.005, 0.62)),
    ]


def walls() -> list[Belief]:
    return [
        solid("wall", (2.2, 0.5, 1.0), (0.05, 3.0, 1.0)),
        solid("wall", (-1.8, 0.5, 1.0), (0.05, 3.0, 1.0)),
        solid("wall", (0.2, -1.6, 1.0), (2.0, 0.05, 1.0)),
        solid("wall", (0.2, 2.6, 1.0), (2.0, 0.05, 1.0)),
    ]


def room() -> list[Belief]:
    return [*table(), *shelf(), *walls()]


def level(heading_rad: float) -> Array:
    """A hand that points along this heading and opens sideways."""
    return multiply(rotation_z(heading_rad), rotation_x(np.pi / 2))


def reaching(tool_m: Array, rotation: Array, start: Array) -> Array:
    """(K, nu): all joints that bring the tool there, nearest to the start first."""
    postures = ranked(solve(tool_m[None], rotation), 0, start)
    rows = np.repeat(start[None], len(postures), axis=0)
    rows[:, : postures.shape[1]] = postures
    return rows
