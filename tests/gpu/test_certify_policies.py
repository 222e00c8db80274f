"""A policy's episodes played again on the CPU from their logs; what a GPU plays, on Warp's CPU device."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest

from envs.playing import SEED, interface, recorded, recorded_actions, scenario
from graspline.engine.cpu import CpuEngine
from graspline.envs.evaluation import PolicyPilot
from graspline.envs.interface import Interface, Observation
from graspline.envs.pictures import source_for
from graspline.envs.policies import LocalPolicies, Policy
from graspline.envs.recorded_actions import recited
from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.gpu.certify_policies import certified_by_frames
from graspline.gpu.choose import open_gpu_engine
from graspline.scenes.cube_table import cube_table
from graspline.tasks.catalogue import find_task

# The recorded episode takes 4.2 s; the one that misses its cube lasts until then.
SECONDS = 5.5


def lift(_: Scenario) -> Policy:
    return recited(recorded_actions(recorded().log, interface()))


def run(seen: Interface, seeds: tuple[int, ...], max_seconds: float, make: Any = lift, **options: Any) -> list[Episode]:
    pilot = PolicyPilot(interface=seen, policies=LocalPolicies(seen, make), max_seconds=max_seconds)
    return list(run_scenarios([scenario(seed) for seed in seeds], lanes=2, pilot=pilot, **options))


@functools.cache
def on_the_cpu() -> tuple[Episode, ...]:
    """A cube that is lifted, and one that the same actions miss."""
    return tuple(sorted(run(interface(), (SEED, SEED + 1), SECONDS), key=lambda each: each.scenario.seed))


def certify(*episodes: Episode) -> list[Episode]:
    found = certified_by_frames(episodes, CpuEngine(cube_table(), 2, 1), interface())
    return sorted(found, key=lambda each: each.scenario.seed)


def test_success_and_failure_are_found_again_with_the_hash_of_the_cpu() -> None:
    played = on_the_cpu()
    assert [each.succeeded for each in played] == [True, False]
    from_gpu = [dataclasses.replace(each, state_hash="of a GPU", engine="gpu") for each in played]
    found = certify(*from_gpu)
    assert [each.certified for each in found] == [True, True]
    assert [each.state_hash for each in found] == [each.state_hash for each in played]
    assert [each.truth for each in found] == [each.truth for each in played]


def test_what_ends_otherwise_on_the_cpu_is_not_certified() -> None:
    lifted, missed = on_the_cpu()
    log = lifted.log
    still = dataclasses.replace(log, positions=np.tile(log.positions[0], (len(log.positions), 1)))
    still = dataclasses.replace(still, velocities=np.zeros_like(log.velocities))
    found = certify(
        dataclasses.replace(lifted, log=still), dataclasses.replace(missed, log=log, sampled=lifted.sampled)
    )
    assert [each.certified for each in found] == [False, False]


def test_what_broke_down_comes_back_as_it_is() -> None:
    lifted, missed = on_the_cpu()
    broken = [dataclasses.replace(lifted, verdict="policy_error"), dataclasses.replace(missed, verdict="interrupted")]
    assert certify(*broken) == broken


@pytest.mark.slow
def test_blocks_that_the_world_sends_are_accounted_for_when_a_log_is_judged_again() -> None:
    task = find_task("sort")
    given = {"belt.blocks": 2, "belt.density_per_m": 6.0}
    parameters = task.parameters.model_validate({"belt": {key[5:]: value for key, value in given.items()}})
    order = Scenario(task=task, parameters=parameters, seed=0)
    (by_machine,) = run_scenarios([order])
    assert by_machine.succeeded
    scene = task.scene(parameters)
    from graspline.envs.interface import interface_of

    seen = interface_of(scene, fps=60, cameras="none", units="degrees")
    actions = recorded_actions(by_machine.log, seen)
    policies = LocalPolicies(seen, lambda _: recited(actions))
    pilot = PolicyPilot(interface=seen, policies=policies, max_seconds=by_machine.sim_time_s + 1)
    (followed,) = run_scenarios([order], pilot=pilot)
    (found,) = certified_by_frames([followed], CpuEngine(scene, 1, 1), seen)
    assert followed.succeeded
    assert found.certified
    assert found.state_hash == followed.state_hash


@pytest.mark.slow
def test_a_warp_device_steps_and_renders_for_a_policy_and_the_cpu_finds_the_same() -> None:
    seen, shapes = interface(cameras="front:32x24,wrist:16x16"), set[tuple[int, ...]]()

    def make(_: Scenario) -> Policy:
        follow = lift(_)

        def policy(observation: Observation) -> object:
            shapes.update(pixels.shape for pixels in observation["pixels"].values() if pixels.any())
            return follow(observation)

        return policy

    said: list[str] = []
    source = source_for("gpu", cube_table(), seen, smooth=False, say=said.append, device="cpu")
    played = run(
        seen,
        (SEED, SEED + 1),
        SECONDS,
        make,
        make_engine=lambda scene, count, threads: open_gpu_engine(scene, count, "cpu"),
        open_source=source,
    )
    assert {each.scenario.seed: each.succeeded for each in played} == {SEED: True, SEED + 1: False}
    assert all(each.engine == "gpu" for each in played)
    assert shapes == {(24, 32, 3), (16, 16, 3)}
    assert said == []
    assert all(each.certified for each in certify(*played))
