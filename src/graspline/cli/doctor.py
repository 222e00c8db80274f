"""`graspline doctor`: what is wrong with a dataset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from graspline.cli.progress import steps
from graspline.datasets.check.doctor import DatasetContents, Diagnosis, examine
from graspline.errors import DatasetProblem
from graspline.wording import counted, duration


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the dataset.")],
    fast: Annotated[bool, typer.Option("--fast", help="Skip replaying episodes and decoding videos.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to standard output.")] = False,
) -> None:
    """Check that a dataset is what loaders and trainers expect.

    Checks counts, files, indices, timestamps, types, units, limits, statistics, every video frame, and every label
    against the simulator. Prints one line per problem and exits with 4 if there is one; notes do not count.

    \b
    Examples:
      graspline doctor out/cubes
      graspline doctor out/cubes --fast
      graspline doctor out/cubes --json
    """
    with steps("checks") as begin:
        diagnosis = examine(folder, fast=fast, begin=begin)
    if as_json:
        print(json.dumps(_as_dict(diagnosis)))
    else:
        for line in _lines(folder, diagnosis):
            print(line)
    raise typer.Exit(0 if diagnosis.healthy else DatasetProblem.exit_code)


def _as_dict(diagnosis: Diagnosis) -> dict[str, object]:
    return {
        "healthy": diagnosis.healthy,
        "problems": [each.as_dict() for each in diagnosis.problems],
        "notes": [each.as_dict() for each in diagnosis.notes],
        "summary": None if diagnosis.summary is None else diagnosis.summary.as_dict(),
    }


def _lines(folder: Path, diagnosis: Diagnosis) -> list[str]:
    lines = [*map(str, diagnosis.problems), *(f"note: {each}" for each in diagnosis.notes)]
    if not diagnosis.healthy:
        return [*lines, f"{folder}: {counted(len(diagnosis.problems), 'problem')}"]
    return lines if diagnosis.summary is None else [*lines, f"{folder}: healthy", *_message(diagnosis.summary)]


def _message(summary: DatasetContents) -> list[str]:
    share = 100 * summary.successes / summary.episodes
    return [
        f"  episodes: {summary.episodes}, of which {summary.successes} successful ({share:.1f} %)",
        f"  frames: {summary.frames} at {summary.fps} fps ({duration(summary.frames / summary.fps)})",
        f"  cameras: {', '.join(summary.cameras) or 'none'}",
        f"  size: {summary.disk_bytes / 1e6:.1f} MB",
    ]
