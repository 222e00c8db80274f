"""Can the demonstrations be imitated once seeing is taken out? A small network that is given the object's pose.

    python examples/policies/state_policy.py DATASET [DATASET …] [--frames 100000] [--steps 6000] [--episodes 300]
        [--play 8 20] [--fault shove@follow+1.5] [--seed 0]

Trains a three-layer perceptron on datasets of `lift-cube` without pictures (`graspline generate --cameras none`):
joints, place, heading modulo 90° and size of the cube in, the next 20 actions out, as offsets from the joints. Then
lets it do the task closed loop, playing the first `--play` of them before it is asked again. Needs torch; a CPU is
enough. The figures it gave are in benchmarks/policies.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray

from graspline import Scenario, find_task, run_scenarios
from graspline.envs.interface import Interface, interface_of, joints_rad
from graspline.episodes.observers import Instant
from graspline.episodes.policy_drivers import Ruling
from graspline.episodes.statistics import wilson
from graspline.episodes.success_by_truth import Referee
from graspline.execution.drivers import FOLLOW, follow
from graspline.execution.notifications import Ended, Entered
from graspline.execution.requests import Announce, Reply, Solve
from graspline.kinematics.so101 import PAN_X_M

Array = NDArray[np.float64]

AHEAD, FPS, LIMIT_S = 20, 30, 12.0
COLUMNS = ("episode_index", "observation.state", "action", "graspline.object_poses")


def features(joints: Array, poses: Array) -> NDArray[np.float32]:
    """Inputs (n, 13): joints in degrees, the cube's place in centimetres and degrees, its heading modulo 90°."""
    w, x, y, z = poses[:, 3:7].T
    yaw = 4 * np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    ahead, aside = poses[:, 0] - PAN_X_M, poses[:, 1]
    place = (100 * ahead, 100 * aside, 100 * poses[:, 2], 100 * np.hypot(ahead, aside))
    turned = (np.degrees(np.arctan2(aside, ahead)), 30 * np.cos(yaw), 30 * np.sin(yaw))
    return np.column_stack([joints, *place, *turned]).astype(np.float32)


