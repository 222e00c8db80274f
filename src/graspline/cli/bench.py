"""`graspline bench`: speeds as ratios, measured in one run on this machine."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from graspline.cli.options import EngineName, Lanes, engine_of, lanes_of
from graspline.datasets.benchmarks import measure_datasets
from graspline.episodes.benchmarks import measure
from graspline.episodes.gpu_benchmarks import measure_gpu


def bench(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object of named figures.")] = False,
    episodes: Annotated[
        int, typer.Option(min=4, max=100_000, metavar="N", help="Episodes for the overhead figures.")
    ] = 128,
    engine: EngineName = "cpu",
    lanes: Lanes = 0,
) -> None:
    """Measure speeds as ratios on this machine.

    What an episode costs over raw physics, inverse kinematics beside mink, executor overhead, and what a dataset's
    pictures cost over raw rendering and encoding. With a GPU, also what that reaches in --lanes worlds.

    \b
    Example:
      graspline bench --json
      graspline bench --engine gpu
    """
    kind = engine_of(engine)

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    figures = [*measure(episodes, say), *measure_datasets(say)]
    if kind == "gpu":
        figures += measure_gpu(lanes_of(lanes, kind, 0), say)
    if as_json:
        print(json.dumps({figure.name: figure.value for figure in figures}))
        return
    width = max(len(figure.name) for figure in figures)
    for figure in figures:
        value = "not measured" if figure.value is None else f"{figure.value:.4g}"
        print(f"{figure.name:<{width}}  {value:>12} {figure.unit:<8} {figure.meaning}")
