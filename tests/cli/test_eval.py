"""`graspline eval`: any policy, closed loop, judged like a run."""

from __future__ import annotations

import re
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings

import graspline.cli.evaluate
import graspline.gpu.choose
from envs.playing import save_checkpoint
from graspline.episodes.episode import Episode

from .doors import Answer, call, refused, running, spawn, watch
from .test_any_text import check, words
from .test_main import examples

PROGRAM = """
import os
import sys
import time

import numpy as np

def stay(observation):
    return observation["agent_pos"]

def fail(observation):
    raise ValueError("no weights")

def leave(observation):
    sys.exit(0)

def vanish(observation):
    os._exit(0)

def talk(observation):
    print("a word")
    return observation["agent_pos"]

def sleep(observation):
    print("asleep")
    time.sleep(600)

def look(observation):
    assert observation["pixels"]["wrist"].shape == (24, 32, 3)
    return observation["agent_pos"]

class Counting:
    def __init__(self):
        self.asked = 0

    def __call__(self, observation):
        self.asked += 1
        return observation["agent_pos"] if self.asked <= 3 else np.zeros(self.asked)
"""
BLIND = ("--cameras", "none")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current directory with a policy, whose module is forgotten afterwards."""
    (tmp_path / "my_policy.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))


def evaluate(policy: str, *words: str) -> Answer:
    return call("eval", "lift-cube", "--policy", f"my_policy:{policy}", "--max-seconds", "0.2", *words)


def test_json_is_what_run_prints() -> None:
    answer = evaluate("stay", *BLIND, "--episodes", "2", "--seed", "5", "--json")
    assert answer.code == 0
    assert sorted(line["seed"] for line in answer.lines) == [5, 6]
    for line in answer.lines:
        assert (line["verdict"], line["succeeded"], line["retries"]) == ("out_of_time", False, 0)
        assert line["sim_time_s"] == pytest.approx(0.2)
        (ended,) = line["transitions"]
        assert (ended["t_s"], ended["state"], ended["outcome"]) == (line["sim_time_s"], "follow", "out_of_time")
        assert ended["evidence"] == line["evidence"]
        assert {each["name"] for each in line["evidence"]} == {"raised", "off_pads", "speed"}
        assert "cube" in line["truth"]["objects"]
        assert (line["failure"]["mode"], line["failure"]["about"]) == ("never_reached", "cube")
        (closest,) = line["failure"]["evidence"]
        assert closest["value"] > closest["limit"]


def test_the_summary_says_how_it_went_and_nothing_about_a_machine() -> None:
    answer = evaluate("stay", *BLIND, "--episodes", "3")
    assert answer.code == 0
    assert answer.out.splitlines()[:2] == [
        "succeeded: 0/3 = 0.0 % (95 % interval 0.0 to 56.2 %)",
        "  never_reached     3 100.0 %  seeds 0, 1, 2",
    ]
    assert "retry" not in answer.out
    assert "claims" not in answer.out


def test_every_episode_is_judged_again_on_the_cpu_and_the_rate_told_by_both() -> None:
    answer = evaluate("stay", *BLIND, "--episodes", "3", "--certify")
    assert answer.code == 0
    assert answer.out.splitlines()[2] == (
        "succeeded when replayed on the CPU: 0/3 = 0.0 % (95 % interval 0.0 to 56.2 %)"
    )
    (line,) = evaluate("stay", *BLIND, "--episodes", "1", "--certify", "--json").lines
    assert line["certified"] is True


def test_too_few_successes_exit_with_1() -> None:
    assert evaluate("stay", *BLIND, "--require-success", "0.5").code == 1


def test_an_error_of_the_policy_is_told_once_and_exits_with_2() -> None:
    answer = evaluate("fail", *BLIND, "--episodes", "3", "--json")
    assert answer.code == 2
    assert {line["verdict"] for line in answer.lines} == {"policy_error"}
    assert "ValueError: no weights" in answer.lines[0]["error"]
    assert answer.err.count("ValueError: no weights") == 1
    assert "seeds 0, 1, 2 policy_error:" in answer.err
    assert "bug in graspline" not in answer.err


def test_a_policy_that_leaves_is_an_error_of_the_policy_too() -> None:
    answer = evaluate("leave", *BLIND, "--episodes", "2", "--json")
    assert answer.code == 2
    assert {line["verdict"] for line in answer.lines} == {"policy_error"}
    assert answer.err.count("SystemExit: 0") == 1


def test_a_policy_that_ends_its_process_does_not_end_the_command() -> None:
    answer = evaluate("vanish", *BLIND, "--episodes", "2", "--json", "--require-success", "0.9")
    assert answer.code == 2
    assert {line["verdict"] for line in answer.lines} == {"policy_error"}
    assert answer.err.count("its process left with 0") == 1


def test_what_a_policy_prints_is_kept_apart_from_the_results(tmp_path: Path) -> None:
    words = "eval lift-cube --policy my_policy:talk --cameras none --max-seconds 0.1 --episodes 1 --json"
    answer = spawn(*words.split(), cwd=tmp_path)
    assert len(answer.lines) == 1
    assert answer.err.count("a word") == 3


def test_the_time_of_an_answer_is_limited() -> None:
    answer = evaluate("sleep", *BLIND, "--episodes", "2", "--policy-timeout", "0.3", "--json")
    assert answer.code == 2
    assert all("no answer within 0.3 s" in line["error"] for line in answer.lines)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_ends_the_command_though_the_policy_sleeps(tmp_path: Path, stop: signal.Signals) -> None:
    words = "eval lift-cube --policy my_policy:sleep --cameras none --episodes 2 --json"
    with running(tmp_path, *words.split()) as command:
        command.wait_until(lambda so_far: "asleep" in so_far.err)
        command.interrupt(stop)
        answer = command.finish()
    assert answer.code == 130
    assert {line["verdict"] for line in answer.lines} == {"interrupted"}


def test_a_class_is_made_anew_for_every_episode() -> None:
    answer = evaluate("Counting", *BLIND, "--episodes", "2", "--lanes", "1", "--json")
    assert [line["sim_time_s"] for line in answer.lines] == pytest.approx([0.1, 0.1])
    assert all("the shape (4,)" in line["error"] for line in answer.lines)


def test_pictures_reach_the_policy_in_the_size_asked_for() -> None:
    answer = evaluate("look", "--cameras", "wrist:32x24", "--episodes", "1")
    assert answer.code == 0, answer.err


def test_a_policy_is_filmed(tmp_path: Path) -> None:
    answer = evaluate("stay", *BLIND, "--episodes", "1", "--video", "out/film.mp4")
    assert answer.code == 0
    assert watch(tmp_path / "out" / "film.mp4").frames >= 1


def test_faults_strike_by_time() -> None:
    answer = evaluate("stay", *BLIND, "--episodes", "1", "--fault", "nan-control@follow+0.1", "--json")
    assert [line["verdict"] for line in answer.lines] == ["physics_diverged"]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    problems = refused(
        *("eval", "lift-cube", "--policy", "my_policy:stya", "--fps", "7", "--cameras", "side:9x9", "--units", "rad"),
        *("--fault", "drop@lift", "--video", "film.avi", "--set", "cube.edge=1"),
    )
    starts = (
        "--set cube.edge",
        "--policy my_policy:stya",
        "--fps",
        "--cameras",
        "--units",
        "--fault drop@lift",
        "--video",
    )
    assert len(problems) == len(starts)
    for start, problem in zip(starts, problems, strict=True):
        assert problem.startswith(start)


def test_a_checkpoint_brings_its_cameras_along_and_a_python_without_lerobot_is_missing_on_this_machine() -> None:
    save_checkpoint(Path("trained"), sizes={"front": (32, 24)})
    answer = call("eval", "lift-cube", "--policy", "lerobot:trained", "--episodes", "1")
    assert answer.code == 3
    assert "No module named" in answer.err
    assert "--policy-python" in answer.err


@pytest.mark.parametrize(
    "words, said",
    [
        (("--cameras", "front:64x48"), ["it wants pictures front:32x24, and --cameras gives front:64x48"]),
        (("--cameras", "wrist:32x24"), ["it wants pictures front:32x24, and the cameras here are wrist:32x24"]),
        (("--policy-set", "n_action_step=5"), ["--policy-set n_action_step: unknown; did you mean 'n_action_steps'?"]),
        (("--policy-set", "n_action_steps"), ["--policy-set n_action_steps: expected KEY=VALUE"]),
        (("--policy-python", "nowhere/python"), ["--policy-python nowhere/python: no such program"]),
        (("--policy-device", "fast"), ["--policy-device fast: expected cuda, cuda:1 or cpu"]),
        (("--fps", "7", "--policy-set", "x"), ["--policy-set x: expected KEY=VALUE", "--fps"]),
    ],
)
def test_what_does_not_suit_a_checkpoint_is_refused_before_it_is_loaded(
    words: tuple[str, ...], said: list[str]
) -> None:
    save_checkpoint(Path("trained"), sizes={"front": (32, 24)})
    problems = refused("eval", "lift-cube", "--policy", "lerobot:trained", *words)
    assert len(problems) == len(said)
    for problem, words_said in zip(problems, said, strict=True):
        assert words_said in problem


def test_cameras_of_a_checkpoint_that_the_scene_has_not_are_said_to_be_its_own() -> None:
    save_checkpoint(Path("trained"), sizes={"top": (32, 24)})
    (problem,) = refused("eval", "lift-cube", "--policy", "lerobot:trained")
    assert problem.startswith("--policy lerobot:trained: its cameras: no camera 'top'")


def test_settings_of_a_checkpoint_are_refused_for_other_policies() -> None:
    problems = refused(
        *("eval", "lift-cube", "--policy", "my_policy:stay", "--policy-set", "a=1", "--policy-device", "cpu")
    )
    assert problems == [
        "--policy-set a=1: only for --policy lerobot:DIR",
        "--policy-device cpu: only for --policy lerobot:DIR",
    ]


def test_a_policy_of_the_current_directory_is_found_by_the_real_command(tmp_path: Path) -> None:
    words = "eval lift-cube --policy my_policy:stay --cameras none --max-seconds 0.1 --episodes 1 --json"
    answer = spawn(*words.split(), cwd=tmp_path)
    assert answer.code == 0, answer.err
    assert len(answer.lines) == 1


def nothing(*scenarios: Any, **options: Any) -> Iterator[Episode]:
    return iter(())


def test_examples_in_the_help_work_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graspline.cli.evaluate, "run_scenarios", nothing)
    monkeypatch.setattr(graspline.gpu.choose, "what_a_gpu_lacks", lambda: "")
    (tmp_path / "my_policy.py").write_text(
        "def act(observation): ...\n\nclass Policy:\n    def __call__(self, observation): ...\n"
    )
    assert len(examples("eval")) >= 3
    for line in examples("eval"):
        answer = call(*shlex.split(line)[1:])
        if "lerobot:" in line:
            assert "lerobot:out/train: no such folder" in answer.err, line
        else:
            # Nothing is played, so no share is reached.
            assert answer.code in (0, 1), line


def documented(name: str) -> str:
    """A policy printed in the documents, by the name of its file."""
    page = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    (found,) = (each for each in blocks if each.startswith(f"# {name}\n"))
    return found


@pytest.mark.parametrize("name", ["my_policy.py", "batched_policy.py"])
def test_a_policy_in_the_documents_works_as_printed(tmp_path: Path, name: str) -> None:
    (tmp_path / "my_policy.py").write_text(documented(name))
    lines = evaluate("Policy", *BLIND, "--episodes", "2", "--json").lines
    assert [each["verdict"] for each in lines] == ["out_of_time", "out_of_time"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words)
@example("..x:y")
@example("my_policy:\udc80")
@example("a" * 100_000)
def test_any_policy_name(named: str) -> None:
    check(call("eval", "lift-cube", "--cameras=none", f"--policy={named}"), codes=(2,))
