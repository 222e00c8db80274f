"""What decides a dataset's contents: read, refused in words, compared."""

from __future__ import annotations

import dataclasses
import json

import pytest

from graspline.datasets.settings import DatasetSettings, View, check_fps, differences, parse_views, settings_of
from graspline.errors import InputError
from graspline.scenes.cube_table import cube_table
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube

from .conftest import cube_settings


def test_views_are_read_in_the_order_they_are_given() -> None:
    views = parse_views("wrist:320x240, front:640x480", cube_table())
    assert views == (View("wrist", 320, 240), View("front", 640, 480))
    assert [str(view) for view in views] == ["wrist:320x240", "front:640x480"]
    assert views[0].key == "observation.images.wrist"


def test_none_is_no_view() -> None:
    assert parse_views("none", cube_table()) == ()


@pytest.mark.parametrize(
    "text, words",
    [
        ("frnt:64x48", ["no camera 'frnt'", "did you mean 'front'?", "wrist"]),
        ("front", ["NAME:WIDTHxHEIGHT", "'front'"]),
        ("front:64", ["NAME:WIDTHxHEIGHT"]),
        ("", ["NAME:WIDTHxHEIGHT"]),
        ("front:63x48", ["front:63x48", "even"]),
        ("front:64x47", ["front:64x47", "even"]),
        ("front:8x8", ["from 16 to 4096 pixels"]),
        ("front:5000x48", ["from 16 to 4096 pixels"]),
        ("front:64x48,front:32x32", ["front is named twice"]),
    ],
)
def test_a_bad_view_says_what_is_expected(text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as raised:
        parse_views(text, cube_table())
    (problem,) = raised.value.problems
    assert problem.startswith("--cameras: ")
    for word in words:
        assert word in problem


def test_all_bad_views_are_named_at_once() -> None:
    with pytest.raises(InputError) as raised:
        parse_views("frnt:64x48,wrist:63x48,x", cube_table())
    assert len(raised.value.problems) == 3


@pytest.mark.parametrize("fps", [60, 30, 20, 15, 10, 1])
def test_a_rate_that_divides_the_control_rate_is_taken(fps: int) -> None:
    check_fps(fps, 60)


@pytest.mark.parametrize("fps", [25, 0, -30, 120, 7])
def test_a_rate_between_ticks_is_refused_with_those_that_fit(fps: int) -> None:
    with pytest.raises(InputError, match=f"--fps: {fps} does not divide .* 60 Hz; use 60, 30, 20, 15, 12, 10"):
        check_fps(fps, 60)


def test_settings_survive_a_file() -> None:
    settings = cube_settings(faults=("drop@lift+0.3",), keep="all", seed=5)
    assert DatasetSettings.from_dict(json.loads(json.dumps(settings.as_dict()))) == settings


def test_a_scenario_is_played_with_the_parameters_of_the_settings() -> None:
    parameters = LiftCube.model_validate({"reach": {"lift_m": 0.1}})
    scenario = settings_of(LIFT_CUBE, parameters, faults=("drop@lift",)).scenario(7)
    assert (scenario.seed, scenario.parameters, scenario.faults) == (7, parameters, ("drop@lift",))


def test_equal_settings_do_not_differ() -> None:
    assert differences(cube_settings(), cube_settings()) == []


def test_differences_are_named_one_by_one_parameters_by_their_dotted_names() -> None:
    changed = settings_of(LIFT_CUBE, LiftCube.model_validate({"reach": {"lift_m": 0.1}}), fps=30)
    found = differences(cube_settings(views=()), dataclasses.replace(changed, renderer="rays"))
    assert found == [
        "fps: the dataset has 10, asked for 30",
        f"parameters.reach.lift_m: the dataset has {LiftCube().reach.lift_m}, asked for 0.1",
    ]
