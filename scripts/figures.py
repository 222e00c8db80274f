"""Draw every figure of the documentation again: `python scripts/figures.py`."""

from __future__ import annotations

from pathlib import Path

from graspline import Scenario, find_task, run_scenarios
from graspline.cli.demo import SEED
from graspline.episodes.film import still_sheet
from graspline.episodes.region import draw_region, survey
from graspline.episodes.report import Chronicle, telling_moments
from graspline.machine.diagram import svg

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


if __name__ == "__main__":
    main()
