"""How often a task's expert finishes what a bad policy has begun, and why it does not where it does not.

Each scene is first played by the expert. Then a policy plays it that follows the expert's actions badly: it stops
anywhere on the way, misses by some degrees, presses on the table, drops, pushes, swings about, or wanders off.

    python benchmarks/takeovers.py lift-cube --episodes 280 --seed 5000
    python benchmarks/takeovers.py oranges --episodes 70 --seed 3000 --set oranges.count=1
"""

from __future__ import annotations

import argparse
import collections
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from graspline import TASKS, Scenario
from graspline.envs.evaluation import PolicyPilot
from graspline.envs.failure_watch import TakeoverParameters
from graspline.envs.interface import Interface, Observation, interface_of
from graspline.envs.policies import LocalPolicies, Policy
from graspline.envs.takeover import TakeoverPilot
from graspline.episodes.episode import Episode, Transition
from graspline.episodes.run import run_scenarios
from graspline.episodes.statistics import rate_text
from graspline.evidence import failures, passes
from graspline.execution.drivers import FOLLOW
from graspline.grasping.topdown import plan_grasp
from graspline.kinematics.so101 import PAN_X_M
from graspline.motion.path import at_rest
from graspline.parameters import build
from graspline.perception.core.beliefs import Belief
from graspline.refusal import Refusal
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import CUBE
from graspline.tasks.lift_cube import LiftCube, collision_world
from graspline.tasks.stages.sight import resting

Array = NDArray[np.float64]

KINDS = ("stops", "misses", "presses", "drops", "pushes", "swings", "wanders")
FPS = 15
# After so much simulated time an episode is hung.
_LIMIT_S = 600.0


class BadPolicy:
    """The expert's actions (F, 6) of one scene, followed badly."""

    def __init__(self, kind: str, actions: Array, seed: int) -> None:
        self._kind, self._actions, self._frame = kind, actions, 0
        self._random = np.random.default_rng(seed)
        self._offset = np.zeros(6)
        if kind == "misses":
            self._offset[:5] = self._random.normal(0, 1, 5) * (5, 4, 4, 6, 10)
        self._cut = int(self._random.integers(int(len(actions) * 0.2), len(actions)))
        self._swing = self._random.uniform(0.3, 1.0)
        self._direction = self._random.normal(0, 1, 6)

    def __call__(self, observation: Observation) -> Array:
        frame, here = self._frame, observation["agent_pos"].astype(float)
        self._frame += 1
        return getattr(self, f"_{self._kind}")(frame, here)

    def _expert(self, frame: int) -> Array:
        return self._actions[min(frame, len(self._actions) - 1)].copy()

    def _stops(self, frame: int, here: Array) -> Array:
        return self._expert(min(frame, self._cut))

    def _misses(self, frame: int, here: Array) -> Array:
        return self._expert(frame) + self._offset

    def _presses(self, frame: int, here: Array) -> Array:
        action, late = self._expert(min(frame, self._cut)), max(frame - self._cut, 0)
        action[1:3] += np.array([4.0, 2.0]) * late
        return action

    def _drops(self, frame: int, here: Array) -> Array:
        action = self._expert(frame)
        # A short episode ends with a lift; from a long one on the way to a plate it is dropped anywhere.
        last = len(self._actions) - 16 if len(self._actions) < 10 * FPS else max(self._cut, 0.35 * len(self._actions))
        if frame > last:
            action[5] = 70
        return action

    def _pushes(self, frame: int, here: Array) -> Array:
        action = self._expert(frame)
        if frame > 0.15 * len(self._actions):
            action[5] = min(action[5], 10)
        action[0] += 25 * np.sin(frame / 8)
        return action

    def _swings(self, frame: int, here: Array) -> Array:
        return here + 20 * self._swing * self._direction * np.sin(frame / 10 + np.arange(6))

    def _wanders(self, frame: int, here: Array) -> Array:
        self._direction = 0.9 * self._direction + 0.5 * self._random.normal(0, 1, 6)
        return self._expert(frame) if frame < self._cut else here + 6 * self._direction


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=[name for name, task in TASKS.items() if task.takeover is not None])
    parser.add_argument("--episodes", type=int, default=280)
    parser.add_argument("--seed", type=int, default=5000)
    parser.add_argument("--lanes", type=int, default=16)
    parser.add_argument("--set", dest="settings", action="append", default=[])
    asked = parser.parse_args()
    task = TASKS[asked.task]
    parameters = build(task.parameters, None, asked.settings)
    seeds = range(asked.seed, asked.seed + asked.episodes)
    scenarios = [Scenario(task=task, parameters=parameters, seed=seed) for seed in seeds]
    interface = interface_of(task.scene(parameters), fps=FPS, cameras="none", units="degrees")
    make_policy = bad_policies(scenarios, interface, asked.lanes)
    pilot = TakeoverPilot(
        policy=PolicyPilot(interface=interface, policies=LocalPolicies(interface, make_policy), max_seconds=math.inf),
        takeover=TakeoverParameters(),
        machine=task.machine(parameters),
    )
    tell(list(run_scenarios(scenarios, lanes=asked.lanes, pilot=pilot, limit_s=_LIMIT_S)), asked.seed)


