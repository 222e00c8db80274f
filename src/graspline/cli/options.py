"""Options that commands share, and how they become parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

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


def task_and_parameters(name: str, config: Path | None, settings: list[str] | None) -> tuple[Task[Any], Parameters]:
    """The task by name, and its parameters from defaults, file and `--set`, later ones winning."""
    task = find_task(name)
    document = load_yaml(config) if config is not None else None
    return task, build(task.parameters, document, settings or ())
