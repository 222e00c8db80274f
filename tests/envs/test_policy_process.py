"""Policies in a process of their own: the same bits as here, and nothing that they do harms the evaluator."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graspline.envs.policy_process
from graspline.envs.evaluation import PolicyPilot
from graspline.envs.interface import Interface
from graspline.envs.policies import LocalPolicies, Policies, PolicySource, load_policy
from graspline.envs.policy_process import PolicyProcess, ServedPolicies, play_lost_again
from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.errors import EnvironmentProblem, InputError

from .playing import interface, save_checkpoint, scenario

PROGRAM = """
import os
import subprocess
import sys
import time

import numpy as np

class Swaying:
    def __init__(self):
        self.frame, self.last = 0, None

    def __call__(self, observation):
        self.frame += 1
        seen = 0.0
        if "pixels" in observation:
            front = observation["pixels"]["front"]
            # What it keeps must stay as it was, whatever the next observation overwrites.
            assert self.last is None or (self.last[0] == self.last[1]).all()
            self.last, seen = (front, front.copy()), float(front.mean()) / 100
        return observation["agent_pos"] + np.float32([3, -2, 1, 2, 1, 4]) * np.sin(self.frame / 7 + seen)

class Mortal(Swaying):
    def __call__(self, observation):
        if self.frame == 3 and not os.path.exists("died"):
            open("died", "w").close()
            os._exit(7)
        return super().__call__(observation)

class Batched:
    # Counts the frames of every episode, and sways by that number.

    def __init__(self):
        self.frames = {}

    def many(self, observations, episodes):
        for each in episodes:
            self.frames[each] = self.frames.get(each, 0) + 1
        return [
            seen["agent_pos"] + np.float32([3, -2, 1, 2, 1, 4]) * np.sin(self.frames[each] / 7)
            for seen, each in zip(observations, episodes)
        ]

    def ended(self, episodes):
        for each in episodes:
            del self.frames[each]

class Plain:
    def many(self, observations):
        return np.stack([each["agent_pos"] for each in observations])

class OneBad(Plain):
    def many(self, observations):
        answers = super().many(observations)
        answers[0] = np.nan
        return answers

class TooFew(Plain):
    def many(self, observations):
        return super().many(observations)[1:]

class MortalBatch(Batched):
    def many(self, observations, episodes):
        if max(self.frames.values(), default=0) == 3 and not os.path.exists("died"):
            open("died", "w").close()
            os._exit(7)
        return super().many(observations, episodes)

def leave(observation):
    os._exit(0)

def abort(observation):
    os.abort()

def sleep(observation):
    time.sleep(600)

def babble(observation):
    # The first descriptors that are not standard streams are those of the protocol.
    for descriptor in range(3, 16):
        try:
            os.write(descriptor, b"[1]\\n")
        except OSError:
            pass
    return observation["agent_pos"]

def shape(observation):
    return np.zeros(3)

def fail(observation):
    raise ValueError("no weights")
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "served_policy.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("served_policy", None)


def play(policies: Policies, seen: Interface, seeds: int, **options: Any) -> dict[int, Episode]:
    pilot = PolicyPilot(interface=seen, policies=policies, max_seconds=options.pop("max_seconds", 0.4))
    return {each.scenario.seed: each for each in run_scenarios([*map(scenario, range(seeds))], pilot=pilot, **options)}


def served(
    named: str, seeds: int = 1, *, timeout_s: float = 60.0, stop: Callable[[], bool] = lambda: False, **options: Any
) -> dict[int, Episode]:
    seen = interface()
    with PolicyProcess(f"served_policy:{named}", timeout_s) as process:
        policies = ServedPolicies(process, seen, stop)
        try:
            return play(policies, seen, seeds, stop=stop, **options)
        finally:
            policies.close()


@pytest.mark.parametrize("cameras", ["none", "front:32x24"])
def test_a_policy_gives_the_same_bits_in_its_own_process_as_in_ours(cameras: str) -> None:
    seen, make = interface(cameras=cameras), load_policy("served_policy:Swaying")
    here = play(LocalPolicies(seen, lambda _: make()), seen, 3, lanes=2)
    with PolicyProcess("served_policy:Swaying") as process:
        there = play(ServedPolicies(process, seen), seen, 3, lanes=2)
    assert {seed: each.state_hash for seed, each in there.items()} == {
        seed: each.state_hash for seed, each in here.items()
    }
    assert not any(each.error for each in there.values()), there


def test_all_lanes_of_a_tick_are_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    send = PolicyProcess.send

    def spy(self: PolicyProcess, message: dict[str, Any]) -> None:
        if "ask" in message:
            asked.append(len(message["ask"]))
        send(self, message)

    monkeypatch.setattr(PolicyProcess, "send", spy)
    served("Swaying", 3, lanes=3, max_seconds=0.2)
    assert asked == [3] * 6


@pytest.mark.parametrize(
    "named, words",
    [
        ("leave", "its process left with 0"),
        ("abort", "its process was ended by SIGABRT"),
        ("babble", "it sent what is no answer"),
        ("shape", "the shape (3,)"),
        ("fail", "ValueError: no weights"),
    ],
)
def test_what_a_policy_does_to_itself_is_a_policy_error(named: str, words: str) -> None:
    played = served(named, 3, lanes=2)
    assert [played[seed].verdict for seed in range(3)] == ["policy_error"] * 3
    assert all(words in each.error for each in played.values()), played[0].error


