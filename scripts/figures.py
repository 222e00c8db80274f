"""Make every figure of the documentation again: `python scripts/figures.py`."""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

from graspline import Scenario, find_task, run_scenarios
from graspline.cli.demo import SEED
from graspline.cli.options import randomizing
from graspline.episodes.film import film, still_sheet
from graspline.episodes.region import draw_region, survey
from graspline.episodes.report import Chronicle, telling_moments
from graspline.machine.diagram import svg_sheet
from graspline.parameters import build
from graspline.rendering.choose import open_renderer
from graspline.rendering.video import contact_sheet

IMAGES = Path(__file__).parents[1] / "docs" / "images"


# Of each task: the seed and the settings of the episode that is shown. Six blocks are enough to see a belt sorted.
EPISODES: dict[str, tuple[int, tuple[str, ...]]] = {
    "lift-cube": (38, ()),
    "oranges": (SEED, ()),
    "grab": (0, ()),
    "sort": (0, ("belt.blocks=6", "belt.density_per_m=4")),
    "tidy": (0, ()),
}


def main() -> None:
    """Every task that is named, or all and the other figures: `python scripts/figures.py sort tidy`."""
    for name in sys.argv[1:] or EPISODES:
        task_pictures(name)
    if not sys.argv[1:]:
        cube = find_task("lift-cube")
        region = draw_region(list(survey(cube, cube.parameters(), 3000, seed=0)))
        (IMAGES / "lift-cube-region.svg").write_text(region)
        randomization()


def task_pictures(name: str) -> None:
    """The machine of a task, a sheet of moments of one episode, and a small film of it for pages."""
    task, (seed, settings) = find_task(name), EPISODES[name]
    parameters = build(task.parameters, assignments=settings)
    scene, chronicle = task.scene(parameters), Chronicle()
    (IMAGES / f"{name}-machine.svg").write_text(svg_sheet(task.machine(parameters)))
    scenario = Scenario(task=task, parameters=parameters, seed=seed)
    (episode,) = run_scenarios([scenario], record_states=True, onlookers=[chronicle])
    annotated = task.annotator is not None
    moments = telling_moments(episode, chronicle.endings, 6 if annotated else 12)
    still_sheet(episode, scene, IMAGES / f"{name}.png", moments=moments, columns=2 if annotated else 4)
    film(episode, scene, IMAGES / f"{name}.webp")
    print(f"{name}: {episode.verdict}, {(IMAGES / f'{name}.webp').stat().st_size / 1e6:.2f} MB", flush=True)


def randomization() -> None:
    """Eight starts of `oranges` as the front camera sees them, everything randomised."""
    oranges = find_task("oranges")
    parameters = build(oranges.parameters, assignments=randomizing(oranges, "all"))
    draws = [Scenario(task=oranges, parameters=parameters, seed=seed).draw() for seed in range(8)]
    with open_renderer(oranges.scene(parameters), 320, 240) as renderer:
        frames = [renderer.draw(each.start, each.variation, "front", shadows=True).rgb for each in draws]
    Image.fromarray(contact_sheet(frames, columns=4)).save(IMAGES / "randomization.png", optimize=True)


if __name__ == "__main__":
    main()
