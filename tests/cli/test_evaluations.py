"""`eval --out`, `report` of an evaluation, and `compare`: what is kept, and that nothing is lost."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from graspline.evaluations.store import LINES, LOGS, PAGE, SUMMARY

from .doors import Answer, call, running
from .test_main import examples

PROGRAM = """
import numpy as np

def stay(observation):
    return observation["agent_pos"]

def sway(observation):
    return observation["agent_pos"] + np.array([4, 1, 0, 0, 0, 0])
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current directory with policies, whose module is forgotten afterwards."""
    (tmp_path / "my_policy.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))


def evaluate(policy: str, out: str, *words: str, episodes: int = 4, seconds: str = "0.2") -> Answer:
    options = ("--cameras", "none", "--max-seconds", seconds, "--episodes", str(episodes), "--out", out)
    return call("eval", "lift-cube", "--policy", f"my_policy:{policy}", *options, *words)


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(each) for each in (Path(out) / LINES).read_text().splitlines()]


def test_a_folder_holds_everything_an_evaluation_was() -> None:
    answer = evaluate("stay", "out/a")
    assert answer.code == 0, answer.err
    assert answer.out.splitlines()[:2] == [
        "succeeded: 0/4 = 0.0 % (95 % interval 0.0 to 49.0 %)",
        "  never_reached     4 100.0 %  seeds 0, 1, 2, 3",
    ]
    assert all(f"saved: out/a/{name}" in answer.err for name in (SUMMARY, LINES, PAGE))
    assert [each["seed"] for each in lines("out/a")] == [0, 1, 2, 3]
    assert sorted(each.name for each in Path("out/a", LOGS).iterdir()) == [f"{seed:08d}.npz" for seed in range(4)]
    found = json.loads(Path("out/a", SUMMARY).read_text())
    assert found["settings"]["policy"] == "my_policy:stay"
    assert found["settings"]["options"] == {
        "fps": 30,
        "cameras": "none",
        "smooth": False,
        "units": "degrees",
        "max_seconds": 0.2,
        "engine": "cpu",
        "renderer": "cpu",
        "certify": False,
        "policy_python": None,
        "policy_set": [],
        "policy_device": None,
    }
    assert (found["summary"]["episodes"], found["summary"]["succeeded"]) == (4, 0)
    assert [(each["mode"], each["seeds"]) for each in found["failures"]] == [("never_reached", [0, 1, 2, 3])]
    page = Path("out/a", PAGE).read_text()
    assert "never_reached" in page
    assert page.count("data:image/jpeg") == 3
    assert "graspline eval lift-cube --policy my_policy:stay --episodes 1 --seed 0" in page


def test_the_same_command_goes_on_and_prints_what_one_run_would_have_printed() -> None:
    evaluate("stay", "out/a", episodes=2)
    before = lines("out/a")
    answer = evaluate("stay", "out/a", "--json", episodes=4)
    assert answer.code == 0
    assert lines("out/a")[:2] == before
    whole = evaluate("stay", "out/b", "--json", episodes=4)
    assert answer.lines == whole.lines
    assert lines("out/a") == lines("out/b")
    assert "succeeded: 0/4" in answer.err
    assert "0 s simulated" in answer.err.replace("1 s simulated", "0 s simulated")


def test_an_evaluation_that_is_complete_is_only_told_again() -> None:
    evaluate("stay", "out/a")
    before = lines("out/a")
    answer = evaluate("stay", "out/a")
    assert answer.code == 0
    assert "succeeded: 0/4" in answer.out
    assert "episodes per second" not in answer.out
    assert lines("out/a") == before


def test_other_settings_are_refused_with_the_differences_and_nothing_is_lost() -> None:
    evaluate("stay", "out/a")
    before = lines("out/a")
    answer = evaluate("sway", "out/a", "--fps", "10", "--set", "goal.raised_m=0.03")
    assert answer.code == 2
    for said in (
        "--out out/a: has an evaluation with other settings",
        "policy: the folder has my_policy:stay, asked for my_policy:sway",
        "fps: the folder has 30, asked for 10",
        "parameters.goal.raised_m: the folder has 0.05, asked for 0.03",
        "choose another folder for these settings, such as --out out/a-2",
    ):
        assert said in answer.err
    assert lines("out/a") == before


def test_a_folder_of_something_else_is_left_alone() -> None:
    Path("mine").mkdir()
    Path("mine", "notes.txt").write_text("mine")
    answer = evaluate("stay", "mine")
    assert answer.code == 2
    assert "--out mine: contains something else" in answer.err
    assert [each.name for each in Path("mine").iterdir() if not each.name.startswith(".")] == ["notes.txt"]


def test_a_file_in_the_way_is_a_problem_of_this_machine() -> None:
    Path("mine").write_text("mine")
    answer = evaluate("stay", "mine")
    assert answer.code == 3
    assert "a file is in the way" in answer.err


def test_required_success_counts_what_was_recorded_before() -> None:
    evaluate("stay", "out/a")
    assert evaluate("stay", "out/a", "--require-success", "0.5").code == 1


@pytest.mark.slow
def test_an_interrupted_evaluation_keeps_what_has_ended_and_goes_on(tmp_path: Path) -> None:
    words = "eval lift-cube --policy my_policy:sway --cameras none --max-seconds 1 --episodes 300 --lanes 2 --out out/a"
    kept = tmp_path / "out" / "a" / LINES
    with running(tmp_path, *words.split()) as command:
        command.wait_until(lambda _: kept.is_file() and kept.read_text().count("\n") >= 3)
        command.interrupt()
        answer = command.finish()
    assert answer.code == 130
    assert "Traceback" not in answer.err
    done = lines("out/a")
    assert 3 <= len(done) < 300
    assert "Interrupted before they were rendered" in Path("out/a", PAGE).read_text()
    again = call(*words.replace("300", str(len(done) + 2)).split())
    assert again.code == 0, again.err
    assert lines("out/a")[: len(done)] == done
    assert len(lines("out/a")) == len(done) + 2


def test_a_killed_evaluation_is_described_from_its_lines() -> None:
    evaluate("stay", "out/a")
    Path("out/a", PAGE).unlink()
    with Path("out/a", LINES).open("a") as file:
        file.write('{"seed": 99, "cut')
    answer = call("report", "out/a", "--out", "page.html")
    assert answer.code == 0, answer.err
    assert "0 / 4" in Path("page.html").read_text()


def test_two_evaluations_are_compared() -> None:
    evaluate("stay", "out/a")
    evaluate("sway", "out/b", episodes=6)
    answer = call("compare", "out/a", "out/b", "--out", "out/compare.html")
    assert answer.code == 0, answer.err
    assert "compared on 4 common seeds; left out: 0 of A, 2 of B" in answer.out
    assert "McNemar's exact test: p = 1; the difference may be due to chance" in answer.out
    assert "McNemar" in Path("out/compare.html").read_text()
    (found,) = call("compare", "out/a", "out/b", "--json").lines
    assert (found["seeds"], found["neither"], found["mcnemar_p"]) == (4, 4, 1.0)


def test_evaluations_on_other_terms_are_not_compared() -> None:
    evaluate("stay", "out/a")
    evaluate("stay", "out/b", seconds="0.3")
    answer = call("compare", "out/a", "out/b")
    assert answer.code == 2
    assert "max_seconds: the first has 0.2, the second 0.3" in answer.err


def test_what_is_no_evaluation_is_refused() -> None:
    answer = call("compare", "out/a", "out/b")
    assert answer.code == 2
    assert "out/a: no evaluation there" in answer.err


def test_examples_in_the_help_of_compare_work_as_printed() -> None:
    evaluate("stay", "out/eval-a", episodes=1)
    evaluate("sway", "out/eval-b", episodes=1)
    for line in examples("compare"):
        assert call(*shlex.split(line)[1:]).code == 0, line
