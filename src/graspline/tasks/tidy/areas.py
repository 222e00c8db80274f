"""Where each object belongs: placement areas by name, from a YAML file."""

from __future__ import annotations

import functools
from importlib import resources
from pathlib import Path

import yaml

from graspline.errors import InputError, one_of
from graspline.perception.solids import UNKNOWN
from graspline.scenes.fittings import BOARDS
from graspline.scenes.household import KNOWN
from graspline.tasks.tidy.parameters import PlacingParameters


def area_of(placing: PlacingParameters, name: str) -> str:
    """The board an object goes to."""
    areas = areas_of(placing.areas_file, placing.area)
    return areas.get(name, areas[UNKNOWN])


@functools.cache
def areas_of(file: str, active: str) -> dict[str, str]:
    """The active set of areas; says what is wrong with a file that cannot be used."""
    where = file or "placement_areas.yaml"
    sets = _read(file, where)
    one_of(active, list(sets), "placing.area")
    areas = sets[active]
    if not isinstance(areas, dict) or UNKNOWN not in areas:
        raise InputError(f"{where}: {active} needs a line for `{UNKNOWN}`, for objects without one of their own")
    for name, board in areas.items():
        one_of(str(name), [*(item.name for item in KNOWN), UNKNOWN], f"{where}: {active}: object")
        one_of(str(board), list(BOARDS), f"{where}: {active}.{name}: area")
    return {str(name): str(board) for name, board in areas.items()}


def _read(file: str, where: str) -> dict[str, object]:
    try:
        if file:
            text = Path(file).read_text(encoding="utf-8")
        else:
            text = resources.files("graspline.tasks.tidy").joinpath("placement_areas.yaml").read_text(encoding="utf-8")
        found = yaml.safe_load(text)
    except OSError as error:
        raise InputError(f"placing.areas_file: cannot read {where}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"placing.areas_file: {where} is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict) or not found:
        raise InputError(f"placing.areas_file: {where} has no sets of areas")
    return {str(name): areas for name, areas in found.items()}
