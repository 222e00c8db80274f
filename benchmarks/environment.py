"""What a step of an environment costs over its physics.

    python benchmarks/environment.py                           lift-cube and oranges, ten rounds each
    python benchmarks/environment.py --tasks sort --rounds 3

The actions of an episode, as the task's machine played it, are followed in an environment without pictures. The
controls that this comes to are stepped through bare `mj_step` in turns with it, so that whatever else the machine does
slows both alike. CPU time; the median of the rounds' ratios. One JSON object tells the figures.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from measured.plain_mujoco import raw_ticks
from numpy.typing import NDArray

from graspline.envs.environment import TaskEnv
from graspline.envs.interface import Interface, interface_of
from graspline.envs.recorded_actions import thinned
from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.motion.joint_moves import ramp
from graspline.motion.path import controls_of
from graspline.tasks.catalogue import find_task

SEED = 7
TURN = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=["lift-cube", "oranges"])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--fps", type=int, default=30)
    options = parser.parse_args()
    print(json.dumps({name: measure(name, options.fps, options.rounds) for name in options.tasks}, indent=2))


def measure(name: str, fps: int, rounds: int) -> dict[str, Any]:
    task = find_task(name)
    scenario = Scenario(task=task, parameters=task.parameters(), seed=SEED)
    (episode,) = run_scenarios([scenario])
    scene = task.scene(task.parameters())
    interface = interface_of(scene, fps=fps, cameras="none", units="degrees")
    rows = interface.units.outward(episode.log.positions[1:]).astype(np.float32)
    actions = thinned(rows, interface.ticks_per_frame)
    env = TaskEnv(name, fps=fps, cameras="none", max_seconds=3600)
    spent = []
    for _ in range(rounds):
        env.reset(seed=SEED)
        playing = (env.step(action)[2] for action in actions)
        spent.append(side_by_side(playing, bare(episode, interface, actions), interface.ticks_per_frame))
    step_s, raw_s = np.array(spent).T / len(actions)
    return {
        "steps": len(actions),
        "step_us": round(float(np.median(step_s)) * 1e6, 1),
        "physics_us": round(float(np.median(raw_s)) * 1e6, 1),
        "step_over_raw": round(float(np.median(step_s / raw_s)), 3),
        "step_over_raw_fastest": round(float(step_s.min() / raw_s.min()), 3),
    }


def bare(episode: Episode, interface: Interface, actions: NDArray[np.float32]) -> Iterator[object]:
    """The controls of these actions through bare physics, tick by tick."""
    scene, start = episode.scenario.task.scene(episode.scenario.parameters), episode.log.start
    at, controls = start[[scene.joint_address(each) for each in scene.robot.joints]], []
    for action in actions:
        path = ramp(scene.robot, at, interface.target_rad(action), interface.ticks_per_frame)
        controls.append(controls_of(scene.robot, path.positions, path.velocities))
        at = path.end
    return raw_ticks(scene, start, episode.log.variation, np.concatenate(controls))


def side_by_side(playing: Iterator[object], raw: Iterator[object], ticks: int) -> tuple[float, float]:
    """CPU seconds of both, a few steps of the one and as many of the other in turns."""
    spent_s = [0.0, 0.0]
    while True:
        began = time.process_time()
        played = sum(1 for _ in itertools.islice(playing, TURN))
        turned = time.process_time()
        for _ in itertools.islice(raw, played * ticks):
            pass
        spent_s[0] += turned - began
        spent_s[1] += time.process_time() - turned
        if played < TURN:
            return spent_s[0], spent_s[1]


if __name__ == "__main__":
    main()
