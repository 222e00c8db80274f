"""The expert takes over from policies that stand still, run into the table, miss, drop and push."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.envs.evaluation import PolicyPilot
from graspline.envs.failure_watch import TakeoverParameters
from graspline.envs.interface import Observation
from graspline.envs.policies import LocalPolicies, Policy
from graspline.envs.recorded_actions import Actions, recited
from graspline.envs.takeover import TakeoverPilot, _kept
from graspline.episodes.episode import Episode
from graspline.episodes.log import replay_log
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.evidence import passes
from graspline.execution.notifications import EndsAs
from graspline.parameters import Range
from graspline.scenes.cube_table import cube_table
from graspline.scenes.scene import Scene
from graspline.tasks.lift_cube import LIFT_CUBE

from .playing import PARAMETERS, SEED, interface, recorded, recorded_actions, scenario

FPS = 15


@functools.cache
def expert_actions() -> Actions:
    return recorded_actions(recorded().log, interface(FPS))


def stays(observation: Observation) -> object:
    return observation["agent_pos"]


class Presses:
    """Drives the hand into the table, and on."""

    def __init__(self) -> None:
        self._target: Any = None

    def __call__(self, observation: Observation) -> object:
        self._target = observation["agent_pos"] if self._target is None else self._target + np.array([0, 2, 1, 0, 0, 0])
        return self._target


def misses() -> Policy:
    """The expert's own actions, a few degrees aside."""
    return recited(expert_actions() + np.array([0, 0, 0, 9, 40, 0], np.float32))


def drops() -> Policy:
    """The same, opening at the end of the lift."""
    actions = expert_actions().copy()
    actions[-18:, 5] = 70
    return recited(actions)


def pushes() -> Policy:
    """Sweeps through the place of the cube with closed jaws."""
    actions = expert_actions().copy()
    actions[:, 5] = 5
    actions[:, 0] += (25 * np.sin(np.arange(len(actions)) / 8)).astype(np.float32)
    return recited(actions)


def play(make_policy: Callable[[], Policy], *scenarios: Scenario, lanes: int = 1, **takeover: Any) -> list[Episode]:
    seen = interface(FPS)
    policies = LocalPolicies(seen, lambda _: make_policy())
    pilot = TakeoverPilot(
        policy=PolicyPilot(interface=seen, policies=policies, max_seconds=np.inf),
        takeover=TakeoverParameters(**takeover),
        machine=LIFT_CUBE.machine(PARAMETERS),
    )
    played = run_scenarios(scenarios or [scenario()], lanes=lanes, pilot=pilot)
    return sorted(played, key=lambda episode: episode.scenario.seed)


@pytest.mark.parametrize(
    ("make_policy", "reasons"),
    [
        (lambda: stays, {"stood_still"}),
        (Presses, {"blocked"}),
        (misses, {"pushed", "blocked", "dropped", "stood_still", "no_progress"}),
        (drops, {"dropped"}),
        (pushes, {"pushed", "blocked", "no_progress", "dropped"}),
    ],
    ids=["stays", "presses", "misses", "drops", "pushes"],
)
def test_the_expert_finishes_what_a_policy_cannot(make_policy: Callable[[], Policy], reasons: set[str]) -> None:
    (episode,) = play(make_policy)
    first, *after = episode.transitions
    assert first.state == "follow"
    assert first.outcome in reasons
    assert first.then == "take_over"
    assert first.evidence
    assert (after[0].state, after[0].outcome) == ("take_over", "ready")
    assert (episode.verdict, episode.succeeded) == ("success", True)
    assert passes(episode.goal_by_truth)


def test_an_episode_that_the_policy_finishes_is_its_own() -> None:
    (episode,) = play(lambda: recited(expert_actions()))
    assert [(each.state, each.outcome, each.then) for each in episode.transitions] == [
        ("follow", "success", EndsAs("success"))
    ]
    assert episode.succeeded
    assert episode.retries == 0


