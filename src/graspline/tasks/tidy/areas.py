"""Where each object belongs: placement areas by name, from a YAML file."""

from __future__ import annotations

from importlib import resources

from graspline.errors import InputError, one_of
from graspline.parameters import Document, load_yaml, parse_yaml
from graspline.perception.solids import UNKNOWN
from graspline.scenes.fittings import BOARDS
from graspline.scenes.household import KNOWN
from graspline.tasks.tidy.parameters import PlacingParameters


def area_of(placing: PlacingParameters, name: str) -> str:
    """The board an object goes to."""
    areas = areas_of(placing.areas_file, placing.area)
    return areas.get(name, areas[UNKNOWN])


def areas_of(file: str, active: str) -> dict[str, str]:
    """The active set of areas; says what is wrong with a file that cannot be used."""
    found = _read(file)
    one_of(active, list(found.values), "placing.area")
    areas = found.values[active]
    if not isinstance(areas, dict) or UNKNOWN not in areas:
        raise InputError(f"{found.name}: {active} needs a line for `{UNKNOWN}`, for objects without one of their own")
    for name, board in areas.items():
        where = f"{found.name}:{found.lines[active, name]}: {active}"
        one_of(name, [*(item.name for item in KNOWN), UNKNOWN], f"{where}: object")
        one_of(str(board), list(BOARDS), f"{where}.{name}: area")
    return {name: str(board) for name, board in areas.items()}


def _read(file: str) -> Document:
    own = resources.files("graspline.tasks.tidy").joinpath("placement_areas.yaml")
    found = load_yaml(file) if file else parse_yaml(own.read_text(encoding="utf-8"), own.name)
    if not found.values:
        raise InputError(f"{found.name}: has no sets of areas")
    return found
