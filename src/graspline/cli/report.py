"""`graspline report`: a dataset or an evaluation as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graspline.cli.evaluations import write_page
from graspline.cli.interrupts import interruptible, stopping
from graspline.cli.outputs import check_name, make_folder, report_saved, write_whole
from graspline.cli.progress import steps
from graspline.datasets.format.store import Dataset
from graspline.datasets.report.page import report_page
from graspline.evaluations.store import SUMMARY, Evaluation
from graspline.evaluations.summary import summarise


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a dataset or of an evaluation.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="File to write. Default: DIR/report.html.")
    ] = None,
) -> None:
    """Write a report about a dataset or an evaluation.

    For a dataset: success rates with intervals, failures by state and cause, where the objects were, time per state,
    images of some episodes, and how often each transition was taken. It may still be growing: the report covers what is
    committed. For an evaluation (`graspline eval --out`): success, failure modes, what success depends on, and images
    of failures. The report is one HTML file that needs nothing else.

    \b
    Examples:
      graspline report out/cubes
      graspline report out/cubes --out cubes.html
      graspline report out/eval
    """
    path = out or folder / "report.html"
    check_name("--out", path, ".html")
    if (folder / SUMMARY).is_file():
        evaluation = Evaluation.read(folder)
        make_folder("--out", path.parent)
        with stopping() as stop:
            write_page(evaluation, summarise(evaluation), path, stop)
        return
    dataset = Dataset.open(folder)
    make_folder("--out", path.parent)
    with interruptible(lambda: f"{path} was not written"), steps("reading episodes") as progress:
        page = report_page(dataset, progress)
    write_whole(path, page)
    report_saved(path)