def read(folders: list[Path], frames: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Inputs and targets of whole episodes, equally many frames from every dataset, `frames` in all."""
    random, found = np.random.default_rng(seed), list[tuple[Any, Any]]()
    for folder in folders:
        table = pq.read_table(sorted((folder / "data").rglob("*.parquet")))
        episode = table["episode_index"].to_numpy()
        state, action, poses = (np.array(table[name].to_pylist(), np.float64) for name in COLUMNS[1:])
        # Of an episode that a policy began, what the policy did is not to be imitated.
        taught = np.array([name != FOLLOW for name in table["graspline.state"].to_pylist()])
        ends, left = np.append(np.flatnonzero(np.diff(episode)), len(episode) - 1), frames // len(folders)
        begins = np.append(0, ends[:-1] + 1)
        for index in random.permutation(len(ends)).tolist():
            rows = np.arange(begins[index], ends[index] + 1)
            rows = rows[taught[rows]][:left]
            ahead = np.minimum(rows[:, None] + np.arange(AHEAD), ends[index])
            offsets = (action[ahead] - state[rows][:, None]).reshape(len(rows), -1)
            found.append((features(state[rows], poses[rows]), offsets.astype(np.float32)))
            left -= len(rows)
            if left <= 0:
                break
    inputs, targets = zip(*found, strict=True)
    return np.concatenate(inputs), np.concatenate(targets)


class Net:
    """The trained network as the function of a `Solve`: all lanes that ask on one tick are one forward pass."""

    def __init__(self, inputs: NDArray[np.float32], targets: NDArray[np.float32], steps: int, seed: int) -> None:
        torch.manual_seed(seed)
        self._mean, self._std = inputs.mean(0), inputs.std(0) + 1e-3
        self._out_mean, self._out_std = targets.mean(0), targets.std(0) + 1e-3
        x, y = (
            torch.from_numpy((inputs - self._mean) / self._std),
            torch.from_numpy((targets - self._out_mean) / self._out_std),
        )
        layers: list[torch.nn.Module] = []
        for width in (x.shape[1], 384, 384):
            layers += [torch.nn.Linear(width, 384), torch.nn.GELU()]
        self._net = torch.nn.Sequential(*layers, torch.nn.Linear(384, y.shape[1]))
        optimizer = torch.optim.AdamW(self._net.parameters(), 1e-3)
        self.loss = math.nan
        for step in range(steps):
            for group in optimizer.param_groups:
                group["lr"] = 5e-4 * (1 + math.cos(math.pi * step / steps)) + 1e-6
            batch = torch.randint(len(x), (512,))
            loss = (self._net(x[batch]) - y[batch]).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            self.loss = float(loss.detach())

    def many(self, asked: list[tuple[Array, Array]]) -> list[Array]:
        """The next actions (20, 6) for joints and poses, of each lane."""
        joints, poses = (np.stack(each) for each in zip(*asked, strict=True))
        with torch.no_grad():
            out = self._net(torch.from_numpy((features(joints, poses) - self._mean) / self._std)).numpy()
        return list((out * self._out_std + self._out_mean).reshape(len(asked), AHEAD, -1) + joints[:, None])

    def __call__(self, joints: Array, poses: Array) -> Array:
        return self.many([(joints, poses)])[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePilot:
    """Lets the network drive; judged by truth as any policy is."""

    interface: Interface
    net: Net
    # Actions of each answer that are played.
    play: int
    smooth: bool = False

    @property
    def states(self) -> tuple[str, ...]:
        return (FOLLOW,)

    def drive(self, instant: Instant, first: Reply) -> Generator[Any, Any, Ruling]:
        referee, ahead, verdict = Referee(instant.scenario, instant.sampled), list[Array](), ""

        def choose(reply: Reply) -> Generator[Any, Any, Array | None]:
            nonlocal verdict
            snapshot = replace(instant, time_s=reply.time_s).snapshot()
            if referee.succeeded(snapshot):
                verdict = "success"
            elif reply.time_s >= LIMIT_S - 1e-9:
                verdict = "out_of_time"
            if verdict:
                return None
            if not ahead:
                cube = snapshot.objects["cube"]
                joints = self.interface.units.outward(joints_rad(instant.engine, instant.lane))
                answer = yield Solve(self.net, (joints, np.concatenate([cube.position_m, cube.quaternion])))
                ahead.extend(cast(Array, answer.value)[: self.play])
            return self.interface.target_rad(ahead.pop(0))

        yield Announce(Entered(FOLLOW))
        yield from follow(self.interface.robot, first, choose, rate_hz=FPS)
        yield Announce(Ended(FOLLOW, verdict, f"end: {verdict}", referee.evidence))
        return Ruling(verdict=verdict, evidence=referee.evidence)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+", type=Path)
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--first-seed", type=int, default=99_000_000)
    parser.add_argument("--play", type=int, nargs="+", default=[8], metavar="N", help="actions played of each 20")
    parser.add_argument("--fault", action="append", default=[], help="one more evaluation with this fault; repeatable")
    parser.add_argument("--seed", type=int, default=0, help="of the training")
    given = parser.parse_args()
    began = time.perf_counter()
    inputs, targets = read(given.datasets, given.frames, given.seed)
    net = Net(inputs, targets, given.steps, given.seed)
    trained_s = time.perf_counter() - began
    task = find_task("lift-cube")
    parameters = task.parameters()
    interface = interface_of(task.scene(parameters), fps=FPS, cameras="none", units="degrees")
    for play, fault in itertools.product(given.play, (None, *given.fault)):
        faults = () if fault is None else (fault,)
        scenarios = [
            Scenario(task=task, parameters=parameters, seed=given.first_seed + index, faults=faults)
            for index in range(given.episodes)
        ]
        pilot = StatePilot(interface=interface, net=net, play=play)
        good = sum(each.succeeded for each in run_scenarios(scenarios, lanes=64, pilot=pilot))
        low, high = wilson(good, given.episodes)
        print(
            json.dumps(
                {
                    "datasets": [each.name for each in given.datasets],
                    "frames": len(inputs),
                    "steps": given.steps,
                    "training_seed": given.seed,
                    "loss": round(net.loss, 4),
                    "trained_s": round(trained_s),
                    "play": play,
                    "fault": fault,
                    "succeeded": good,
                    "of": given.episodes,
                    "interval": [round(low, 3), round(high, 3)],
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
