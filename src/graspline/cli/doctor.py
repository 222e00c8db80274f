"""`graspline doctor`: what is wrong with a dataset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from graspline.cli.progress import steps
from graspline.datasets.doctor import Diagnosis, Summary, examine
from graspline.errors import DatasetProblem


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The dataset's folder.")],
    fast: Annotated[bool, typer.Option("--fast", help="Play no episode again and decode no video.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Check everything that loaders and trainers rely on.

    Counts, files, numbering, times, types, units, limits, statistics, videos frame by frame, and every label against
    the simulator. All problems are printed, one a line, and make it exit with 4; a note does not.

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
        count = len(diagnosis.problems)
        return [*lines, f"{folder}: {count} problem{'s' if count > 1 else ''}"]
    return lines if diagnosis.summary is None else [*lines, f"{folder}: healthy", *_told(diagnosis.summary)]


def _told(summary: Summary) -> list[str]:
    share = 100 * summary.successes / summary.episodes
    return [
        f"  episodes: {summary.episodes}, of which {summary.successes} succeed ({share:.1f} %)",
        f"  frames: {summary.frames} at {summary.fps} a second, {summary.frames / summary.fps / 60:.1f} minutes",
        f"  cameras: {', '.join(summary.cameras) or 'none'}",
        f"  size: {summary.disk_bytes / 1e6:.1f} MB",
    ]
