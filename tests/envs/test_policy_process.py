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
from graspline.envs.policies import LocalPolicies, Policies, load_policy
from graspline.envs.policy_process import PolicyProcess, ServedPolicies
from graspline.episodes.run import Episode, run_scenarios
from graspline.errors import InputError

from .playing import interface, scenario

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


def test_after_a_death_new_episodes_get_a_new_process_and_those_under_way_are_lost() -> None:
    played = served("Mortal", 4, lanes=2)
    assert [played[seed].verdict for seed in range(4)] == ["policy_error"] * 2 + ["out_of_time"] * 2
    assert "its process left with 7" in played[0].error


def test_the_process_ends_with_the_evaluator_whatever_the_policy_is_doing() -> None:
    seen = interface()
    with PolicyProcess("served_policy:sleep") as process:
        ServedPolicies(process, seen)
        process.send({"ask": [0], "tasks": ["Lift it."], "ended": []})
        child = process._process
        assert child.stdin is not None
        # As it is when the evaluator is killed.
        child.stdin.close()
        assert child.wait(30) == 0


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
