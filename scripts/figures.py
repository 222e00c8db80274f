"""Draw every figure of the documentation again: `python scripts/figures.py`."""

from __future__ import annotations

from pathlib import Path

from graspline import Scenario, find_task, run_scenarios
from graspline.episodes.film import still_sheet
from graspline.episodes.region import draw_region, survey
from graspline.machine.diagram import svg

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def main() -> None:
    task = find_task("lift-cube")
    parameters = task.parameters()
    (IMAGES / "lift-cube-machine.svg").write_text(svg(task.machine(parameters)))
    (IMAGES / "lift-cube-region.svg").write_text(draw_region(survey(task, parameters, 3000, seed=0)))
    (episode,) = run_scenarios([Scenario(task=task, parameters=parameters, seed=38)], record_states=True)
    still_sheet(episode, task.scene(parameters), IMAGES / "lift-cube.png", count=8, columns=4)


if __name__ == "__main__":
    main()
