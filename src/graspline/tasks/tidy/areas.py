"""Where each object belongs: placement areas, boards of the shelf or rectangles on them, from a YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Literal

from pydantic import Field, ValidationError

from graspline.errors import InputError, one_of
from graspline.parameters import Document, Parameters, Range, Value, load_yaml, parse_yaml
from graspline.parameters.problems import Origins, explain
from graspline.perception.core.beliefs import UNKNOWN
from graspline.scenes.fittings import BOARDS, SHELF, Level
from graspline.scenes.household import KNOWN
from graspline.tasks.tidy.parameters import PlacingParameters

# The key that defines areas; all others are sets of areas.
AREAS = "areas"
_DEEP_M, _HALF_WIDE_M = 2 * SHELF.levels[0].half_extents_m[0], SHELF.levels[0].half_extents_m[1]
# On less nothing can be put.
_LEAST_M = 0.05


class Rectangle(Parameters):
    """A rectangle on a board, as one stands before the shelf."""

    board: Literal["board_low", "board_middle", "board_high"] = Field(description="the board it is on")
    depth_m: Range = Field(
        default=Range(0.0, _DEEP_M), ge=0, le=_DEEP_M, description="how far behind the board's front edge"
    )
    across_m: Range = Field(
        default=Range(-_HALF_WIDE_M, _HALF_WIDE_M),
        ge=-_HALF_WIDE_M,
        le=_HALF_WIDE_M,
        description="how far to the left of the board's middle; to the right is negative",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A named part of a board that things are put on, as a level of the shelf that has the board's name."""

    name: str
    level: Level

    @property
    def board(self) -> str:
        """The board that the area is on."""
        return self.level.name

    @property
    def least_side_m(self) -> float:
        """The shorter side of the board."""
        return 2 * min(self.level.half_extents_m)


def area_of(placing: PlacingParameters, name: str) -> Area:
    """The area an object goes to."""
    areas = areas_of(placing.areas_file, placing.area)
    return areas.get(name, areas[UNKNOWN])


def areas_of(file: str, active: str) -> dict[str, Area]:
    """The active set of areas by object; says what is wrong with a file that cannot be used."""
    found = _read(file)
    defined = _defined(found)
    one_of(active, [name for name in found.values if name != AREAS], "placing.area")
    areas = found.values[active]
    if not isinstance(areas, dict) or UNKNOWN not in areas:
        raise InputError(f"{found.name}: {active} needs a line for `{UNKNOWN}`, for objects that have no line")
    for name, area in areas.items():
        where = f"{found.name}:{found.lines[active, name]}: {active}"
        one_of(name, [*(item.name for item in KNOWN), UNKNOWN], f"{where}: object")
        one_of(str(area), list(defined), f"{where}.{name}: area")
    return {name: defined[str(area)] for name, area in areas.items()}


def _read(file: str) -> Document:
    own = resources.files("graspline.tasks.tidy").joinpath("placement_areas.yaml")
    found = load_yaml(file) if file else parse_yaml(own.read_text(encoding="utf-8"), own.name)
    if not set(found.values) - {AREAS}:
        raise InputError(f"{found.name}: has no sets of areas")
    return found


def _defined(found: Document) -> dict[str, Area]:
    """Every area that may be named: the boards, and those that the file defines."""
    areas = {name: Area(name=name, level=SHELF.level(name)) for name in BOARDS}
    defined = found.values.get(AREAS) or {}
    if not isinstance(defined, dict):
        raise InputError(f"{found.name}:{found.lines[AREAS,]}: {AREAS}: expected names of areas, each with its board")
    for name, keys in defined.items():
        where = f"{found.name}:{found.lines[AREAS, name]}: {AREAS}.{name}"
        if name in BOARDS:
            raise InputError(f"{where}: this is the name of a board; give the area another name")
        if not isinstance(keys, dict):
            raise InputError(f"{where}: expected the keys {', '.join(Rectangle.model_fields)}")
        areas[name] = Area(name=name, level=_level(_rectangle(found, name, keys), where))
    return areas


def _rectangle(found: Document, name: str, keys: Mapping[str, Value]) -> Rectangle:
    """One definition, its problems reported with the lines of the whole file."""
    at = {
        path[2:]: f"{found.name}:{line}: {AREAS}.{name}"
        for path, line in found.lines.items()
        if path[:2] == (AREAS, name)
    }
    try:
        return Rectangle.model_validate(keys)
    except ValidationError as error:
        raise InputError(explain(error, Rectangle, Origins(root=at.pop(()), at=at))) from None


def _level(asked: Rectangle, where: str) -> Level:
    """The rectangle as a level of the shelf, in its frame."""
    for key, side in (("depth_m", asked.depth_m), ("across_m", asked.across_m)):
        if side.high - side.low < _LEAST_M - 1e-9:
            raise InputError(
                f"{where}.{key}: from {side.low:g} to {side.high:g} m there is no room for an object; "
                f"expected at least {_LEAST_M:g} m"
            )
    board = SHELF.level(asked.board)
    x, y, z = board.position_m
    front = x - board.half_extents_m[0]
    middle = (front + (asked.depth_m.low + asked.depth_m.high) / 2, y + (asked.across_m.low + asked.across_m.high) / 2)
    half = (asked.depth_m.high - asked.depth_m.low) / 2, (asked.across_m.high - asked.across_m.low) / 2
    return replace(board, position_m=(*middle, z), half_extents_m=half)
