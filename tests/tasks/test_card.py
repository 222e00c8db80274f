"""How tasks show themselves."""

from __future__ import annotations

import pytest

from graspline.parameters import dump
from graspline.parameters.describing import entries_of
from graspline.tasks.catalogue import TASKS


@pytest.mark.parametrize("name", TASKS)
def test_a_task_prints_in_one_line(name: str) -> None:
    assert repr(TASKS[name]) == f"<Task {name}: {TASKS[name].summary}>"


@pytest.mark.parametrize("name", TASKS)
def test_a_card_has_every_outcome_and_every_parameter(name: str) -> None:
    task = TASKS[name]
    shown, parameters = task._repr_html_(), task.parameters()
    for outcome in task.machine(parameters).outcomes:
        assert outcome in shown
    entries = list(entries_of(parameters))
    assert len(entries) == len({each.key for each in entries})
    for entry in entries:
        assert f">{entry.key}<" in shown


def test_parameters_are_named_as_assignments_name_them() -> None:
    parameters = TASKS["lift-cube"].parameters()
    entry = next(each for each in entries_of(parameters) if each.key == "reach.lift_m")
    plain = dump(parameters)
    assert isinstance(plain, dict)
    reach = plain["reach"]
    assert isinstance(reach, dict)
    assert entry.value == str(reach["lift_m"])
    assert entry.meaning.startswith("how far the object is raised (0.02 to 0.15, metres)")
