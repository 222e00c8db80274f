"""Tasks are found by name, and a wrong name is answered with the right ones."""

from __future__ import annotations

import subprocess
import sys

import pytest

from graspline.errors import InputError
from graspline.tasks.catalogue import TASKS, find_task, listed


def test_every_task_is_found_by_its_own_name() -> None:
    for name, task in TASKS.items():
        assert find_task(name) is task
        assert task.name == name


def test_lists_say_of_every_task_what_it_says_itself() -> None:
    for each in listed():
        task = find_task(each.name)
        assert (each.summary, each.robot) == (task.summary, task.scene(task.parameters()).robot.name)


def test_looking_up_a_task_imports_no_other() -> None:
    program = (
        "import sys\nfrom graspline.tasks.catalogue import TASKS\nassert list(TASKS) and 'tidy' in TASKS\n"
        "print([name for name in ('numpy', 'mujoco') if name in sys.modules])\n"
        "TASKS['lift-cube']\n"
        "print([name for name in ('oranges', 'grab', 'sort', 'tidy') if f'graspline.tasks.{name}.task' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "[]"]


def test_a_misspelt_name_gets_a_hint() -> None:
    with pytest.raises(InputError, match="did you mean 'lift-cube'"):
        find_task("lift-cub")


def test_every_tasks_defaults_build_a_machine() -> None:
    for task in TASKS.values():
        machine = task.machine(task.parameters())
        assert machine.name == task.name
        assert set(machine.successes) <= set(machine.outcomes)
