"""Draw every figure of the documentation again: `python scripts/figures.py`."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from graspline import Scenario, find_task, run_scenarios
from graspline.cli.demo import SEED
from graspline.cli.options import randomizing
from graspline.episodes.film import still_sheet
from graspline.episodes.region import draw_region, survey
from graspline.episodes.report import Chronicle, telling_moments
from graspline.machine.diagram import svg
from graspline.parameters import build
from graspline.rendering.choose import open_renderer
from graspline.rendering.video import contact_sheet

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def main() -> None:
    cube = find_task("lift-cube")
    parameters = cube.parameters()
    (IMAGES / "lift-cube-machine.svg").write_text(svg(cube.machine(parameters)))
    (IMAGES / "lift-cube-region.svg").write_text(draw_region(survey(cube, parameters, 3000, seed=0)))
    (episode,) = run_scenarios([Scenario(task=cube, parameters=parameters, seed=38)], record_states=True)
    still_sheet(episode, cube.scene(parameters), IMAGES / "lift-cube.png", count=8, columns=4)

    oranges = find_task("oranges")
    parameters = oranges.parameters()
    (IMAGES / "oranges-machine.svg").write_text(svg(oranges.machine(parameters)))
    scenario, chronicle = Scenario(task=oranges, parameters=parameters, seed=SEED), Chronicle()
    (episode,) = run_scenarios([scenario], record_states=True, onlookers=[chronicle])
    moments = telling_moments(episode, chronicle.endings)
    still_sheet(episode, oranges.scene(parameters), IMAGES / "oranges.png", moments=moments)
    randomization()


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
