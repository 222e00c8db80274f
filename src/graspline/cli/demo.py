"""`graspline demo`: one episode, a film, pictures and a report, in under a minute."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from graspline.cli.interrupts import stopping
from graspline.cli.outputs import make_folder, write_whole
from graspline.episodes.film import film, still_sheet
from graspline.episodes.report import Chronicle, Ending, report_page, telling_moments
from graspline.episodes.run import Episode, run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.tasks.catalogue import find_task

# Both cameras see everything that happens.
SEED = 30
# An episode lasts half a minute; more frames would take longer than a minute to draw without a GPU.
_FPS = 12


def demo(
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Which random scene.")] = SEED,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where film, pictures and report go.")] = Path("out/demo"),
) -> None:
    """Put three oranges on a plate; leave a film and a report.

    \b
    Example:
      graspline demo --seed 5
    """
    began = time.monotonic()
    make_folder("--out", out)
    task = find_task("oranges")
    parameters = task.parameters()
    scene, chronicle = task.scene(parameters), Chronicle()
    print(f"{task.name}, seed {seed}: {task.summary}")
    with stopping() as stop:
        scenario = Scenario(task=task, parameters=parameters, seed=seed)
        (episode,) = run_scenarios([scenario], record_states=True, onlookers=[chronicle], stop=stop)
    _tell(episode, chronicle.endings)
    write_whole(out / "result.json", json.dumps(episode.as_dict(), indent=2, allow_nan=False) + "\n")
    if stop():
        raise typer.Exit(130)
    sheet = out / f"{task.name}.png"
    still_sheet(episode, scene, sheet, moments=telling_moments(episode, chronicle.endings))
    page = report_page(episode, chronicle.endings, sheet.read_bytes())
    write_whole(out / "report.html", page)
    renderer = film(episode, scene, out / f"{task.name}.mp4", fps=_FPS)
    drawn = "OpenGL" if renderer == "gl" else "the ray renderer, small and at 5 fps"
    print(
        f"film, pictures, report and result are in {out}/ (drawn by {drawn}; {time.monotonic() - began:.0f} s in all)"
    )
    raise typer.Exit(0 if episode.succeeded else 1)


def _tell(episode: Episode, endings: list[Ending]) -> None:
    for each in endings:
        ended = each.ended
        print(f"  {each.time_s:6.2f} s  {ended.state:<14} {ended.outcome:<12} {ended.about}".rstrip())
    print(f"verdict: {episode.verdict}", flush=True)
    for measurement in episode.evidence:
        print(f"  {'✓' if measurement.passed else '✗'} {measurement}")
