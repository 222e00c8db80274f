"""Checkpoints played by the real lerobot, where GRASPLINE_LEROBOT_PYTHON names a Python that has it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import graspline.envs.policy_lerobot
from graspline.envs.checkpoints import check_fits, find_checkpoint, policy_source
from graspline.envs.evaluation import PolicyPilot
from graspline.envs.policy_process import PolicyProcess, ServedPolicies
from graspline.episodes.run import run_scenarios
from graspline.errors import EnvironmentProblem, InputError

from .playing import interface, scenario

PYTHON = os.environ.get("GRASPLINE_LEROBOT_PYTHON", "")
PROGRAM = Path(__file__).with_name("lerobot_equality.py")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="GRASPLINE_LEROBOT_PYTHON names no Python with lerobot"),
]


def compared(kind: str, folder: Path) -> list[list[str]]:
    source = graspline.envs.policy_lerobot.__file__
    words = [PYTHON, str(PROGRAM), source, kind, str(folder)]
    told = subprocess.run(words, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    return [line.split() for line in told.stdout.splitlines() if line.startswith(("alone", "together"))]


@pytest.fixture(scope="module")
def act(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[str]]]:
    """A checkpoint of ACT, and how its actions compare."""
    folder = tmp_path_factory.mktemp("act") / "one"
    return folder, compared("act", folder)


def test_actions_are_those_of_lerobots_own_loop(act: tuple[Path, list[list[str]]]) -> None:
    check(act[1])


@pytest.mark.parametrize("kind", ["ensembled", "diffusion"])
def test_ensembles_and_histories_are_those_of_lerobots_own_loop(tmp_path: Path, kind: str) -> None:
    check(compared(kind, tmp_path / "one"))


def check(lines: list[list[str]]) -> None:
    assert {line[0] for line in lines} == {"alone", "together"}
    assert all(float(line[1]) < 1e-5 for line in lines), lines


def test_a_checkpoint_plays_to_verdicts_in_another_python(act: tuple[Path, list[list[str]]]) -> None:
    folder = act[0]
    seen = interface(cameras="front:48x36,wrist:48x36")
    check_fits(find_checkpoint(f"lerobot:{folder}"), seen)
    source = policy_source(f"lerobot:{folder}", Path(PYTHON), ["n_action_steps=3"])
    with PolicyProcess(source) as process:
        policies = ServedPolicies(process, seen)
        pilot = PolicyPilot(interface=seen, policies=policies, max_seconds=0.4)
        played = list(run_scenarios([*map(scenario, range(3))], lanes=2, pilot=pilot))
    assert [each.verdict for each in played] == ["out_of_time"] * 3, played[0].error


@pytest.mark.parametrize(
    "setting, words",
    [
        ("n_action_steps=99", "chunk size is the upper bound"),
        ("n_action_steps=many", "cannot be loaded"),
        ("dim_model=32", "size mismatch"),
    ],
)
def test_a_setting_that_lerobot_refuses_is_refused_with_its_words(
    act: tuple[Path, list[list[str]]], setting: str, words: str
) -> None:
    folder = act[0]
    with pytest.raises(InputError, match=words):
        PolicyProcess(policy_source(f"lerobot:{folder}", Path(PYTHON), [setting]))


def test_a_device_that_is_not_there_is_a_problem_of_this_machine(
    act: tuple[Path, list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    folder = act[0]
    with pytest.raises(EnvironmentProblem, match=r"--policy-device cuda: its torch .* finds no such device"):
        PolicyProcess(policy_source(f"lerobot:{folder}", Path(PYTHON), device="cuda"))
