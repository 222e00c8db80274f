"""`graspline demo`: one episode, a film and its evidence, in under a minute."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from graspline.cli.outputs import make_folder
from graspline.cli.run import stopping
from graspline.episodes.film import film, still_sheet
from graspline.episodes.run import Episode, run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.tasks.catalogue import find_task


def demo(
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Which random scene.")] = 38,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where film, pictures and result go.")] = Path("out/demo"),
) -> None:
    """Lift one cube, check it, and leave a film with the evidence.

    \b
    Example:
      graspline demo --seed 5
    """
    began = time.monotonic()
    make_folder("--out", out)
    task = find_task("lift-cube")
    parameters = task.parameters()
    scene = task.scene(parameters)
    print(f"{task.name}, seed {seed}: {task.summary}")
    with stopping() as stop:
        scenario = Scenario(task=task, parameters=parameters, seed=seed)
        (episode,) = run_scenarios([scenario], record_states=True, stop=stop)
    _tell(episode)
    (out / "result.json").write_text(json.dumps(episode.as_dict(), indent=2, allow_nan=False) + "\n")
    if stop():
        raise typer.Exit(130)
    renderer = film(episode, scene, out / "lift-cube.mp4")
    still_sheet(episode, scene, out / "lift-cube.png")
    drawn = "OpenGL" if renderer == "gl" else "the ray renderer, small and at 5 fps"
    print(f"film, contact sheet and result are in {out}/ (drawn by {drawn}; {time.monotonic() - began:.0f} s in all)")
    raise typer.Exit(0 if episode.succeeded else 1)


def _tell(episode: Episode) -> None:
    for each in episode.transitions:
        print(f"  {each.t_s:6.2f} s  {each.state:<10} {each.outcome}")
    print(f"verdict: {episode.verdict}", flush=True)
    for measurement in episode.evidence:
        print(f"  {'✓' if measurement.passed else '✗'} {measurement}")
