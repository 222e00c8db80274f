"""`graspline tasks`, `config`, `diagram` and `region`: what there is, before anything moves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from graspline.cli.interrupts import stopping
from graspline.cli.options import Config, Settings, TaskName, offering, task_and_parameters
from graspline.cli.outputs import check_name, make_folder, tell_saved, write_whole
from graspline.cli.progress import Progress
from graspline.episodes.region import draw_region, refusals, survey
from graspline.episodes.statistics import rate_text
from graspline.errors import InputError
from graspline.machine.diagram import mermaid, svg_sheet
from graspline.parameters import describe
from graspline.parameters.notation import printable
from graspline.tasks.catalogue import TASKS, find_task

# Names that a diagram may end in: a picture, or text.
_DIAGRAMS = (".svg", ".mmd", ".md", ".txt")


def tasks() -> None:
    """List the tasks.

    \b
    Example:
      graspline tasks
    """
    width = max(len(name) for name in TASKS)
    for name, task in TASKS.items():
        print(f"{name:<{width}}  {task.summary}")


def config(task: TaskName, config: Config = None, settings: Settings = None) -> None:
    """Print every parameter of a task as YAML.

    With meaning, unit and range; `run --config` reads it back.

    \b
    Examples:
      graspline config lift-cube > lift.yaml
      graspline config lift-cube --set reach.lift_m=0.08
    """
    _, parameters = task_and_parameters(task, config, settings)
    print(describe(parameters), end="")


def diagram(
    task: TaskName,
    form: Annotated[
        Literal["mermaid", "svg"] | None,
        typer.Option("--format", metavar="mermaid|svg", help="Text for Mermaid (the default), or a picture."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to a file; .svg chooses the picture.")] = None,
    config: Config = None,
    settings: Settings = None,
) -> None:
    """Draw a task's machine from its table.

    States, outcomes, and retries with their budgets.

    \b
    Examples:
      graspline diagram lift-cube
      graspline diagram lift-cube --out lift.svg
    """

    def check(_: object) -> None:
        if out is not None:
            check_name("--out", out)
            if form is None and out.suffix not in _DIAGRAMS:
                raise InputError(f"--out {printable(str(out))}: expected a name that ends in {', '.join(_DIAGRAMS)}")

    found, parameters = task_and_parameters(task, config, settings, check)
    machine = found.machine(parameters)
    picture = form == "svg" or (form is None and out is not None and out.suffix == ".svg")
    drawn = svg_sheet(machine) if picture else mermaid(machine)
    if out is None:
        print(drawn, end="")
    else:
        make_folder("--out", out.parent)
        write_whole(out, drawn)
        tell_saved(out)


def region(
    task: TaskName,
    draws: Annotated[int, typer.Option(min=10, max=1_000_000, metavar="N", help="Random poses to plan.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the poses.")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="FILE.svg", help="Draw the region.")] = None,
    config: Config = None,
    settings: Settings = None,
) -> None:
    """Say where a task's object can be grasped.

    Prints the share of the reachable ring that the planner certifies, and why it refuses the rest.

    \b
    Example:
      graspline region lift-cube --out region.svg
    """
    offering("region", "probe")(find_task(task))
    found, parameters = task_and_parameters(
        task, config, settings, lambda _: out is None or check_name("--out", out, ".svg")
    )
    if out is not None:
        make_folder("--out", out.parent)
    with stopping() as stop, Progress("poses", draws) as shown:
        probes = []
        for probe in survey(found, parameters, draws, seed):
            probes.append(probe)
            shown.advance()
            if stop():
                raise KeyboardInterrupt
    certified = sum(probe.certified for probe in probes)
    print(f"graspable: {rate_text(certified, draws)} of random poses within reach")
    for reason, count in refusals(probes):
        print(f"  rejected for {reason}: {100 * count / draws:.1f} %")
    if out is not None:
        write_whole(out, draw_region(probes))
        tell_saved(out)
