"""Planning for many lanes: what a plan costs when it is asked for alone and among others on the same tick.

    python benchmarks/planning.py lift-cube
    python benchmarks/planning.py oranges --episodes 64 --together 1 32 64

Episodes are played once and everything their states ask to be solved is kept. Each planner then gets those requests
again, so many at a time; scenes are drawn likewise. CPU time per request, the least of several rounds that are taken in
turns, so that whatever else the machine does slows all alike. One JSON object tells the figures, in ms.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

from graspline import Scenario, find_task
from graspline.episodes.run import run_scenarios
from graspline.execution.batched_solves import solve_all
from graspline.execution.requests import Solve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("lift-cube", "oranges"))
    parser.add_argument("--episodes", type=int, default=256)
    parser.add_argument("--together", type=int, nargs="+", default=[1, 32, 256])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=5000)
    options = parser.parse_args()
    task = find_task(options.task)
    parameters = task.parameters()
    scenarios = [
        Scenario(task=task, parameters=parameters, seed=options.seed + index) for index in range(options.episodes)
    ]
    works = {name: asked(solves) for name, solves in solves_of(scenarios).items()}
    works["sample"] = drawn(scenarios)
    found = {name: costs_ms(work, options.together, options.rounds) for name, work in works.items()}
    print(json.dumps(found, indent=2))


Work = Callable[[int], int]


def solves_of(scenarios: list[Scenario]) -> dict[str, list[Solve[Any]]]:
    """What the states of these episodes ask to be solved, by planner."""
    found: dict[str, list[Solve[Any]]] = {}

    def note(solves: list[Solve[Any]]) -> list[Any]:
        for solve in solves:
            found.setdefault(solve.function.__name__, []).append(solve)
        return solve_all(solves)

    with mock.patch("graspline.execution.executor.solve_all", note):
        list(run_scenarios(scenarios, lanes=len(scenarios)))
    return found


def asked(solves: list[Solve[Any]]) -> Work:
    """Solve all of it, so many at a time."""

    def work(together: int) -> int:
        for batch in batches(solves, together):
            solve_all(batch)
        return len(solves)

    return work


def drawn(scenarios: list[Scenario]) -> Work:
    """Draw all scenes, so many at a time."""
    sample: Any = scenarios[0].task.sample

    def work(together: int) -> int:
        for batch in batches(scenarios, together):
            sample.many([(each.parameters, each.random().scene) for each in batch])
        return len(scenarios)

    return work


def batches(items: list[Any], size: int) -> list[list[Any]]:
    return [items[begin : begin + size] for begin in range(0, len(items), size)]


def costs_ms(work: Work, together: list[int], rounds: int) -> dict[str, float]:
    """CPU time of one of the items, by how many are taken at a time."""
    least = dict.fromkeys(together, float("inf"))
    for _ in range(rounds):
        for size in together:
            began = time.process_time()
            count = work(size)
            least[size] = min(least[size], (time.process_time() - began) / count * 1e3)
    return {str(size): round(cost, 4) for size, cost in least.items()}


if __name__ == "__main__":
    main()
