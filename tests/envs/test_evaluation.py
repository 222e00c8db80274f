"""Policies in lanes: verdicts, what they see, and that lanes and environments agree."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graspline.envs.environment import TaskEnv
from graspline.envs.evaluation import PolicyPilot
from graspline.envs.interface import Observation
from graspline.envs.policies import LocalPolicies, Policy
from graspline.envs.recorded_actions import recited
from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.errors import InputError
from graspline.evidence import passes

from .playing import SEED, blind_env, interface, recorded, recorded_actions, scenario


def stay(observation: Observation) -> object:
    return observation["agent_pos"]


def evaluate(
    make_policy: Callable[[Scenario], Policy],
    *scenarios: Scenario,
    fps: int = 30,
    cameras: str = "none",
    max_seconds: float = 0.5,
    **options: Any,
) -> dict[int, Episode]:
    """Episodes by seed."""
    seen = interface(fps, cameras)
    pilot = PolicyPilot(interface=seen, policies=LocalPolicies(seen, make_policy), max_seconds=max_seconds)
    played = run_scenarios(scenarios or [scenario()], pilot=pilot, **options)
    return {episode.scenario.seed: episode for episode in played}


def test_a_policy_that_lifts_the_cube_succeeds_with_the_goals_evidence() -> None:
    actions = recorded_actions(recorded().log, interface())
    episode = evaluate(lambda _: recited(actions), max_seconds=30)[SEED]
    assert episode.verdict == "success"
    assert episode.succeeded
    assert passes(episode.evidence)
    assert episode.evidence == episode.goal_by_truth
    assert not episode.false_success
    assert [(each.state, each.outcome) for each in episode.transitions] == [("follow", "success")]


def test_a_policy_that_does_nothing_runs_out_of_time() -> None:
    episode = evaluate(lambda _: stay)[SEED]
    assert (episode.verdict, episode.succeeded) == ("out_of_time", False)
    assert episode.sim_time_s == pytest.approx(0.5)
    assert not passes(episode.evidence)


class Panic(BaseException):
    pass


def panic(observation: object) -> None:
    raise Panic("of a library in another language")


@pytest.mark.parametrize(
    "policy, words",
    [
        (lambda observation: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda observation: sys.exit(0), "SystemExit: 0"),
        (lambda observation: np.zeros(3), "the shape (3,)"),
        (lambda observation: [np.nan] * 6, "nan"),
        (lambda observation: None, "expected 6 finite numbers"),
        (panic, "Panic: of a library in another language"),
    ],
)
def test_a_policy_that_cannot_go_on_ends_its_own_episode_with_what_it_said(policy: Policy, words: str) -> None:
    played = evaluate(
        lambda each: policy if each.seed == 1 else stay, scenario(1), scenario(2), lanes=2, max_seconds=0.2
    )
    assert played[1].verdict == "policy_error"
    assert words in played[1].error
    assert not played[1].succeeded
    assert (played[2].verdict, played[2].error) == ("out_of_time", "")


def test_a_policy_that_cannot_be_made_is_a_policy_error_too() -> None:
    def make(scenario: Scenario) -> Policy:
        raise OSError("no weights")

    assert "no weights" in evaluate(make)[SEED].error


def test_every_episode_has_a_policy_of_its_own() -> None:
    made: list[int] = []

    def make(scenario: Scenario) -> Policy:
        made.append(scenario.seed)
        return stay

    evaluate(make, scenario(1), scenario(2), scenario(3), lanes=2, max_seconds=0.1)
    assert sorted(made) == [1, 2, 3]


def test_a_policy_is_asked_once_a_frame_and_sees_what_an_environment_shows() -> None:
    seen: list[Observation] = []

    def wave(observation: Observation) -> object:
        seen.append(observation)
        return observation["agent_pos"] + np.array([2, -1, 1, 0, 1, 3], np.float32)

    evaluate(lambda _: wave, fps=20, cameras="front:32x24", max_seconds=0.4)
    env = TaskEnv("lift-cube", fps=20, cameras="front:32x24", max_seconds=0.4)
    observation, _ = env.reset(seed=SEED)
    assert len(seen) == 8
    truncated = False
    for each in seen:
        np.testing.assert_array_equal(each["agent_pos"], observation["agent_pos"])
        np.testing.assert_array_equal(each["pixels"]["front"], observation["pixels"]["front"])
        assert each["task"] == env.task_description == "Lift the cube and hold it still."
        action = each["agent_pos"] + np.array([2, -1, 1, 0, 1, 3], np.float32)
        observation, _, _, truncated, _ = env.step(action)
    assert truncated
    env.close()


def test_lanes_do_not_change_what_a_policy_achieves() -> None:
    actions = recorded_actions(recorded().log, interface())[:40]

    def hashes(lanes: int) -> dict[int, str]:
        played = evaluate(lambda _: recited(actions), *map(scenario, range(3)), lanes=lanes, max_seconds=1.0)
        return {seed: episode.state_hash for seed, episode in played.items()}

    assert hashes(1) == hashes(3)


def test_a_fault_strikes_a_time_into_the_episode_at_what_the_hand_is_closest_to() -> None:
    episode = evaluate(lambda _: stay, scenario(SEED, "shove@follow+0.2"))[SEED]
    (strike,) = episode.strikes
    assert (strike.fault, strike.target, strike.missed) == ("shove@follow+0.2", "cube", "")
    assert strike.t_s == pytest.approx(0.2)
    cube = episode.truth["objects"]["cube"]
    assert np.linalg.norm(np.subtract(cube["position_m"], cube["start_position_m"])) > 0.002


def test_faults_of_a_machines_states_are_refused() -> None:
    with pytest.raises(InputError, match="unknown state 'lift'; known: follow"):
        evaluate(lambda _: stay, scenario(SEED, "drop@lift"))


def test_a_divergence_is_a_verdict_of_its_own() -> None:
    assert evaluate(lambda _: stay, scenario(SEED, "nan-control@follow+0.1"))[SEED].verdict == "physics_diverged"


def test_an_interrupted_policy_leaves_the_arm_at_rest() -> None:
    asked = iter([False] * 10)
    played = evaluate(lambda _: stay, max_seconds=5, stop=lambda: next(asked, None) is not False)
    assert played[SEED].verdict == "interrupted"
    assert not played[SEED].log.velocities[-1].any()


def test_the_environment_judges_as_evaluation_does() -> None:
    actions = recorded_actions(recorded().log, interface())
    env = blind_env()
    env.reset(seed=SEED)
    steps = next(step for step, action in enumerate(actions, 1) if env.step(action)[2])
    episode = evaluate(lambda _: recited(actions), max_seconds=30)[SEED]
    assert episode.sim_time_s == pytest.approx(steps / 30)
