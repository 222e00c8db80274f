"""`graspline rates`: which share of objects is sorted, by density and speed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from graspline.cli.interrupts import stopping
from graspline.cli.options import Config, Settings, TaskName, offering, task_and_parameters
from graspline.cli.outputs import make_folder, report_saved, wrapped, write_whole
from graspline.cli.run_progress import RunProgress
from graspline.episodes.statistics import rate_text
from graspline.errors import InputError
from graspline.parameters import Parameters
from graspline.reports.rates import RatePoint, measure, rates_chart
from graspline.tasks.catalogue import find_task
from graspline.wording import quantity


def rates(
    task: TaskName,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="SPEED:DENSITY,…",
            help="Speed in m/s and densities in objects per metre, such as 0.05:2.5,4,8; repeatable.",
        ),
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, max=10_000, metavar="N", help="Episodes at each point.")] = 5,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the first episode at each point.")] = 0,
    lanes: Annotated[int, typer.Option(min=1, max=64, metavar="N", help="Parallel simulations.")] = 2,
    config: Config = None,
    settings: Settings = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for rates.json and rates.svg.")] = Path("out/rates"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to standard output.")] = False,
) -> None:
    """Measure success against the density and speed of what arrives.

    For tasks whose objects arrive on a conveyor: the share that ends up in the right place by ground truth. Exits with
    1 if an object that was reported as sorted is not.

    \b
    Examples:
      graspline rates sort
      graspline rates sort --at 0.05:2.5,4,8 --at 0.2:1,1.8 --episodes 5
    """
    points: list[tuple[float, float]] = []

    def check(_: object) -> None:
        points.extend(_points(at or ["0.05:2.5,2.86,3.33,4,8", "0.1:2.5,4", "0.2:1,1.8"]))

    offering("rates", "feed")(find_task(task))
    found, _ = task_and_parameters(task, config, settings, check)
    feed = found.feed
    assert feed is not None

    def parameters(speed: float, density: float) -> Parameters:
        try:
            return task_and_parameters(task, config, [*(settings or ()), *feed.settings(speed, density)])[1]
        except InputError as error:
            raise InputError(f"--at {speed:g}:{density:g}: {error}".replace("--set ", "")) from None

    for speed, density in points:
        parameters(speed, density)
    make_folder("--out", out)
    done: dict[tuple[float, float], RatePoint] = {}
    with stopping() as stop, RunProgress("episodes", len(points) * episodes, rate=False) as shown:
        for point, episode in measure(
            found,
            feed,
            parameters,
            points,
            episodes=episodes,
            seed=seed,
            lanes=lanes,
            stop=stop,
            after_tick=shown.tick,
        ):
            done[point.speed_m_s, point.density_per_m] = point
            shown.add(episode)
        interrupted = stop()
    findings = {
        "task": task,
        "seed": seed,
        "episodes": episodes,
        "interrupted": interrupted,
        "points": [each.as_dict() for each in done.values()],
    }
    if interrupted:
        print("interrupted: only episodes that had ended are counted", file=sys.stderr)
    write_whole(out / "rates.json", json.dumps(findings, indent=1, allow_nan=False) + "\n")
    write_whole(out / "rates.svg", rates_chart([each.as_dict() for each in done.values()]))
    report_saved(out / "rates.json", out / "rates.svg")
    if as_json:
        print(json.dumps(findings, allow_nan=False))
    else:
        for each in done.values():
            _say(each)
    raise typer.Exit(130 if interrupted else 1 if any(each.false for each in done.values()) else 0)


def _points(texts: list[str]) -> list[tuple[float, float]]:
    found = []
    for text in texts:
        speed, colon, densities = text.partition(":")
        try:
            found += [(float(speed), float(each)) for each in densities.split(",")]
        except ValueError:
            colon = ""
        if not colon:
            raise InputError(f"--at {text!r}: expected a speed, a colon and densities, such as 0.05:2.5,4,8")
    return found


def _say(point: RatePoint) -> None:
    missed = ", ".join(f"{cause} {count}" for cause, count in point.missed.most_common())
    rates = point.picks_per_min
    rate = f", {sum(rates) / len(rates):.1f} picks per minute" if rates else ""
    message = (
        f"{quantity(point.speed_m_s, 'm/s')}, {_density(point.density_per_m)}: sorted correctly "
        f"{rate_text(point.right, point.sent)}, wrong place {point.wrong}{rate}"
    )
    for line in wrapped(message + (f"; missed: {missed}" if missed else "")):
        print(line)


def _density(per_m: float) -> str:
    return f"{per_m:g} object{'' if per_m == 1 else 's'} per metre"
