"""`benchmarks/bench.py`: speeds relative to raw physics and rendering, measured in one run on this machine."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer
from measured.datasets import dataset_parts
from measured.episodes import Figure, parts
from measured.gpu import gpu_part

from graspline.cli.interrupts import interruptible
from graspline.cli.main import entry
from graspline.cli.options import EngineName, Lanes, engine_of, lanes_of

# As wide as the longest name, which is not known before it is measured.
_NAME_WIDTH = 45


def bench(
    full: Annotated[
        bool, typer.Option("--full", help="Longer runs and more rounds, for figures to keep; 10 to 15 minutes of CPU.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object of named figures, at the end.")] = False,
    engine: EngineName = "cpu",
    lanes: Lanes = 0,
) -> None:
    """Benchmark this machine; report speeds relative to raw physics and rendering.

    Cost of an episode over raw physics, inverse kinematics compared with mink, executor overhead, cost of a dataset's
    images over raw rendering and encoding. Takes about a minute of CPU; with --full, 10 to 15. Figures are
    printed as they are measured. With a GPU, also its throughput with --lanes worlds.

    \b
    Examples:
      python benchmarks/bench.py
      python benchmarks/bench.py --full --json > figures.json
      python benchmarks/bench.py --engine gpu
    """
    kind = engine_of(engine)
    planned = [*parts(full=full), *dataset_parts(full=full)]
    if kind == "gpu":
        planned.append(gpu_part(lanes_of(lanes, kind, 0)))
    figures: list[Figure] = []
    _say(f"{len(planned)} parts, about {_duration(sum(part.about_s for part in planned))} of CPU in all")
    with interruptible(lambda: f"{len(figures)} figure{'' if len(figures) == 1 else 's'} measured"):
        for number, part in enumerate(planned, start=1):
            _say(f"[{number}/{len(planned)}] {part.what}, about {_duration(part.about_s)}")
            for figure in part.measure(lambda line: _say(f"      {line}")):
                figures.append(figure)
                if not as_json:
                    print(_row(figure), flush=True)
    if as_json:
        print(json.dumps({figure.name: figure.value for figure in figures}))


def _row(figure: Figure) -> str:
    value = "not measured" if figure.value is None else f"{figure.value:.4g}"
    return f"{figure.name:<{_NAME_WIDTH}}  {value:>12} {figure.unit:<8} {figure.meaning}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run() -> None:
    """Read the options and measure; mistakes are told as by `graspline`."""
    entry(lambda: lambda: typer.run(bench))


if __name__ == "__main__":
    run()
