"""Options that commands share, and how they become parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from graspline.episodes.faults import FAULTS
from graspline.errors import InputError
from graspline.parameters import Parameters, build, load_yaml
from graspline.tasks.catalogue import find_task
from graspline.tasks.task import Task

TaskName = Annotated[str, typer.Argument(metavar="TASK", help="A task; `graspline tasks` lists them.")]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="YAML file of parameters, as `graspline config` prints."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set one parameter, such as jaw.standoff_m=0.04; repeatable."),
]


def task_and_parameters(
    name: str,
    config: Path | None,
    settings: list[str] | None,
    *checks: Callable[[Task[Any]], object],
) -> tuple[Task[Any], Parameters]:
    """The task by name, and its parameters from defaults, file and `--set`, later ones winning.

    Problems that `checks` find in other options are raised together with those of the parameters.
    """
    task = find_task(name)

    def built() -> Parameters:
        document = load_yaml(config) if config is not None else None
        return _feasible(task, build(task.parameters, document, settings or ()))

    parameters, *_ = _together(
        built,
        *(lambda check=check: check(task) for check in checks),
    )
    return task, parameters


def equipped(task: Task[Any], parameters: Parameters, faults: Iterable[str]) -> Parameters:
    """Parameters of a scene in which these faults find what they need."""
    return task.equipped(parameters) if any(FAULTS[name].needs == "strangers" for name in faults) else parameters


def _feasible(task: Task[Any], parameters: Parameters) -> Parameters:
    problems = task.problems(parameters)
    if problems:
        raise InputError(problems)
    return parameters


def _together(*parts: Callable[[], Any]) -> list[Any]:
    results, problems = [], []
    for part in parts:
        try:
            results.append(part())
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return results
