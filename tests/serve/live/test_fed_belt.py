"""A session of `sort`: the belt runs and is fed while a person drives, and not twice while a log is played."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.envs.evaluation import PolicyPilot
from graspline.envs.interface import interface_of
from graspline.envs.policies import LocalPolicies
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.parameters import load
from graspline.robots.ur5e import HOME
from graspline.serve.live.commands import Home, MoveTool, ReplayEpisode
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.tasks.sort.parameters import Sort
from graspline.tasks.sort.task import SORT

from .benches import Bench

QUICK = load(Sort, {"belt": {"blocks": 10, "density_per_m": 6.0, "speed_m_s": 0.4}})


def riding(bench: Bench, snapshot: SessionSnapshot) -> dict[str, float]:
    """How far up the belt each block is that is there."""
    found = {}
    for name in bench.conductor.scene.object_names:
        at = bench.conductor.scene.joint_address(name)
        if np.abs(snapshot.qpos[at : at + 2]).max() < 2:
            found[name] = float(snapshot.qpos[at + 1])
    return found


def test_blocks_ride_by_and_more_of_them_come_while_nobody_does_anything() -> None:
    bench = Bench(SORT, QUICK)
    before = riding(bench, bench.snapshot)
    snapshot = bench.tick(120).snapshot
    after = riding(bench, snapshot)
    assert snapshot.mode == "idle"
    assert len(after) > len(before)
    for name, y in before.items():
        assert after[name] == pytest.approx(y - 0.4, abs=0.05)


def test_a_person_moves_the_tool_of_the_ur5e_and_sends_it_home() -> None:
    bench = Bench(SORT, QUICK)
    bench.done(MoveTool((0.5, 0.1, 0.25), np.pi / 2, 0.3))
    np.testing.assert_allclose(bench.tick(60).snapshot.tcp.position_m, (0.5, 0.1, 0.25), atol=2e-3)
    bench.done(Home())


def test_a_log_is_replayed_to_the_same_bits_for_nobody_feeds_the_belt_again() -> None:
    interface = interface_of(SORT.scene(QUICK), fps=10, cameras="none", units="degrees")
    home = interface.units.outward(HOME)
    policies = LocalPolicies(interface, lambda _: lambda observation: home)
    pilot = PolicyPilot(interface=interface, policies=policies, max_seconds=2.0)
    (episode,) = run_scenarios([Scenario(task=SORT, parameters=QUICK, seed=5)], pilot=pilot)
    assert len(episode.log.events) >= 4
    # In the scene of another seed.
    answer = Bench(SORT, QUICK, 1).done(ReplayEpisode(episode.log, "episode", episode.state_hash))
    assert "the same bits as recorded" in answer.text
