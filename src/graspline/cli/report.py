"""`graspline report`: a dataset as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graspline.cli.outputs import check_name, make_folder, tell_saved, write_whole
from graspline.datasets.report import report_page
from graspline.datasets.store import Dataset


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The dataset's folder.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Where the page goes; DIR/report.html if not given.")
    ] = None,
) -> None:
    """Describe a dataset on one page.

    Success rates with their intervals, failures by state and cause, where objects lay, times per state, pictures of
    some episodes, and how often the machine took which way. The page is one file that opens anywhere and loads nothing.
    The dataset may still be growing: the page shows what is committed.

    \b
    Examples:
      graspline report out/cubes
      graspline report out/cubes --out cubes.html
    """
    path = out or folder / "report.html"
    check_name("--out", path, ".html")
    dataset = Dataset.open(folder)
    make_folder("--out", path.parent)
    write_whole(path, report_page(dataset))
    tell_saved(path)
