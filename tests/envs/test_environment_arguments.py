"""Arguments of environments, checked together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graspline.envs.environment_arguments import Terms, terms_of
from graspline.errors import InputError
from graspline.tasks.catalogue import TASKS
from graspline.tasks.oranges.parameters import FruitParameters, Oranges

USUAL: dict[str, Any] = {
    "fps": 30,
    "cameras": "none",
    "units": "degrees",
    "parameters": {},
    "max_seconds": 60.0,
    "renderer": "auto",
    "render_mode": None,
}


def terms(**changes: Any) -> Terms:
    return terms_of("oranges", **{**USUAL, **changes})


def test_usual_arguments_mean_usual_parameters() -> None:
    assert terms().parameters == Oranges()


def test_the_time_limit_is_the_tasks_unless_one_is_given() -> None:
    assert terms(max_seconds=None, parameters={"oranges.count": 2}).max_seconds == 80.0
    assert terms(max_seconds=7).max_seconds == 7.0
    limits_s = {name: terms_of(name, **{**USUAL, "max_seconds": None}).max_seconds for name in TASKS}
    assert limits_s == {name: task.policy.time_limit_s(task.parameters()) for name, task in TASKS.items()}


def test_a_program_that_leaves_nothing_to_judge_is_refused() -> None:
    with pytest.raises(InputError, match="program: find_grasp changes nothing that a policy could be judged by"):
        terms_of("tidy", **{**USUAL, "parameters": {"program": "find_grasp"}})


@pytest.mark.parametrize(
    "given",
    [
        {"oranges.count": 2, "oranges.diameter_m": (0.05, 0.06)},
        {"oranges": {"count": 2, "diameter_m": [0.05, 0.06]}},
        {"oranges": {"count": np.int64(2)}, "oranges.diameter_m": np.array([0.05, 0.06])},
    ],
)
def test_parameters_may_be_dotted_nested_or_both(given: dict[str, object]) -> None:
    expected = Oranges(oranges=FruitParameters(count=2, diameter_m=(0.05, 0.06)))  # type: ignore[arg-type]
    assert terms(parameters=given).parameters == expected


def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InputError) as refused:
        terms(
            fps=7,
            cameras={"front": (640, 2)},
            units="rad",
            parameters={"oranges.cuont": 2, "plate.present": "often"},
            max_seconds=-1,
            renderer="opengl",
            render_mode="human",
        )
    told = "\n".join(refused.value.problems)
    for words in ("cuont", "plate.present", "fps: 7", "cameras: front", "units: 'rad'", "max_seconds", "renderer: "):
        assert words in told, told
    assert "render_mode: 'human' is unknown; known: rgb_array" in told


def test_parameters_that_cannot_work_together_are_refused() -> None:
    with pytest.raises(InputError, match="orange"):
        terms(parameters={"targets.choose": "orange_9"})


def test_a_key_that_is_both_a_value_and_a_section_is_refused() -> None:
    with pytest.raises(InputError, match="oranges is given both a value and keys of its own"):
        terms(parameters={"oranges": 3, "oranges.count": 2})


@pytest.mark.parametrize("given", [None, 5, ["front:64x48"]])
def test_cameras_that_are_neither_text_nor_mapping_are_refused(given: object) -> None:
    with pytest.raises(InputError, match="cameras: expected a text such as front:640x480, a mapping"):
        terms(cameras=given)


@pytest.mark.parametrize("given", ["count=2", [1], 5])
def test_parameters_that_are_no_mapping_are_refused(given: object) -> None:
    with pytest.raises(InputError, match="parameters: expected a mapping"):
        terms(parameters=given)


@pytest.mark.parametrize("seconds", [0, -3, 1e9, float("nan"), "long", True])
def test_times_that_are_none_are_refused(seconds: object) -> None:
    with pytest.raises(InputError, match="max_seconds: expected seconds"):
        terms(max_seconds=seconds)


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'oranges'"):
        terms_of("orange", **USUAL)
