"""Tasks are found by name, and a wrong name is answered with the right ones."""

from __future__ import annotations

import pytest

from graspline.errors import InputError
from graspline.tasks.catalogue import TASKS, find_task


def test_every_task_is_found_by_its_own_name() -> None:
    for name, task in TASKS.items():
        assert find_task(name) is task
        assert task.name == name
        assert task.summary


def test_a_misspelt_name_gets_a_hint() -> None:
    with pytest.raises(InputError, match="did you mean 'lift-cube'"):
        find_task("lift-cub")


def test_every_tasks_defaults_build_a_machine() -> None:
    for task in TASKS.values():
        machine = task.machine(task.parameters())
        assert machine.name == task.name
        assert set(machine.successes) <= set(machine.outcomes)
