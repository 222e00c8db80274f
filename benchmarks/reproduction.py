"""How often an episode's own recorded actions do the task again, and how often another episode's do.

The machine plays episodes; their references, as a dataset's `action` at a rate, are then followed from the same scenes
through the code that evaluates policies, without looking. `python benchmarks/reproduction.py` prints the shares.
"""

from __future__ import annotations

import argparse

import numpy as np

from graspline import TASKS, Episode, Scenario, run_scenarios
from graspline.envs.interface import interface_of
from graspline.envs.reproduction import reproduce
from graspline.episodes.statistics import rate_text
from graspline.scenes.scene import Scene


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--episodes", type=int, default=40)
    parser.add_argument("--seed", type=int, default=61000)
    parser.add_argument("--fps", type=int, nargs="+", default=[60, 30, 15, 10])
    parser.add_argument("--lanes", type=int, default=20)
    asked = parser.parse_args()
    for name in asked.tasks:
        measure(name, asked.seed, asked.episodes, asked.fps, asked.lanes)


def measure(name: str, seed: int, episodes: int, rates: list[int], lanes: int) -> None:
    task = TASKS[name]
    parameters = task.parameters()
    scene = task.scene(parameters)
    scenarios = [Scenario(task=task, parameters=parameters, seed=seed + index) for index in range(episodes)]
    played = list(run_scenarios(scenarios, lanes=lanes))
    kept = [episode for episode in played if episode.succeeded]
    print(f"{name}: the machine {rate_text(len(kept), len(played))}", flush=True)
    print(f"  fastest step of a reference: {100 * fastest_step(kept, scene):.0f} % of the speed limit", flush=True)
    for fps in rates:
        interface = interface_of(scene, fps=fps, cameras="none", units="degrees")
        for shift, whose in ((0, "its own actions"), (1, "another episode's")):
            again = list(reproduce(kept, interface, lanes=lanes, shift=shift))
            succeeded = sum(each.succeeded for each in again)
            print(f"  {fps} fps, {whose}: {rate_text(succeeded, len(again))}", flush=True)


def fastest_step(episodes: list[Episode], scene: Scene) -> float:
    """Over the joints' speed limits: at 1 and above, following would be slower than the recording."""
    limit = scene.robot.limits.velocity * scene.robot.dt_s
    return max(float((np.abs(np.diff(each.log.positions, axis=0)) / limit).max()) for each in episodes)


if __name__ == "__main__":
    main()
