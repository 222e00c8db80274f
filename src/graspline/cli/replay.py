"""`graspline replay`: episodes of a dataset played again from their logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from graspline.cli.progress import steps
from graspline.datasets.check.replay import Rerun, rerun, versions_note
from graspline.datasets.format.store import Dataset
from graspline.errors import DatasetProblem
from graspline.wording import counted


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the dataset.")],
    episode: Annotated[
        int | None, typer.Option(min=0, metavar="I", help="Only this episode, by its index.", show_default="all")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to standard output.")] = False,
) -> None:
    """Replay a dataset's episodes from their logs.

    Every episode must pass through the frames of the dataset and end in the same state, bit for bit. Exits with 4 if
    one does not.

    \b
    Examples:
      graspline replay out/cubes
      graspline replay out/cubes --episode 3 --json
    """
    dataset = Dataset.open(folder)
    rows = dataset.rows if episode is None else (dataset.row(episode),)
    reruns: list[Rerun] = []
    with steps("episodes") as begin:
        done = begin(len(rows))
        for each in rerun(dataset, rows):
            reruns.append(each)
            done()
    different = sorted((each for each in reruns if each.differences), key=lambda each: each.row["episode_index"])
    notes = sorted({versions_note(each.row) for each in different} - {""})
    if as_json:
        differences = {each.row["episode_index"]: each.differences for each in different}
        print(
            json.dumps(
                {"episodes": len(rows), "equal": len(rows) - len(differences), "different": differences, "notes": notes}
            )
        )
    else:
        for each in different:
            for line in each.differences:
                print(f"episode {each.row['episode_index']}: {line}")
        for note in notes:
            print(f"note: {note}")
        print(
            f"{len(rows) - len(different)} of {counted(len(rows), 'episode')} replayed to the same state, bit for bit"
        )
    raise typer.Exit(DatasetProblem.exit_code if different else 0)
