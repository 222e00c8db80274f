"""What decides a dataset's contents: read, refused in words, compared."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from graspline.datasets.format.index import info_of
from graspline.datasets.format.settings import DatasetSettings, differences, options_to_continue, settings_of
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube

from ..conftest import cube_settings


def test_settings_survive_a_file() -> None:
    settings = cube_settings(faults=("drop@lift+0.3",), keep="all", seed=5)
    assert DatasetSettings.from_dict(json.loads(json.dumps(settings.as_dict()))) == settings


@pytest.mark.parametrize("certify", [True, False])
def test_the_engine_survives_a_file(certify: bool) -> None:
    settings = cube_settings(engine="gpu", certify=certify, renderer="warp")
    again = DatasetSettings.from_dict(json.loads(json.dumps(settings.as_dict())))
    assert again == settings
    assert (again.engine, again.certified) == ("gpu", certify)


def test_settings_that_name_no_engine_are_of_the_cpu() -> None:
    plain = cube_settings().as_dict()
    del plain["engine"], plain["certify"]
    settings = DatasetSettings.from_dict(plain)
    assert settings == cube_settings()
    assert settings.engine == "cpu"
    assert not settings.certified


@pytest.mark.parametrize(
    "name, value", [("engine", "tpu"), ("engine", ""), ("engine", None), ("certify", "yes"), ("certify", 1)]
)
def test_another_engine_is_refused_by_its_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} is {value!r}"):
        DatasetSettings.from_dict({**cube_settings().as_dict(), name: value})


def test_a_dataset_of_one_engine_does_not_go_on_with_another() -> None:
    found = differences(cube_settings(), cube_settings(engine="gpu", certify=False))
    assert found == [
        "certify: the dataset has True, asked for False",
        "engine: the dataset has cpu, asked for gpu",
    ]


def test_a_scenario_is_played_with_the_parameters_of_the_settings() -> None:
    parameters = LiftCube.model_validate({"reach": {"lift_m": 0.1}})
    scenario = settings_of(LIFT_CUBE, parameters, faults=("drop@lift",)).scenario(7)
    assert (scenario.seed, scenario.parameters, scenario.faults) == (7, parameters, ("drop@lift",))


def test_equal_settings_do_not_differ() -> None:
    assert differences(cube_settings(), cube_settings()) == []


def test_options_that_continue_a_dataset_are_given_where_they_are_enough() -> None:
    made = cube_settings(fps=10, views=())
    assert options_to_continue(made, cube_settings(fps=10, views=())) == ""
    assert options_to_continue(made, cube_settings(fps=30, views=())) == "--fps 10"
    assert options_to_continue(made, cube_settings(fps=10, views=(), engine="gpu")) == ""
    assert options_to_continue(made, cube_settings(fps=10)) == "--cameras none"


def test_differences_are_named_one_by_one_parameters_by_their_dotted_names() -> None:
    changed = settings_of(LIFT_CUBE, LiftCube.model_validate({"reach": {"lift_m": 0.1}}), fps=30)
    found = differences(cube_settings(views=()), dataclasses.replace(changed, renderer="rays"))
    assert found == [
        "fps: the dataset has 10, asked for 30",
        f"parameters.reach.lift_m: the dataset has {LiftCube().reach.lift_m}, asked for 0.1",
    ]


def test_a_dataset_does_not_go_on_with_a_robot_whose_files_have_changed() -> None:
    made = cube_settings()
    assert made.robot_digest == ""
    begun, now = (dataclasses.replace(made, robot_digest=digest) for digest in ("a", "b"))
    assert differences(begun, now) == ["robot: its description or model is not what it was when the dataset was begun"]
    # Datasets of older versions say nothing about it.
    assert differences(made, now) == []
    assert DatasetSettings.from_dict(begun.as_dict()) == begun
    older = made.as_dict()
    del older["robot_digest"]
    assert DatasetSettings.from_dict(older) == made


def test_a_robot_may_be_called_as_older_loaders_call_it() -> None:
    assert cube_settings().robot_type == "so_follower"
    older = settings_of(LIFT_CUBE, LiftCube(), robot_type="so101_follower")
    assert info_of(older, LIFT_CUBE.scene(LiftCube()), 1, 1, 1)["robot_type"] == "so101_follower"
