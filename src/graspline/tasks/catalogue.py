"""Every task by name."""

from __future__ import annotations

from typing import Any

from graspline.errors import InputError, nearest
from graspline.tasks.grab.task import GRAB
from graspline.tasks.lift_cube import LIFT_CUBE
from graspline.tasks.oranges.task import ORANGES
from graspline.tasks.sort.task import SORT
from graspline.tasks.task import Task
from graspline.tasks.tidy.task import TIDY

TASKS: dict[str, Task[Any]] = {task.name: task for task in (LIFT_CUBE, ORANGES, GRAB, SORT, TIDY)}


def find_task(name: str) -> Task[Any]:
    if name not in TASKS:
        raise InputError(f"unknown task {name!r}; {nearest(name, TASKS)}")
    return TASKS[name]
