from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError

from graspline.errors import WiringError
from graspline.parameters import Parameters, load

from .samples import Cube, Scene, Task


def test_parameters_are_frozen_and_hashable() -> None:
    task = Task()
    with pytest.raises(ValidationError):
        task.retries = 3  # pyright: ignore[reportAttributeAccessIssue]
    assert hash(task) == hash(Task())


def test_a_whole_number_is_taken_as_a_float() -> None:
    mass = load(Cube, {"mass_kg": 1}).mass_kg
    assert isinstance(mass, float)


@pytest.mark.parametrize(
    "key, value",
    [
        ("mass_kg", True),
        ("mass_kg", "0.1"),
        ("mass_kg", float("nan")),
        ("mass_kg", float("inf")),
        ("centre_m", [0, 0, float("nan")]),
        ("weights", [True]),
        ("friction", [0, float("inf")]),
        ("colour", "purple"),
        ("size_m", 1),
    ],
)
def test_nothing_is_converted_silently(key: str, value: object) -> None:
    with pytest.raises(ValidationError):
        Cube.model_validate({key: value})


def test_a_bad_default_is_found_when_it_is_used() -> None:
    class Wrong(Parameters):
        edge_m: float = Field(default=0.5, le=0.1)

    with pytest.raises(ValidationError):
        Wrong()


def test_a_section_given_in_part_keeps_the_rest_of_its_default() -> None:
    scene = Scene.model_validate({"heavy": {"edge_m": 0.04}})
    assert (scene.heavy.edge_m, scene.heavy.mass_kg) == (0.04, 0.5)


def test_a_section_within_a_section_keeps_the_rest_of_the_outer_default() -> None:
    class Room(Parameters):
        scene: Scene = Scene(cube=Cube(mass_kg=0.7))

    assert Room.model_validate({"scene": {"cube": {"edge_m": 0.04}}}).scene.cube.mass_kg == 0.7


def test_a_section_default_made_from_other_fields_is_not_made_from_wrong_ones() -> None:
    class Room(Parameters):
        mass_kg: float = Field(default=0.1, le=1)
        cube: Cube = Field(default_factory=lambda data: Cube(mass_kg=data["mass_kg"]))

    assert Room.model_validate({"mass_kg": 0.3}).cube.mass_kg == 0.3
    with pytest.raises(ValidationError):
        Room.model_validate({"mass_kg": 3, "cube": {"edge_m": 0.04}})


class Foreign(BaseModel):
    pass


@pytest.mark.parametrize(
    "kind", [list[str], dict[str, float], complex, float | str, tuple[Cube, Cube], tuple, Foreign, tuple[Foreign, ...]]
)
def test_a_field_that_yaml_cannot_hold_is_refused_where_it_is_defined(kind: Any) -> None:
    with pytest.raises(WiringError, match=r"Wrong\.field: "):
        type("Wrong", (Parameters,), {"__annotations__": {"field": kind}, "__module__": __name__})


def test_bounds_on_a_list_are_refused_where_they_are_defined() -> None:
    with pytest.raises(WiringError, match="bounds on a list"):

        class Wrong(Parameters):
            ends_m: tuple[float, float] = Field(default=(0, 1), ge=0)


def test_a_second_name_for_a_key_is_refused_where_it_is_defined() -> None:
    with pytest.raises(WiringError, match="has an alias"):

        class Wrong(Parameters):
            edge_m: float = Field(default=0, alias="edge")