def bad_policies(scenarios: Sequence[Scenario], interface: Interface, lanes: int) -> Callable[[Scenario], Policy]:
    """What makes the policy of a scene, from what the expert does there."""
    step, actions = interface.ticks_per_frame, dict[int, Array]()
    for episode in run_scenarios(scenarios, lanes=lanes):
        actions[episode.scenario.seed] = interface.units.outward(episode.log.positions[step::step])
    first = scenarios[0].seed

    def make_policy(scenario: Scenario) -> Policy:
        return BadPolicy(_kind(scenario.seed, first), actions[scenario.seed], scenario.seed + 12345)

    return make_policy


def _kind(seed: int, first: int) -> str:
    return KINDS[(seed - first) % len(KINDS)]


def tell(episodes: Sequence[Episode], first: int) -> None:
    """Counts by kind of policy and by reason, and every takeover that failed."""
    taken = [each for each in episodes if _follow(each).then == "take_over"]
    done = [each for each in taken if each.succeeded and passes(each.goal_by_truth)]
    for kind in KINDS:
        mine = [each for each in episodes if _kind(each.scenario.seed, first) == kind]
        ends = collections.Counter(("" if each in taken else "by the policy: ") + each.verdict for each in mine)
        print(f"{kind}: {', '.join(f'{verdict} {count}' for verdict, count in ends.most_common())}")
    print("reasons:", dict(collections.Counter(_follow(each).outcome for each in taken).most_common()))
    print(f"finished by the expert: {rate_text(len(done), len(taken))}")
    print(f"false successes: {sum(each.false_success for each in episodes)}")
    for each in taken:
        if each not in done:
            print(_failure(each, first))


def _follow(episode: Episode) -> Transition:
    return next(each for each in episode.transitions if each.state == FOLLOW)


def _failure(episode: Episode, first: int) -> str:
    name, seed, broken = episode.targets[-1], episode.scenario.seed, failures(episode.evidence)
    x, y, z = episode.truth["objects"][name]["position_m"]
    far_m, azimuth = math.hypot(x - PAN_X_M, y), math.degrees(math.atan2(y, x - PAN_X_M))
    where = f"{far_m:.3f} m from the pan axis at {azimuth:.0f}°, {z:.3f} m high"
    why = broken[0] if broken else ""
    return f"  seed {seed} ({_kind(seed, first)}): {episode.verdict}, {where}, {_reach(episode)}; {why}"


def _reach(episode: Episode) -> str:
    """Whether a grasp of the cube can be planned from home, where it lies in the end."""
    parameters = episode.scenario.parameters
    if not isinstance(parameters, LiftCube):
        return "reach not checked"
    cube = episode.truth["objects"][CUBE]
    estimate = Belief(
        name=CUBE,
        position_m=np.array(cube["position_m"]),
        quaternion=np.array(cube["quaternion"]),
        half_extents_m=np.array(cube["size_m"]) / 2,
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
        time_s=episode.sim_time_s,
    )
    home, reach = at_rest(SO101.home), parameters.reach.whole()
    found = plan_grasp(SO101, collision_world(), resting(estimate), home, parameters.jaw, reach)
    return f"out of reach ({found.check})" if isinstance(found, Refusal) else "IN REACH"


if __name__ == "__main__":
    main()
