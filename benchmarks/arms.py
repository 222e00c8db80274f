"""What planning costs on an arm without a closed form, beside the SO-101: CPU time in one run, in turns.

    python benchmarks/arms.py --robot panda lift-cube stack

Episodes of both arms are played once and everything their states ask to be solved is kept; each planner then gets those
requests again, one at a time. Scenes are sampled likewise. The least CPU time of several rounds that the two arms take
in turns, so that whatever else the machine does slows both alike. One JSON object has ms per request, and the ratios.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from graspline import Scenario, find_task
from graspline.robots.catalogue import DEFAULT_ROBOT
from planning import asked, solves_of

Work = Callable[[int], int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=["lift-cube", "oranges"])
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--episodes", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=5000)
    options = parser.parse_args()
    found = {
        name: compared(name, options.robot, options.episodes, options.rounds, options.seed) for name in options.tasks
    }
    print(json.dumps(found, indent=2))


def compared(name: str, robot: str, episodes: int, rounds: int, seed: int) -> dict[str, Any]:
    """CPU time of each planner on both arms, and of a whole episode's planning."""
    works = {each: works_of(name, each, episodes, seed) for each in (DEFAULT_ROBOT, robot)}
    least: dict[str, dict[str, float]] = {each: {} for each in works}
    for _ in range(rounds):
        for each, planners in works.items():
            for planner, work in planners.items():
                began = time.process_time()
                work(1)
                spent = time.process_time() - began
                least[each][planner] = min(least[each].get(planner, spent), spent)
    ms = {each: {planner: 1e3 * spent / episodes for planner, spent in of.items()} for each, of in least.items()}
    for of in ms.values():
        of["episode"] = sum(of[planner] for planner in of if planner != "sample")
    usual = ms[DEFAULT_ROBOT]
    ratio = {planner: round(ms[robot][planner] / spent, 2) for planner, spent in usual.items() if planner in ms[robot]}
    rounded = {each: {planner: round(spent, 3) for planner, spent in of.items()} for each, of in ms.items()}
    return {"ms_per_episode": rounded, "ratio": ratio}


def works_of(name: str, robot: str, episodes: int, seed: int) -> dict[str, Work]:
    """The planning of these episodes, by planner, and the sampling of their scenes."""
    task = find_task(name)
    parameters = task.parameters(robot=robot)
    scenarios = [Scenario(task=task, parameters=parameters, seed=seed + index) for index in range(episodes)]
    works = {planner: asked(solves) for planner, solves in solves_of(scenarios).items()}

    def sampled(together: int) -> int:
        for each in scenarios:
            each.sample()
        return len(scenarios)

    return {**works, "sample": sampled}


if __name__ == "__main__":
    main()