def test_a_policy_that_does_not_answer_in_time_is_ended() -> None:
    (episode,) = served("sleep", timeout_s=0.3).values()
    assert episode.verdict == "policy_error"
    assert "no answer within 0.3 s" in episode.error


def test_a_policy_that_does_not_answer_does_not_keep_a_stop_waiting() -> None:
    asked = iter([False] * 4)
    (episode,) = served("sleep", stop=lambda: next(asked, True)).values()
    assert episode.verdict == "interrupted"


def again(named: str, seeds: int, lanes: int) -> list[str]:
    """Verdicts by seed, with those played again that another episode took with it."""
    seen = interface()
    with PolicyProcess(f"served_policy:{named}") as process:
        policies = ServedPolicies(process, seen)
        pilot = PolicyPilot(interface=seen, policies=policies, max_seconds=0.4)
        scenarios = [*map(scenario, range(seeds))]
        played = play_lost_again(scenarios, policies, lambda left: run_scenarios(left, lanes=lanes, pilot=pilot))
        verdicts = {each.scenario.seed: each.verdict for each in played}
        policies.close()
    return [verdicts[seed] for seed in range(seeds)]


@pytest.mark.parametrize("lanes", [1, 3])
def test_only_the_episode_that_ended_the_process_is_an_error_whatever_the_lanes(lanes: int) -> None:
    assert again("Mortal", 4, lanes) == ["policy_error"] + ["out_of_time"] * 3


def test_a_batched_policy_that_dies_takes_the_episodes_of_one_question_with_it() -> None:
    assert again("MortalBatch", 4, 2) == ["policy_error"] * 2 + ["out_of_time"] * 2


def test_a_batched_policy_is_asked_for_all_lanes_at_once_and_told_which_episode_is_which() -> None:
    alone = served("Batched", 3, lanes=1)
    batched = served("Batched", 3, lanes=3)
    assert [batched[seed].state_hash for seed in range(3)] == [alone[seed].state_hash for seed in range(3)]
    assert not any(each.error for each in batched.values())


def test_a_batched_policy_need_not_care_for_episodes() -> None:
    assert {each.verdict for each in served("Plain", 2, lanes=2).values()} == {"out_of_time"}


def test_one_bad_row_of_a_batch_is_the_error_of_one_episode() -> None:
    played = served("OneBad", 2, lanes=2, max_seconds=0.1)
    assert "finite numbers" in played[0].error
    assert [played[seed].verdict for seed in range(2)] == ["policy_error", "policy_error"]
    assert played[0].sim_time_s < played[1].sim_time_s


def test_a_batch_with_too_few_rows_says_so() -> None:
    played = served("TooFew", 2, lanes=2)
    assert "many() returned 1 actions; expected 2 actions" in played[0].error


def test_more_lanes_than_fit_make_the_memory_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(graspline.envs.policy_process, "SLOTS", 2)
        few = served("Batched", 5, lanes=5, max_seconds=0.1)
    assert {seed: each.state_hash for seed, each in few.items()} == {
        seed: each.state_hash for seed, each in served("Batched", 5, lanes=5, max_seconds=0.1).items()
    }


def test_a_python_that_lacks_what_a_checkpoint_needs_is_a_problem_of_this_machine(tmp_path: Path) -> None:
    folder = save_checkpoint(tmp_path / "trained", sizes={"front": (32, 24)})
    with pytest.raises(EnvironmentProblem, match=r"\(Python 3.* No module named '(torch|lerobot)'"):
        PolicyProcess(f"lerobot:{folder}")


def test_a_python_without_numpy_is_a_problem_of_this_machine(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(EnvironmentProblem, match="has no numpy"):
        PolicyProcess(PolicySource(named="served_policy:fail", python=str(bare)))


def test_what_is_no_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="left with 0"):
        PolicyProcess(PolicySource(named="served_policy:fail", python="/bin/true"))
    text = tmp_path / "text"
    text.write_text("no program")
    with pytest.raises(InputError, match=r"--policy-python .*text: cannot be run"):
        PolicyProcess(PolicySource(named="served_policy:fail", python=str(text)))


def test_the_process_ends_with_the_evaluator_whatever_the_policy_is_doing() -> None:
    seen = interface()
    with PolicyProcess("served_policy:sleep") as process:
        ServedPolicies(process, seen)
        process.send({"ask": [0], "seeds": [0], "tasks": ["Lift it."], "ended": []})
        child = process._process
        assert child.stdin is not None
        # As it is when the evaluator is killed.
        child.stdin.close()
        assert child.wait(300) == 0


@pytest.mark.parametrize(
    "line, words", [("import os; os._exit(0)", "left with 0"), ("import time; time.sleep(600)", "no answer within 2 s")]
)
def test_a_policy_that_never_comes_up_cannot_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, words: str
) -> None:
    if "sleep" in line:
        monkeypatch.setattr(graspline.envs.policy_process, "TIMEOUT_S", 2.0)
    (tmp_path / "silent_policy.py").write_text(line)
    with pytest.raises(InputError, match=f"--policy silent_policy:act: cannot be imported: .*{words}"):
        PolicyProcess("silent_policy:act", 0.3)


def test_no_descriptor_and_no_process_is_left() -> None:
    def opened() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = opened()
    with PolicyProcess("served_policy:Swaying") as process:
        assert np.isfinite(process.timeout_s)
    assert opened() == before
    assert process._process.returncode is not None
