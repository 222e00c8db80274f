"""Policies that act on what they see: the same bits whatever renders, in any number of lanes, and from the log."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.envs.evaluation import PolicyPilot
from graspline.envs.interface import Observation
from graspline.envs.pictures import source_for
from graspline.envs.policies import LocalPolicies
from graspline.episodes.episode import Episode
from graspline.episodes.log import replay_log
from graspline.episodes.render_pool import RenderPool
from graspline.episodes.run import run_scenarios
from graspline.rendering.batches import OpenSource
from graspline.scenes.cube_table import cube_table

from .playing import interface, scenario

VIEWS = "front:32x24,wrist:16x16"
SEEDS = range(8)


def follow_pixels(observation: Observation) -> object:
    """Turns each joint by what it sees: any other pixel gives other states."""
    total = sum(int(pixels.astype(np.int64).sum()) for pixels in observation["pixels"].values())
    return observation["agent_pos"] + np.array([(total >> 3 * joint) % 61 / 61 - 0.5 for joint in range(6)])


def played(lanes: int, *faults: str, open_source: OpenSource | None = None, cameras: str = VIEWS) -> list[Episode]:
    """By seed."""
    seen = interface(cameras=cameras)
    pilot = PolicyPilot(interface=seen, policies=LocalPolicies(seen, lambda _: follow_pixels), max_seconds=0.6)
    scenarios = [scenario(seed, *faults) for seed in SEEDS]
    episodes = run_scenarios(scenarios, lanes=lanes, pilot=pilot, open_source=open_source)
    return sorted(episodes, key=lambda each: each.scenario.seed)


def hashes(episodes: list[Episode]) -> list[str]:
    return [each.state_hash for each in episodes]


def on_two_workers(scene: object, lanes: int) -> RenderPool:
    return RenderPool(cube_table(), 2)


def test_one_lane_and_eight_give_the_same_bits() -> None:
    assert hashes(played(1)) == hashes(played(8))


def test_an_episode_replays_from_its_log_to_the_same_bits() -> None:
    episodes = played(4, "shove@follow+0.2")
    assert all(each.strikes for each in episodes)
    engine = CpuEngine(cube_table(), 1, 1)
    assert [replay_log(engine, each.log) for each in episodes] == hashes(episodes)


@pytest.mark.slow
@pytest.mark.parametrize("faults", [(), ("blackout@follow+0.2", "shove@follow+0.3"), ("delay@follow+0.1",)])
def test_worker_processes_show_a_policy_what_this_process_would(faults: tuple[str, ...]) -> None:
    here = hashes(played(1, *faults))
    assert hashes(played(8, *faults, open_source=on_two_workers)) == here
    assert len(set(here)) == len(SEEDS)


def test_nothing_renders_where_there_is_nothing_to_see_or_to_share_out() -> None:
    said: list[str] = []
    blind, seeing = interface(), interface(cameras=VIEWS)
    assert source_for("cpu", cube_table(), blind, smooth=False, say=said.append) is None
    assert source_for("gpu", cube_table(), blind, smooth=False, say=said.append) is None
    opened = source_for("cpu", cube_table(), seeing, smooth=False, say=said.append)
    assert opened is not None
    assert opened(cube_table(), 1) is None
    assert said == []


def test_what_a_gpu_cannot_render_is_told() -> None:
    said: list[str] = []
    source_for("gpu", cube_table(), interface(cameras=VIEWS), smooth=True, say=said.append)
    assert said == ["pictures are rendered on the CPU: a GPU cannot render edges that are antialiased"]
