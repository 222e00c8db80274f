"""`graspline demo`: one episode, a film, pictures and a report, in under a minute."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from graspline.choices import DEMO_TASK
from graspline.cli.interrupts import stopping
from graspline.cli.outputs import make_folder, report_saved, wrapped, write_whole
from graspline.cli.progress import Progress
from graspline.episodes.episode import Episode
from graspline.episodes.films.film import FilmStopped, film, still_sheet
from graspline.episodes.observers import Instant
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.errors import Interrupted
from graspline.execution.notifications import Ended, Happening
from graspline.reports.episode_page import Chronicle, report_page, telling_moments
from graspline.scenes.scene import Scene
from graspline.tasks.catalogue import find_task

# Both cameras see everything that happens.
SEED = 30
# The film plays at twice the speed, and takes half as long to render.
_SPEED = 2


def demo(
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the scene.")] = SEED,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for film, pictures and report.")] = Path("out/demo"),
) -> None:
    """Put three oranges on a plate; save a film and a report.

    \b
    Example:
      graspline demo --seed 5
    """
    began = time.monotonic()
    make_folder("--out", out)
    task = find_task(DEMO_TASK)
    parameters = task.parameters()
    scene, history = task.scene(parameters), Chronicle()
    for line in wrapped(f"{task.name}, seed {seed}: {task.summary}"):
        print(line, flush=True)
    with stopping() as stop:
        scenario = Scenario(task=task, parameters=parameters, seed=seed)
        (episode,) = run_scenarios([scenario], record_states=True, onlookers=[history, _report_ending], stop=stop)
    _report_verdict(episode)
    write_whole(out / "result.json", json.dumps(episode.as_dict(), indent=2, allow_nan=False) + "\n")
    if stop():
        raise typer.Exit(130)
    report_saved(out / "result.json")
    sheet, movie = out / f"{task.name}.png", out / f"{task.name}.mp4"
    print(f"rendering pictures {sheet.name}", file=sys.stderr, flush=True)
    still_sheet(episode, scene, sheet, moments=telling_moments(episode, history.endings))
    report_saved(sheet)
    write_whole(out / "report.html", report_page(episode, history.endings, sheet.read_bytes()))
    report_saved(out / "report.html")
    renderer = _film(episode, scene, movie)
    report_saved(movie)
    rendered = "OpenGL" if renderer == "gl" else "the ray renderer, small and at 5 fps"
    print(f"rendered by {rendered}; {time.monotonic() - began:.0f} s in all")
    raise typer.Exit(0 if episode.succeeded else 1)


def _film(episode: Episode, scene: Scene, path: Path) -> str:
    """The film with a bar of its own; stopped, it leaves no file."""
    with stopping() as stop, Progress(f"rendering film {path.name}", 1) as progress:

        def show(done: int, total: int) -> None:
            progress.done, progress.total = done, total
            progress.show()

        try:
            return film(episode, scene, path, speed=_SPEED, stop=stop, progress=show)
        except FilmStopped:
            raise Interrupted(f"interrupted; {path} was not fully rendered and was not kept") from None


def _report_ending(instant: Instant, notification: Happening) -> None:
    """Print how a state ended, while the episode goes on."""
    if isinstance(notification, Ended):
        line = f"  {instant.time_s:6.2f} s  {notification.state:<14} {notification.outcome:<12} {notification.about}"
        print(line.rstrip(), flush=True)


def _report_verdict(episode: Episode) -> None:
    print(f"verdict: {episode.verdict}", flush=True)
    for measurement in episode.evidence:
        print(f"  {'✓' if measurement.passed else '✗'} {measurement}")
