"""`graspline compare`: two evaluations on the same seeds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from graspline.cli.outputs import check_name, make_folder, report_saved, write_whole
from graspline.evaluations.comparison import compare
from graspline.evaluations.comparison_page import comparison_page, summary_lines


def command(
    first: Annotated[
        Path, typer.Argument(metavar="DIR_A", help="Folder of an evaluation, from `graspline eval --out`.")
    ],
    second: Annotated[Path, typer.Argument(metavar="DIR_B", help="Folder of the other evaluation.")],
    out: Annotated[Path | None, typer.Option(metavar="FILE.html", help="Save a page with the comparison.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to standard output.")] = False,
) -> None:
    """Compare two evaluations on the same seeds.

    Prints both success rates, their difference with its interval, and McNemar's exact test on the episodes in which
    only one of them succeeded. Task, parameters, faults, time limit and scenes must be the same; policy, cameras and
    rate may differ. Only the seeds that both have are compared.

    \b
    Examples:
      graspline compare out/eval-a out/eval-b
      graspline compare out/eval-a out/eval-b --out out/compare.html
    """
    if out is not None:
        check_name("--out", out, ".html")
    comparison = compare(first, second)
    if out is not None:
        make_folder("--out", out.parent)
        write_whole(out, comparison_page(comparison))
        report_saved(out)
    if as_json:
        print(json.dumps(comparison.as_dict(), allow_nan=False))
    else:
        for line in summary_lines(comparison):
            print(line)
