"""Every task by name. A task is imported when it is looked up, not before: listing the names imports none."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, NamedTuple

from graspline.errors import InputError, nearest

if TYPE_CHECKING:
    from graspline.tasks.task import Task


class Listed(NamedTuple):
    """Where a task is defined, `module:NAME` in this folder; and, as they are there, its robot and its summary."""

    place: str
    robot: str
    summary: str


LISTED: dict[str, Listed] = {
    "lift-cube": Listed(
        "lift_cube:LIFT_CUBE",
        "so101",
        "SO-101 picks up a cube of 20 to 40 mm from above, lifts it 60 mm and holds it still",
    ),
    "oranges": Listed(
        "oranges.task:ORANGES",
        "so101",
        "SO-101 puts oranges of 50 to 70 mm on a plate, each in a free spot of its own",
    ),
    "grab": Listed(
        "grab.task:GRAB",
        "so101",
        "SO-101 picks the block, can or fruit you choose straight from above and puts it down again",
    ),
    "sort": Listed(
        "sort.task:SORT",
        "ur5e",
        "UR5e catches blocks on a moving belt, guided by a camera, and sorts them onto one belt per colour",
    ),
    "tidy": Listed(
        "tidy.task:TIDY",
        "hsr",
        "mobile manipulator finds objects on a table, picks them up, and puts them on a shelf or into a hand",
    ),
}


class Catalogue(MutableMapping[str, "Task[Any]"]):
    """Tasks by name, each imported when it is looked up. A task that is set comes before a listed one."""

    def __init__(self, listed: dict[str, Listed]) -> None:
        self._listed = listed
        self._loaded: dict[str, Task[Any]] = {}

    def __getitem__(self, name: str) -> Task[Any]:
        if name not in self._loaded:
            module, _, attribute = self._listed[name].place.partition(":")
            self._loaded[name] = getattr(importlib.import_module(f"graspline.tasks.{module}"), attribute)
        return self._loaded[name]

    def __setitem__(self, name: str, task: Task[Any]) -> None:
        self._loaded[name] = task

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    # Without this, asking for a name would import its task.
    def __contains__(self, name: object) -> bool:
        return name in self._listed or name in self._loaded

    def __iter__(self) -> Iterator[str]:
        return iter({**self._listed, **self._loaded})

    def __len__(self) -> int:
        return len({**self._listed, **self._loaded})


TASKS = Catalogue(LISTED)


def find_task(name: str) -> Task[Any]:
    if name not in TASKS:
        raise InputError(f"unknown task {name!r}; {nearest(name, TASKS)}")
    return TASKS[name]
