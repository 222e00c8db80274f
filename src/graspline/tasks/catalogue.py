"""Every task by name, ours and those of other distributions; see `graspline.registry`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from graspline.errors import GrasplineError
from graspline.registry import Origin, Registry

if TYPE_CHECKING:
    from graspline.tasks.task import Task

# Lower-case words joined by hyphens.
TASK_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
TASKS: Registry[Task[Any]] = Registry("graspline.tasks", "task", "graspline.tasks.task:Task")
"""Every installed task by name; a task is imported when it is looked up.

Tasks of other distributions are entry points of the group `graspline.tasks`.

>>> from graspline import TASKS
>>> "lift-cube" in TASKS
True
>>> TASKS["lift-cube"].robot
'so101'
"""


class TaskEntry(NamedTuple):
    """A task as lists show it."""

    name: str
    summary: str
    # The name of its robot; empty if only importing the task would tell.
    robot: str = ""


def find_task(named: str) -> Task[Any]:
    """The task of this name, or at this place `module:NAME`.

    Raises `InputError` if there is none, with the nearest name.

    >>> from graspline import find_task
    >>> find_task("graspline.tasks.lift_cube:LIFT_CUBE") is find_task("lift-cube")
    True
    >>> find_task("lift-cub")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    InputError: unknown task 'lift-cub'; did you mean 'lift-cube'? known: …
    """
    return TASKS.find(named)


def origin_of(task: Task[Any]) -> Origin:
    """Where other processes, and readers of a dataset, find a task again."""
    makers = (task.parameters, task.machine, task.scene, task.sample, task.inputs, task.goal)
    modules = dict.fromkeys(str(getattr(each, "__module__", "")) for each in makers)
    return TASKS.origin_of(task.name, task, tuple(modules))


def listed() -> list[TaskEntry]:
    """Every installed task; one that has to be imported for its summary and cannot be says why instead."""
    return [_listed(name) for name in TASKS]


def _listed(name: str) -> TaskEntry:
    try:
        known = TASKS.literals(name)
        if "summary" in known or "sentence" in known:
            return TaskEntry(name, known.get("summary") or known["sentence"], known.get("robot", ""))
        return TaskEntry(name, TASKS[name].summary)
    except GrasplineError as error:
        return TaskEntry(name, f"cannot be used: {error}")
