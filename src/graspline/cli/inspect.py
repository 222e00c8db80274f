"""`graspline config`, `diagram` and `region`: what a task is, before anything moves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from graspline.cli.interrupts import stopping
from graspline.cli.options import Config, RobotName, Settings, TaskName, offering, task_and_parameters, with_robot
from graspline.cli.outputs import check_name, make_folder, report_saved, write_whole
from graspline.cli.progress import Progress
from graspline.episodes.statistics import rate_text
from graspline.errors import InputError, either
from graspline.machine.diagram import mermaid, svg_sheet
from graspline.parameters import describe
from graspline.parameters.notation import printable
from graspline.reports.region import refusals, region_chart, survey
from graspline.tasks.catalogue import find_task

# Names that a diagram may end in: a picture, or text.
_DIAGRAMS = (".svg", ".mmd", ".md", ".txt")


def config(task: TaskName, config: Config = None, settings: Settings = None, robot: RobotName = None) -> None:
    """Print every parameter of a task as YAML.

    Each with its meaning, unit and range. `graspline run --config` reads the file back.

    \b
    Examples:
      graspline config lift-cube > lift.yaml
      graspline config lift-cube --set reach.lift_m=0.08
    """
    settings = with_robot(task, settings, robot)
    _, parameters = task_and_parameters(task, config, settings)
    print(describe(parameters), end="")


def diagram(
    task: TaskName,
    form: Annotated[
        Literal["mermaid", "svg"] | None,
        typer.Option("--format", metavar="mermaid|svg", help="Mermaid text (the default), or an SVG image."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="File to write; .svg means an image.")] = None,
    timeouts: Annotated[bool, typer.Option("--timeouts", help="Show timeouts in the picture too.")] = False,
    config: Config = None,
    settings: Settings = None,
    robot: RobotName = None,
) -> None:
    """Show a task's state machine as a diagram.

    States, outcomes, and retries with their budgets. The picture shows the path to success straight down, and failures
    at the bottom.

    \b
    Examples:
      graspline diagram lift-cube
      graspline diagram lift-cube --out lift.svg
    """

    settings = with_robot(task, settings, robot)

    def check(_: object) -> None:
        if out is not None:
            check_name("--out", out)
            if form is None and out.suffix not in _DIAGRAMS:
                raise InputError(f"--out {printable(str(out))}: expected a name that ends in {either(_DIAGRAMS)}")

    found, parameters = task_and_parameters(task, config, settings, check)
    machine = found.machine(parameters)
    picture = form == "svg" or (form is None and out is not None and out.suffix == ".svg")
    diagram = svg_sheet(machine, timeouts=timeouts) if picture else mermaid(machine)
    if out is None:
        print(diagram, end="")
    else:
        make_folder("--out", out.parent)
        write_whole(out, diagram)
        report_saved(out)


def region(
    task: TaskName,
    samples: Annotated[int, typer.Option(min=10, max=1_000_000, metavar="N", help="Number of random poses.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the poses.")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="FILE.svg", help="Save a map of the region.")] = None,
    config: Config = None,
    settings: Settings = None,
    robot: RobotName = None,
) -> None:
    """Measure where a task's object can be grasped.

    Samples poses within the arm's reach. Prints the share for which the planner finds a grasp, and why it rejects
    the others.

    \b
    Examples:
      graspline region lift-cube --out out/region.svg
      graspline region oranges --samples 200
    """
    settings = with_robot(task, settings, robot)
    offering("region", "region")(find_task(task))
    found, parameters = task_and_parameters(
        task, config, settings, lambda _: out is None or check_name("--out", out, ".svg")
    )
    if out is not None:
        make_folder("--out", out.parent)
    with stopping() as stop, Progress("poses", samples) as shown:
        probes = []
        for probe in survey(found, parameters, samples, seed):
            probes.append(probe)
            shown.advance()
            if stop():
                raise KeyboardInterrupt
    certified = sum(probe.certified for probe in probes)
    print(f"graspable: {rate_text(certified, samples)} of random poses")
    for reason, count in refusals(probes):
        print(f"  rejected for {reason}: {100 * count / samples:.1f} %")
    if out is not None:
        write_whole(out, region_chart(probes))
        report_saved(out)
