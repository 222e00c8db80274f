"""`graspline workspace` and `graspline jaw`: what an arm reaches and what its jaw spans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer
import yaml

from graspline.cli.interrupts import interruptible
from graspline.cli.outputs import make_folder, report_saved, write_whole
from graspline.cli.progress import steps
from graspline.cli.status_line import working
from graspline.errors import InputError, WiringError
from graspline.kinematics import jaw as jaws
from graspline.kinematics.workspace import (
    MARGIN,
    WorkspaceBounds,
    WorkspaceSurvey,
    measure,
    plan_view,
    steps_of,
    survey_of,
)
from graspline.reports.arm_pages import jaw_page, line_table, opening_table, workspace_page
from graspline.robots.catalogue import ROBOTS

RobotName = Annotated[
    str, typer.Argument(metavar="ROBOT", help=f"A robot: {', '.join(ROBOTS)}, MODULE:NAME, or a description file.")
]
# Where the plan view is cut: about the middle of what lies on a table.
_PLAN_HEIGHT_M = 0.02


def workspace(
    robot: RobotName,
    samples: Annotated[
        int, typer.Option(min=1000, max=10_000_000, metavar="N", help="Number of random joint configurations.")
    ] = 200_000,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for workspace_bounds.yaml and workspace.html.")
    ] = Path("out/workspace"),
) -> None:
    """Measure the workspace of a robot arm.

    Measures where the tool can be in any orientation, from random joint angles; and where it can be while pointing
    straight down, from a grid of radius, height and heading, with the same inverse kinematics that plans grasps.

    \b
    Examples:
      graspline workspace so101
      graspline workspace ur5e
      graspline workspace so101 --samples 1000000 --out out/reach
    """
    survey = _survey(robot)
    make_folder("--out", out)
    with interruptible(lambda: "nothing was written"), steps("trying poses") as progress:
        done = progress(steps_of(survey, samples))
        found = measure(survey, samples, done=done)
        seen_from_above = plan_view(survey, _PLAN_HEIGHT_M, done=done)
    raw = found.section.bounds()
    print(f"any orientation:           {_said(found.general)}")
    print(f"straight down:             {_said(raw)}")
    print(f"straight down, {100 * MARGIN:.0f} % margin: {_said(raw.inner())}")
    print(
        f"of {found.coverage.poses} random poses inside the margin, {100 * found.coverage.share:.1f} % have an IK "
        f"solution\n({100 * found.coverage.share_either_way:.1f} % if the jaw may also be turned by 180°)"
    )
    write_whole(
        out / "workspace_bounds.yaml", yaml.safe_dump(found.document(), sort_keys=False, default_flow_style=None)
    )
    write_whole(out / "workspace.html", workspace_page(found, seen_from_above, _PLAN_HEIGHT_M))
    report_saved(out / "workspace_bounds.yaml", out / "workspace.html")


def jaw(
    robot: RobotName,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for jaw.html, with a plot.")] = None,
) -> None:
    """Measure how far a gripper opens.

    Prints the gap over the whole range, measured on the robot's model, and how well a straight line fits it. Grasp
    planning uses the measured gap.

    \b
    Examples:
      graspline jaw so101
      graspline jaw ur5e
      graspline jaw so101 --out out/jaw
    """
    found = ROBOTS.find(robot)
    if out is not None:
        make_folder("--out", out)
    with working("closing the jaw step by step"):
        opening = jaws.measure(found)
    _print_table(*opening_table(opening))
    print()
    _print_table(*line_table(opening))
    if out is not None:
        write_whole(out / "jaw.html", jaw_page(found.name, opening))
        report_saved(out / "jaw.html")


def _survey(name: str) -> WorkspaceSurvey:
    robot = ROBOTS.find(name)
    try:
        return survey_of(robot)
    except WiringError as error:
        raise InputError(f"the workspace of {robot.name} cannot be measured: {error}") from error


def _said(bounds: WorkspaceBounds) -> str:
    (near, far), (low, high) = bounds.radius_m, bounds.height_m
    return f"radius {_mm(near, far)} mm, height {_mm(low, high)} mm"


def _mm(low_m: float, high_m: float) -> str:
    return f"{1000 * low_m:z.0f} to {1000 * high_m:z.0f}"


def _print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        print("  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)))
