"""`graspline tasks`, `config`, `diagram` and `region`: what there is, before anything moves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from graspline.cli.options import Config, Settings, TaskName, task_and_parameters
from graspline.episodes.region import draw_region, refusals, survey
from graspline.episodes.statistics import rate_text
from graspline.errors import InputError
from graspline.machine.diagram import mermaid, svg
from graspline.parameters import describe
from graspline.tasks.catalogue import TASKS


def tasks() -> None:
    """List the tasks.

    Example: graspline tasks
    """
    width = max(len(name) for name in TASKS)
    for name, task in TASKS.items():
        print(f"{name:<{width}}  {task.summary}")


def config(task: TaskName, config: Config = None, settings: Settings = None) -> None:
    """Print every parameter of a task as YAML, with its meaning, unit and range; `run --config` reads it back.

    Examples:

      graspline config lift-cube > lift.yaml

      graspline config lift-cube --set reach.lift_m=0.08
    """
    _, parameters = task_and_parameters(task, config, settings)
    print(describe(parameters), end="")


def diagram(
    task: TaskName,
    form: Annotated[
        Literal["mermaid", "svg"], typer.Option("--format", help="Text for Mermaid, or a picture.")
    ] = "mermaid",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to a file; .svg chooses the picture.")] = None,
) -> None:
    """Draw a task's machine from its table: states, outcomes, retries with their budgets.

    Examples:

      graspline diagram lift-cube

      graspline diagram lift-cube --out lift.svg
    """
    found, parameters = task_and_parameters(task, None, None)
    machine = found.machine(parameters)
    drawn = svg(machine) if form == "svg" or (out is not None and out.suffix == ".svg") else mermaid(machine)
    if out is None:
        print(drawn, end="")
    else:
        _write(out, drawn)


def region(
    task: TaskName,
    draws: Annotated[int, typer.Option(min=10, max=1_000_000, help="Random poses to plan.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first pose.")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="FILE.svg", help="Draw the region.")] = None,
    settings: Settings = None,
) -> None:
    """Say where a task's object can be grasped: the share of the reachable ring that the planner certifies.

    Example: graspline region lift-cube --out region.svg
    """
    found, parameters = task_and_parameters(task, None, settings)
    probes = survey(found, parameters, draws, seed)
    certified = sum(probe.certified for probe in probes)
    print(f"certified {rate_text(certified, draws)} of random poses in the ring the arm reaches")
    for reason, count in refusals(probes):
        print(f"  refused for {reason}: {100 * count / draws:.1f} %")
    if out is not None:
        _write(out, draw_region(probes))
        print(f"drawn: {out}", file=sys.stderr)


def _write(path: Path, text: str) -> None:
    if path.is_dir():
        raise InputError(f"--out {path}: is a directory, expected a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
