"""`graspline bench`: speeds as ratios, measured in one run on this machine."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from graspline.datasets.benchmarks import measure_datasets
from graspline.episodes.benchmarks import measure


def bench(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object of named figures.")] = False,
    episodes: Annotated[
        int, typer.Option(min=4, max=100_000, metavar="N", help="Episodes for the overhead figures.")
    ] = 128,
) -> None:
    """Measure speeds as ratios on this machine.

    What an episode costs over raw physics, inverse kinematics beside mink, executor overhead, and what a dataset's
    pictures cost over raw rendering and encoding.

    \b
    Example:
      graspline bench --json
    """

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    figures = [*measure(episodes, say), *measure_datasets(say)]
    if as_json:
        print(json.dumps({figure.name: figure.value for figure in figures}))
        return
    width = max(len(figure.name) for figure in figures)
    for figure in figures:
        value = "not measured" if figure.value is None else f"{figure.value:.4g}"
        print(f"{figure.name:<{width}}  {value:>12} {figure.unit:<8} {figure.meaning}")
