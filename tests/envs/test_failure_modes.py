"""Planted failures: policies that fail in a known way, and the mode each is given."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.envs.evaluation import PolicyPilot
from graspline.envs.policies import LocalPolicies, Policy
from graspline.envs.recorded_actions import Actions, recited
from graspline.episodes.episode import Episode
from graspline.episodes.failures import Failure
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario

from .playing import interface, recorded, recorded_actions, scenario

FPS = 30
PAN, GRIPPER = 0, 5
OPEN = 90.0


def expert() -> Actions:
    """The machine's own actions."""
    return recorded_actions(recorded().log, interface())


def entered(state: str) -> int:
    """The frame in which the machine entered a state."""
    return round(next(t_s for t_s, name in recorded().entries if name == state) * FPS)


def then_opened(frame: int) -> Actions:
    """The machine's actions up to a frame, after which the jaw is opened where the arm is."""
    actions = expert()[:frame]
    last = np.repeat(actions[-1:], 2 * FPS, axis=0)
    last[:, GRIPPER] = OPEN
    return np.concatenate([actions, last])


def played(policy: Policy | Actions, seconds: float, each: Scenario | None = None) -> Episode:
    chosen = recited(policy) if isinstance(policy, np.ndarray) else policy
    pilot = PolicyPilot(
        interface=interface(), policies=LocalPolicies(interface(), lambda _: chosen), max_seconds=seconds
    )
    (episode,) = run_scenarios([each or scenario()], pilot=pilot)
    return episode


def failure(policy: Policy | Actions, seconds: float) -> Failure:
    found = played(policy, seconds).failure
    assert found is not None
    assert found.wanted == ("cube",)
    return found


def test_one_that_never_moves_never_reaches() -> None:
    found = failure(lambda observation: observation["agent_pos"], 1.0)
    assert (found.mode, found.about) == ("never_reached", "cube")


def test_one_that_closes_beside_the_cube_misses() -> None:
    actions = expert()
    actions[:, PAN] += 12
    found = failure(actions, len(actions) / FPS + 1)
    assert found.mode == "missed"
    assert {each.name: each.passed for each in found.evidence} == {"closest_approach": True, "held": False}


def test_one_that_sweeps_across_the_table_pushes_the_cube_away() -> None:
    actions = expert()[: entered("seat")]
    actions[:, PAN] += 25
    sweep = np.repeat(actions[-1:], 2 * FPS, axis=0)
    sweep[:, PAN] -= np.linspace(0, 75, len(sweep)).astype(np.float32)
    found = failure(np.concatenate([actions, sweep]), len(actions) / FPS + 3.5)
    assert found.mode == "pushed_away"
    cube = played(np.concatenate([actions, sweep]), len(actions) / FPS + 3.5).truth["objects"]["cube"]
    moved_m = np.linalg.norm(np.subtract(cube["position_m"], cube["start_position_m"])[:2])
    assert found.evidence[0].value == pytest.approx(moved_m, abs=0.002)


def test_one_that_opens_before_it_lifts_lets_the_cube_slip() -> None:
    frame = entered("lift") + 3
    found = failure(then_opened(frame), frame / FPS + 2)
    assert (found.mode, found.moment) == ("slipped", "last_held")


def test_one_that_lifts_and_opens_drops_the_cube() -> None:
    frame = entered("hold") + 2
    found = failure(then_opened(frame), frame / FPS + 2)
    assert (found.mode, found.moment) == ("dropped", "last_held")
    assert found.t_s == pytest.approx(frame / FPS, abs=0.15)
    assert all(each.passed for each in found.evidence)


def test_one_that_still_holds_the_cube_at_the_end_is_out_of_time() -> None:
    found = failure(expert(), entered("lift") / FPS + 0.3)
    assert found.mode == "out_of_time"
    assert {each.name: each.passed for each in found.evidence} == {"held": True, "raised": False}


def test_one_that_lowers_the_cube_again_and_lets_go_has_not_placed_it() -> None:
    up = expert()[: entered("hold")]
    lift = up[entered("lift") :]
    down = np.concatenate([up, lift[::-1]])
    let_go = np.repeat(down[-1:], 2 * FPS, axis=0)
    let_go[:, GRIPPER] = OPEN
    found = failure(np.concatenate([down, let_go]), len(down) / FPS + 2)
    assert found.mode == "not_placed"


def test_a_success_has_no_failure() -> None:
    episode = played(expert(), 30)
    assert (episode.succeeded, episode.failure) == (True, None)
    assert "failure" not in episode.as_dict()


def test_a_policy_that_raises_has_failed_as_policy_error() -> None:
    found = played(lambda observation: 1 / 0, 1.0).failure
    assert found is not None
    assert found.mode == "policy_error"


def test_physics_that_diverge_are_a_mode_of_their_own() -> None:
    stay = played(lambda observation: observation["agent_pos"], 0.5, scenario(1, "nan-control@follow+0.1"))
    assert stay.verdict == "physics_diverged"
    assert stay.as_dict()["failure"]["mode"] == "physics_diverged"