def test_the_reference_goes_on_from_the_command_in_force_and_brakes() -> None:
    """At a random time amid a fast motion; the executor refuses jumps of position, limits hold on every tick."""
    (episode,) = play(lambda: recited(expert_actions()), after_s=Range(0.3, 0.6))
    assert episode.transitions[0].outcome == "random_time"
    robot = interface().robot
    steps = np.abs(np.diff(episode.log.positions, axis=0)) * robot.control_hz
    assert (steps <= robot.limits.velocity * (1 + 1e-6)).all()
    taken = round(episode.transitions[0].t_s * robot.control_hz)
    before, after = steps[taken - 1].max(), steps[taken].max()
    # A frame's reference ends as if at rest; the expert goes on with its speed and comes to rest from there.
    assert before > 0.1
    assert after > 0.5 * before


def test_a_takeover_has_the_same_bits_in_any_company_and_replays_without_the_policy() -> None:
    scenarios = [scenario(seed) for seed in (SEED, SEED + 1, SEED + 2)]
    alone = [play(Presses, each)[0] for each in scenarios]
    together = play(Presses, *scenarios, lanes=3)
    assert [each.state_hash for each in alone] == [each.state_hash for each in together]
    engine = CpuEngine(cube_table(), 1, 1)
    assert all(replay_log(engine, each.log) == each.state_hash for each in alone)


def test_a_policy_that_fails_ends_the_episode_and_no_expert_hides_it() -> None:
    def broken(observation: Observation) -> object:
        raise ValueError("no idea")

    (episode,) = play(lambda: broken)
    assert (episode.verdict, episode.succeeded) == ("policy_error", False)
    assert "no idea" in episode.error


def test_a_cube_that_is_gone_is_no_success_of_anybody() -> None:
    """A fault, which may strike in the states of both drivers, takes it away."""
    for fault, verdict in (("remove@follow", "target_not_found"), ("remove@take_over", "target_not_found")):
        (episode,) = play(lambda: stays, scenario(SEED, fault))
        assert (episode.verdict, episode.succeeded, episode.false_success) == (verdict, False, False)


def test_a_cube_that_was_pushed_out_of_reach_ends_as_unreachable() -> None:
    draw = scenario().sample()
    start = draw.start.copy()
    at = cube_table().joint_address("cube")
    start[at : at + 2] = (0.0, -0.45)
    seen = interface(FPS)
    pilot = TakeoverPilot(
        policy=PolicyPilot(interface=seen, policies=LocalPolicies(seen, lambda _: stays), max_seconds=np.inf),
        takeover=TakeoverParameters(),
        machine=LIFT_CUBE.machine(PARAMETERS),
    )
    elsewhere = dataclasses.replace(LIFT_CUBE, sample=lambda parameters, random: dataclasses.replace(draw, start=start))
    (episode,) = run_scenarios([dataclasses.replace(scenario(), task=elsewhere)], pilot=pilot)
    assert (episode.verdict, episode.succeeded) == ("unreachable", False)


class CountedSource:
    closed = False

    def pictures(self, jobs: Any) -> list[Any]:
        return ["image"] * len(jobs)

    def close(self) -> None:
        self.closed = True


def test_a_source_is_opened_once_and_outlives_the_batches_that_use_it() -> None:
    opened: list[CountedSource] = []

    def open_source(scene: Scene, lanes: int) -> CountedSource:
        opened.append(CountedSource())
        return opened[-1]

    kept = _kept(open_source)
    assert kept is not None
    for lanes in (8, 1):
        source = kept(cast(Scene, None), lanes)
        assert source is not None
        assert source.pictures([cast(Any, None)] * lanes) == ["image"] * lanes
        source.close()
    assert len(opened) == 1
    assert not opened[0].closed


def test_without_a_source_for_all_lanes_there_is_none_to_keep() -> None:
    assert _kept(None) is None
