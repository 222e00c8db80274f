"""How the robot sees table and boards: head camera with depth, from where its joints say the camera is."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.execution.requests import Reply, Request
from graspline.perception.solids import Solid
from graspline.tasks.tidy.house import House

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableSeen:
    """Things on the table, and the room with the table where it was seen."""

    things: tuple[Solid, ...]
    house: House


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoardSeen:
    """A board of the shelf as it was seen."""

    name: str
    # The middle of its surface, its heading (x points to its back) and half of its depth and width.
    middle_m: Array
    yaw_rad: float
    half_m: tuple[float, float]
    things: tuple[Solid, ...]

    def free(self, radius_m: float, margin_m: float) -> tuple[Array, ...]:
        """Places, (3,) each, where something of this radius fits, the farthest from the front first."""
        cosine, sine = np.cos(self.yaw_rad), np.sin(self.yaw_rad)
        found = []
        step = 0.05
        deep, wide = (half - radius_m - margin_m for half in self.half_m)
        if deep < 0 or wide < 0:
            return ()
        for x in np.arange(deep, -deep - 1e-9, -step):
            for y in sorted(np.arange(-wide, wide + 1e-9, step), key=abs):
                place = self.middle_m + np.array([cosine * x - sine * y, sine * x + cosine * y, 0.0])
                clear = [np.linalg.norm(place[:2] - each.position_m[:2]) - _reach(each) for each in self.things]
                if min(clear, default=np.inf) > radius_m + margin_m:
                    found.append(place)
        return tuple(found)


def _reach(solid: Solid) -> float:
    half = solid.half_extents_m
    return float(np.hypot(half[0], half[1]) if solid.shape == "box" else half[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Eye:
    """The head's camera and what is made of its pictures."""

    def table(self, last: Reply, house: House) -> Generator[Request, Reply, TableSeen | None]:
        raise NotImplementedError
        yield

    def board(self, last: Reply, house: House, board: str) -> Generator[Request, Reply, BoardSeen | None]:
        raise NotImplementedError
        yield
