from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from graspline.engine.cpu import CpuEngine
from graspline.envs.evaluation import PolicyPilot
from graspline.envs.interface import interface_of
from graspline.envs.policies import LocalPolicies
from graspline.episodes.episode import INTERRUPTED, Episode
from graspline.episodes.log import replay_log
from graspline.episodes.run import run_scenarios
from graspline.errors import DatasetProblem, InputError
from graspline.evaluations.store import LINES, SUMMARY, Evaluation, shown

from .playing import evaluation, line, settings


def seeds(folder: Path) -> list[int]:
    return [json.loads(each)["seed"] for each in (folder / LINES).read_text().splitlines()]


@pytest.fixture(scope="module")
def played() -> Episode:
    """An episode of a policy that stays."""
    asked = settings()
    task, parameters = asked.found_task()
    seen = interface_of(task.scene(parameters), fps=30, cameras="none", units="degrees")
    policies = LocalPolicies(seen, lambda _: lambda observation: observation["agent_pos"])
    pilot = PolicyPilot(interface=seen, policies=policies, max_seconds=0.2)
    (episode,) = run_scenarios([asked.scenario(7)], pilot=pilot)
    return episode


def test_a_folder_that_was_begun_is_an_evaluation_already(tmp_path: Path) -> None:
    Evaluation.begin(tmp_path, settings())
    assert Evaluation.read(tmp_path).settings == settings()
    assert Evaluation.read(tmp_path).lines == {}


def test_an_episode_is_on_disk_as_soon_as_it_is_added(tmp_path: Path, played: Episode) -> None:
    begun = Evaluation.begin(tmp_path, settings())
    begun.add(played, played.scenario.task.scene(played.scenario.parameters))
    read = Evaluation.read(tmp_path)
    assert list(read.lines) == [7]
    found = read.lines[7]
    assert shown(found) == json.loads(json.dumps(played.as_dict()))
    assert found["failure"]["mode"] == "never_reached"
    assert found["wanted"] == ["cube"]
    assert {"cube.x_m", "cube.radius_m", "cube.yaw_rad", "cube.size_m", "mass_kg", "pad_friction"} <= set(
        found["factors"]
    )


def test_the_log_of_a_failure_plays_again_to_the_same_state(tmp_path: Path, played: Episode) -> None:
    begun = Evaluation.begin(tmp_path, settings())
    scene = played.scenario.task.scene(played.scenario.parameters)
    begun.add(played, scene)
    assert replay_log(CpuEngine(scene, 1, 1), begun.log_of(begun.lines[7]).log) == played.state_hash


def test_an_interrupted_episode_is_not_kept(tmp_path: Path, played: Episode) -> None:
    begun = Evaluation.begin(tmp_path, settings())
    scene = played.scenario.task.scene(played.scenario.parameters)
    begun.add(dataclasses.replace(played, verdict=INTERRUPTED), scene)
    assert begun.lines == {}


def test_a_line_that_was_cut_off_is_dropped_and_the_others_are_put_in_order(tmp_path: Path) -> None:
    evaluation(tmp_path, [])
    whole = "".join(json.dumps(line(seed)) + "\n" for seed in (3, 1, 2))
    (tmp_path / LINES).write_text(whole + json.dumps(line(4))[:50])
    again = Evaluation.begin(tmp_path, settings())
    assert list(again.lines) == [1, 2, 3]
    assert seeds(tmp_path) == [1, 2, 3]


def test_a_line_that_is_no_episode_is_a_problem_of_the_folder(tmp_path: Path) -> None:
    evaluation(tmp_path, [line(1)])
    with (tmp_path / LINES).open("a") as file:
        file.write('{"seed": 2}\n')
    with pytest.raises(DatasetProblem, match="line 2 is not an episode"):
        Evaluation.read(tmp_path)


def test_other_settings_are_refused_with_what_differs(tmp_path: Path) -> None:
    evaluation(tmp_path, [line(1)])
    with pytest.raises(InputError) as refused:
        Evaluation.begin(tmp_path, settings(policy="other:Policy", options={"fps": 10, "cameras": "none"}))
    text = str(refused.value)
    assert "policy: the folder has my_policy:Policy, asked for other:Policy" in text
    assert "fps: the folder has 30, asked for 10" in text
    assert "max_seconds: the folder has 8.0, asked for nothing" in text
    assert list(Evaluation.read(tmp_path).lines) == [1]


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="contains something else"):
        Evaluation.begin(tmp_path, settings())
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_without_an_evaluation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no evaluation there \(evaluation.json is missing\)"):
        Evaluation.read(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"settings": {"task": 3}}', "{"])
def test_a_damaged_summary_is_a_problem_of_the_folder(tmp_path: Path, text: str) -> None:
    evaluation(tmp_path, [])
    (tmp_path / SUMMARY).write_text(text)
    with pytest.raises(DatasetProblem, match="not the summary of an evaluation"):
        Evaluation.read(tmp_path)


def test_the_command_plays_one_episode_as_it_was_played() -> None:
    asked = settings(faults=("drop@follow+3",))
    asked = dataclasses.replace(asked, parameters={**asked.parameters, "state_limit_s": 5.0})
    assert asked.command(12) == (
        "graspline eval lift-cube --policy my_policy:Policy --episodes 1 --seed 12 --fps 30 --cameras none "
        "--max-seconds 8.0 --fault drop@follow+3 --set state_limit_s=5.0 --video seed-12.mp4"
    )
