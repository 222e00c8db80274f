"""Episodes an hour on a GPU, next to what its physics reaches when nobody plans.

    python benchmarks/gpu.py lift-cube --lanes 8192 --episodes 32768
    python benchmarks/gpu.py oranges --lanes 4096 --episodes 8192

First the same scene is stepped with arms that stand still: the limit. Then episodes are played by as many processes as
there are cores. The first run compiles kernels for minutes; they are kept for later ones.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

from graspline import Scenario, find_task
from graspline.engine.choose import GPU, open_gpu_engine
from graspline.engine.cpu import CpuEngine
from graspline.engine.shards import Spent
from graspline.episodes.certify import certified
from graspline.episodes.crew import play_together
from graspline.episodes.run import Episode
from graspline.parameters import build

_WARM_TICKS, _IDLE_TICKS = 3, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of a run."""

    episodes: int
    verdicts: Counter[str]
    false_successes: int
    wall_s: float
    spent: Spent
    # Successes that the CPU was asked about, and those that it certified.
    asked: int
    certified: int
    failed_seeds: tuple[int, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task")
    parser.add_argument("--lanes", type=int, default=4096)
    parser.add_argument("--episodes", type=int, default=0, help="0: four for each lane")
    parser.add_argument("--processes", type=int, default=max(1, len(os.sched_getaffinity(0)) - 1))
    parser.add_argument("--teams", type=int, default=2, help="each of so many processes")
    parser.add_argument("--certify", action="store_true", help="play successes again on the CPU, after the others")
    parser.add_argument("--seed", type=int, default=9700000)
    parser.add_argument("--device", default=GPU, help="a device that Warp knows")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    asked = parser.parse_args()
    task = find_task(asked.task)
    parameters = build(task.parameters, None, asked.set)
    count = asked.episodes or 4 * asked.lanes
    scenarios = [Scenario(task=task, parameters=parameters, seed=asked.seed + number) for number in range(count)]
    idle = idle_ticks_a_second(scenarios[: asked.lanes], asked.device)
    played = play(scenarios, asked)
    substeps = task.scene(parameters).robot.substeps
    steps = played.spent.lane_ticks * substeps / played.spent.stepping_s
    idle_steps = idle * substeps * asked.lanes
    print(
        json.dumps(
            {
                "task": asked.task,
                "lanes": asked.lanes,
                "processes": asked.teams * asked.processes,
                "episodes": played.episodes,
                "success": round(played.verdicts["success"] / max(played.episodes, 1), 5),
                "verdicts": dict(played.verdicts),
                "false_successes": played.false_successes,
                "failed_seeds": played.failed_seeds[:20],
                **({"certified": f"{played.certified} of {played.asked}"} if asked.certify else {}),
                "wall_s": round(played.wall_s, 1),
                "episodes_an_hour": round(3600 * played.episodes / played.wall_s),
                "physics_share_of_wall": round(played.spent.stepping_s / played.wall_s, 3),
                "steps_a_second_of_physics": round(steps),
                "idle_steps_a_second": round(idle_steps),
                "physics_over_idle": round(steps / idle_steps, 3),
            }
        ),
        flush=True,
    )


def idle_ticks_a_second(scenarios: list[Scenario], device: str) -> float:
    """How fast arms that stand still are stepped, all lanes at once."""
    scene = scenarios[0].task.scene(scenarios[0].parameters)
    engine = open_gpu_engine(scene, len(scenarios), device)
    draws = [scenario.draw() for scenario in scenarios]
    for lane, draw in enumerate(draws):
        engine.reset(lane, draw.start, draw.variation)
    at = np.array([[draw.start[scene.joint_address(name)] for name in scene.robot.joints] for draw in draws])
    lanes = np.arange(len(scenarios))
    for _ in range(_WARM_TICKS):
        engine.step(at, lanes)
    began = time.perf_counter()
    for _ in range(_IDLE_TICKS):
        engine.step(at, lanes)
    return _IDLE_TICKS / (time.perf_counter() - began)


def play(scenarios: list[Scenario], asked: argparse.Namespace) -> Played:
    """All of them, from the first tick to the last."""
    spent, verdicts, wrong = Spent(), Counter[str](), 0
    kept, failed = list[Episode](), list[int]()
    for episode in play_together(
        scenarios,
        lanes=asked.lanes,
        processes=asked.processes,
        teams=asked.teams,
        device=asked.device,
        keep_logs=asked.certify,
        spent=spent,
        clock=time.perf_counter,
    ):
        verdicts[episode.verdict] += 1
        wrong += episode.false_success
        if episode.succeeded:
            kept += [episode] if asked.certify else []
        else:
            failed.append(episode.scenario.seed)
    scene = scenarios[0].task.scene(scenarios[0].parameters)
    again = certified(kept, CpuEngine(scene, 256)) if kept else ()
    return Played(
        episodes=sum(verdicts.values()),
        verdicts=verdicts,
        false_successes=wrong,
        wall_s=spent.all_s,
        spent=spent,
        asked=len(kept),
        certified=sum(bool(episode.certified) for episode in again),
        failed_seeds=tuple(sorted(failed)),
    )


if __name__ == "__main__":
    main()
