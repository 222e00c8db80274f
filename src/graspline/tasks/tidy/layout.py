"""Random rooms: what stands on the table and what on the shelf, and how far both are off their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from graspline.errors import one_of
from graspline.parameters import Range
from graspline.planning.batched_planning import Planning, together
from graspline.scenes.fittings import SHELF, TABLE, Fitting, Level
from graspline.scenes.footprints import ConvexOutline, gap_m, outlines_of, room_m
from graspline.scenes.household import KNOWN, UNKNOWN, UNKNOWN_RGBS, Item, unknown_item
from graspline.scenes.room import Standing, room_start, room_variation
from graspline.scenes.scene import Scene
from graspline.tasks.sampling import RefusalCounter, StopPoint
from graspline.tasks.task import Draw
from graspline.tasks.tidy.parameters import TableParameters

# Tries before the parameters are called impossible, as many as a room counts for in which an item has no place, and
# places tried for one item.
MAX_TRIES = 600
_ROOM_TRIES = 10
MAX_PLACES = 100
# What decides each check.
_DECIDED_BY = {
    "no_room_on_table": "table.count, table.objects, table.gap_m, table.reach_m and table.edge_m",
    "no_room_on_shelf": "table.shelved and table.gap_m",
}
# Items on the shelf stay this far from walls and from the board's front edge.
_BOARD_EDGE_M = 0.02
# Half extents of unknown items: the narrower side, the wider one over it, and the height.
_NARROW_M = Range(0.022, 0.042)
_WIDER = Range(1.0, 1.6)
_HEIGHT_M = Range(0.030, 0.085)
# Higher ones over their narrower side would fall over at a touch.
_SLENDER = 2.5


@dataclass(slots=True, kw_only=True)
class _Surface:
    """A level of a piece of furniture as it fills up; outlines are around the level's middle, along its axes."""

    fitting: Fitting
    level: Level
    # How far items stay from its edges, and how far back from its middle theirs are at most.
    edge_m: float
    farthest_m: float
    outlines: list[tuple[ConvexOutline, ...]] = field(default_factory=list)

    def put(self, item: Item, apart_m: float, random: np.random.Generator) -> Standing | None:
        """The item somewhere, away from what stands there already; None if such a place is not found."""
        half_depth, half_width = self.level.half_extents_m
        for _ in range(MAX_PLACES):
            x, y = random.uniform(-half_depth, self.farthest_m), random.uniform(-half_width, half_width)
            yaw = random.uniform(-np.pi, np.pi)
            outlines = outlines_of(item, x, y, yaw)
            if room_m(outlines, self.level.half_extents_m) < self.edge_m:
                continue
            if all(gap_m(outlines, other) >= apart_m for other in self.outlines):
                self.outlines.append(outlines)
                return self._standing(item, x, y, yaw)
        return None

    def _standing(self, item: Item, x_m: float, y_m: float, yaw_rad: float) -> Standing:
        x, y, z = self.level.position_m
        at = self.fitting.in_world((x + x_m, y + y_m, z + item.half_extents_m[2])).tolist()
        return Standing(item=item, position_m=(at[0], at[1], at[2]), yaw_rad=self.fitting.yaw_rad + yaw_rad)


@together
def sample(parameters: TableParameters, scene: Scene, random: np.random.Generator) -> Planning[Draw]:
    """A room of the scene `room` with items upright on table and shelf, apart from each other."""
    for name in parameters.objects:
        one_of(name, [item.name for item in KNOWN], "table.objects")
    table, shelf = (_off(fitting, parameters, random) for fitting in (TABLE, SHELF))
    tally = RefusalCounter("scene", MAX_TRIES, _DECIDED_BY)
    while True:
        laid, shelved = _choose(parameters, random)
        top, boards = _surfaces(parameters, table, shelf)
        orders = [(top, item) for item in laid]
        orders += [(boards[int(random.integers(len(boards)))], item) for item in shelved]
        standing = _stand(orders, parameters.gap_m, random)
        if len(standing) < len(orders):
            on_table = orders[len(standing)][0] is top
            tally.refuse("no_room_on_table" if on_table else "no_room_on_shelf", _ROOM_TRIES)
            yield StopPoint()
            continue
        described = {"table.count": float(len(laid)), "shelf.count": float(len(shelved))}
        for real, meant in ((table, TABLE), (shelf, SHELF)):
            described |= _offset(real, meant)
        variation = room_variation(standing, (table, shelf), described)
        return Draw(start=room_start(scene, standing), variation=variation, refused=tally.refused)


def _off(fitting: Fitting, parameters: TableParameters, random: np.random.Generator) -> Fitting:
    """The furniture where it really stands."""
    x, y, z = (random.uniform(-each, each) for each in (parameters.shift_m, parameters.shift_m, parameters.sink_m))
    return fitting.moved((x, y, z), random.uniform(-parameters.turn_rad, parameters.turn_rad))


def _offset(real: Fitting, meant: Fitting) -> dict[str, float]:
    offsets = {
        f"{real.name}.{axis}_m": here - there
        for axis, here, there in zip("xyz", real.position_m, meant.position_m, strict=True)
    }
    return {**offsets, f"{real.name}.turn_rad": real.yaw_rad - meant.yaw_rad}


def _choose(parameters: TableParameters, random: np.random.Generator) -> tuple[list[Item], list[Item]]:
    """What stands on the table and what on the shelf."""
    count, shelved = (_whole(each, random) for each in (parameters.count, parameters.shelved))
    wanted = [item for item in KNOWN if item.name in parameters.objects]
    known = [KNOWN[index] for index in random.permutation(len(KNOWN)) if KNOWN[index] not in wanted]
    unknown = [_sample_unknown(UNKNOWN[index], random) for index in random.permutation(len(UNKNOWN))]
    count = max(count, len(wanted))
    chosen = list(wanted)
    while len(chosen) < count + shelved:
        pile = unknown if unknown and (random.random() < parameters.unknown_share or not known) else known
        chosen.append(pile.pop())
    return chosen[:count], chosen[count:]


def _whole(numbers: Range, random: np.random.Generator) -> int:
    return int(random.integers(round(numbers.low), round(numbers.high) + 1))


def _sample_unknown(item: Item, random: np.random.Generator) -> Item:
    """A box or cylinder of another size and colour, broad enough to stand."""
    narrow, height = random.uniform(*_NARROW_M), random.uniform(*_HEIGHT_M)
    wide = narrow * random.uniform(*_WIDER) if item.shape == "box" else narrow
    rgb = UNKNOWN_RGBS[int(random.integers(len(UNKNOWN_RGBS)))]
    return unknown_item(item.name, item.shape, (narrow, wide, min(height, _SLENDER * narrow)), rgb)


def _surfaces(parameters: TableParameters, table: Fitting, shelf: Fitting) -> tuple[_Surface, list[_Surface]]:
    """The table's top and the shelf's boards, empty."""
    (top,) = table.levels
    reach_m = parameters.reach_m - top.half_extents_m[0]
    boards = [
        _Surface(fitting=shelf, level=level, edge_m=_BOARD_EDGE_M, farthest_m=level.half_extents_m[0])
        for level in shelf.levels
    ]
    return _Surface(fitting=table, level=top, edge_m=parameters.edge_m, farthest_m=reach_m), boards


def _stand(orders: Sequence[tuple[_Surface, Item]], apart_m: float, random: np.random.Generator) -> list[Standing]:
    """Items on their surfaces, up to the first that there is no room for."""
    standing: list[Standing] = []
    for surface, item in orders:
        placed = surface.put(item, apart_m, random)
        if placed is None:
            break
        standing.append(placed)
    return standing
