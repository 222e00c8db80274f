"""`graspline faults`: what can be injected, and where it applies."""

from __future__ import annotations

from typing import Annotated

import typer

from graspline.cli.outputs import wrapped
from graspline.faults.catalogue import FAULTS, fault_kinds
from graspline.tasks.catalogue import TASKS, find_task


def faults(
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="TASK",
            help=f"Say which faults apply to this task: {', '.join(TASKS)}, or MODULE:NAME.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List the faults that can be injected.

    For each: what happens and what it needs. With TASK: which of them apply to that task, and why the others do not.

    \b
    Examples:
      graspline faults
      graspline faults oranges
    """
    missing: dict[str, str] = {}
    if task is not None:
        found = find_task(task)
        scene = found.scene(found.fault_hints.equipped(found.parameters()))
        missing = {name: reason for name, kind in fault_kinds().items() if (reason := kind.missing_in(scene))}
    for name, kind in fault_kinds().items():
        if name not in missing:
            needs = ", ".join(need.words for need in kind.needs)
            _say(f"{name}: {kind.description}" + (f" Needs {needs}." if needs else ""))
    for reason in dict.fromkeys(missing.values()):
        names = ", ".join(name for name, why in missing.items() if why == reason)
        _say(f"Not for {task}, because {reason}: {names}")
    for name, why in FAULTS.broken().items():
        _say(f"{name}: cannot be used: {why}")


def _say(text: str) -> None:
    for line in wrapped(text):
        print(line)
