"""`graspline run`: episodes, verdicts, films and exit codes."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import pty
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graspline.cli.run
import graspline.episodes.films.film
import graspline.episodes.films.frames
import graspline.rendering.choose
import graspline.scenes.scene
from graspline.cli.seed_order import InOrder
from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.rendering.choose import gl_problem
from graspline.robots.so101 import SO101
from graspline.tasks.catalogue import find_task

from .doors import COMMAND, Answer, call, refused, spawn, watch

KEYS = [
    "task",
    "seed",
    "instruction",
    "verdict",
    "succeeded",
    "retries",
    "sim_time_s",
    "state_hash",
    "engine",
    "transitions",
    "evidence",
    "truth",
]
# An episode that ends at once: its first motion runs out of time.
SHORT = ("--set", "state_limit_s=0.2")


@functools.cache
def three_episodes() -> Answer:
    return spawn("run", "lift-cube", "--episodes", "3", "--seed", "5", "--json")


def hashes(answer: Answer) -> dict[int, str]:
    return {line["seed"]: line["state_hash"] for line in answer.lines}


def test_json_is_one_object_per_episode_and_nothing_else() -> None:
    answer = three_episodes()
    assert answer.code == 0
    assert len(answer.out.splitlines()) == 3
    assert sorted(line["seed"] for line in answer.lines) == [5, 6, 7]
    assert "succeeded: 3/3" in answer.err


def test_every_json_object_has_the_promised_keys() -> None:
    for line in three_episodes().lines:
        assert list(line) == KEYS
        assert line["task"] == "lift-cube"
        assert isinstance(line["succeeded"], bool)
        assert isinstance(line["retries"], int)
        assert line["sim_time_s"] > 0
        assert re.fullmatch("[0-9a-f]{32}", line["state_hash"])
        for transition in line["transitions"]:
            assert list(transition) == ["t_s", "state", "outcome", "about", "evidence"]
        assert line["transitions"][-1]["t_s"] == line["sim_time_s"]
        for measurement in line["evidence"]:
            assert {"name", "value", "limit", "unit", "passed"} <= set(measurement)
        truth = line["truth"]
        assert set(truth) == {"objects", "places", "tool"}
        assert set(truth["objects"]) == {"cube"}
        assert set(truth["objects"]["cube"]) == {
            *("position_m", "start_position_m", "quaternion", "speed_m_s", "size_m"),
        }
        assert set(truth["tool"]) == {"position_m", "quaternion", "jaw_gap_m"}


def test_truth_agrees_that_what_succeeded_is_in_the_hand() -> None:
    for line in three_episodes().lines:
        assert line["succeeded"]
        assert line["verdict"] == "success"
        cube, tool = line["truth"]["objects"]["cube"], line["truth"]["tool"]
        position, start = np.array(cube["position_m"]), np.array(cube["start_position_m"])
        assert position[2] - start[2] >= 0.05
        assert math.dist(position, tool["position_m"]) <= 0.02
        assert cube["speed_m_s"] < 0.02
        assert np.isclose(np.linalg.norm(cube["quaternion"]), 1)
        assert np.isclose(np.linalg.norm(tool["quaternion"]), 1)


@pytest.mark.parametrize("lanes, threads", [(1, 1), (3, 1), (2, 4)])
def test_hashes_do_not_depend_on_lanes_or_threads(lanes: int, threads: int) -> None:
    answer = call("run", "lift-cube", *f"--episodes 3 --seed 5 --json --lanes {lanes} --threads {threads}".split())
    assert hashes(answer) == hashes(three_episodes())


def test_without_json_there_is_a_summary_for_people() -> None:
    answer = call("run", "lift-cube", "--episodes", "3", "--seed", "5")
    assert answer.code == 0
    assert "succeeded: 3/3 = 100.0 % (95 % interval" in answer.out
    assert "false claims: 0" in answer.out
    assert answer.err == ""


def test_enough_successes_exit_with_0() -> None:
    assert call("run", "lift-cube", "--episodes", "3", "--seed", "5", "--require-success", "1").code == 0


def test_too_few_successes_exit_with_1_in_a_process() -> None:
    answer = spawn("run", "lift-cube", "--episodes", "2", "--fault", "remove@approach", "--require-success", "0.5")
    assert answer.code == 1
    assert "succeeded: 0/2" in answer.out
    assert re.search(r"\w+: 2 \(seeds \d, \d\)", answer.out), "the summary says how they failed, and which"


def test_failures_without_a_requirement_exit_with_0() -> None:
    assert call("run", "lift-cube", "--fault", "remove@approach").code == 0


def test_a_divergence_is_a_verdict_and_valid_json() -> None:
    answer = call("run", "lift-cube", "--fault", "nan-control@lift", "--json")
    (line,) = answer.lines
    assert answer.code == 0
    assert line["verdict"] == "physics_diverged"
    assert not line["succeeded"]


def test_several_faults_strike_in_one_episode() -> None:
    answer = call("run", "lift-cube", "--fault", "shove@look", "--fault", "drop@lift+0.3", "--json")
    (line,) = answer.lines
    assert answer.code == 0
    assert line["retries"] >= 1


def test_a_setting_decides_the_run_as_its_file_does(tmp_path: Path) -> None:
    file = tmp_path / "slow.yaml"
    file.write_text("reach: {lift_m: 0.08}\n")
    by_file = call("run", "lift-cube", "--config", file, "--json")
    by_option = call("run", "lift-cube", "--set", "reach.lift_m=0.08", "--json")
    assert hashes(by_file) == hashes(by_option) != hashes(call("run", "lift-cube", "--json"))


def test_a_cube_out_of_reach_is_refused_before_anything_moves() -> None:
    (problem,) = refused("run", "lift-cube", "--set", "cube.radius_m=[0.5, 0.6]", "--json")
    assert "cube.radius_m" in problem
    assert "outside the arm's reach" in problem


@functools.cache
def an_episode() -> Episode:
    task = find_task("lift-cube")
    (episode,) = run_scenarios([Scenario(task=task, parameters=task.parameters(), seed=0)])
    return episode


@pytest.mark.parametrize(
    "changes, options, code",
    [
        ({"verdict": "crashed", "succeeded": False, "error": "ValueError: the culprit"}, (), 5),
        ({"verdict": "interrupted", "succeeded": False}, (), 130),
        ({"verdict": "missed", "succeeded": False}, ("--require-success", "0.01"), 1),
        ({"verdict": "missed", "succeeded": False}, ("--require-success", "0"), 0),
    ],
)
def test_the_exit_code_follows_the_verdicts(
    changes: dict[str, Any], options: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(*scenarios: Any, **settings: Any) -> Iterator[Episode]:
        return iter([dataclasses.replace(an_episode(), **changes)])

    monkeypatch.setattr(graspline.cli.run, "run_scenarios", play)
    answer = call("run", "lift-cube", *options)
    assert answer.code == code
    assert changes.get("error", "") in answer.err


def test_a_claim_that_the_simulator_contradicts_is_counted_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    episode = an_episode()
    refuted = tuple(dataclasses.replace(each, value=1.0, limit=0.0) for each in episode.goal_by_truth)
    lie = dataclasses.replace(episode, goal_by_truth=refuted)
    assert lie.false_success
    monkeypatch.setattr(graspline.cli.run, "run_scenarios", lambda *_, **settings: iter([lie]))
    assert "false claim: the simulator contradicts this success" in call("run", "lift-cube").out
    assert "false claims: 1 (seed 0)" in call("run", "lift-cube", "--episodes", "2").out


def test_one_episode_is_told_by_its_verdict_its_time_and_its_evidence_and_not_by_rates() -> None:
    shown = call("run", "lift-cube", "--seed", "1", "--fault", "drop@lift+0.3").out
    first, *measured = shown.splitlines()
    assert re.fullmatch(r"success after \d+\.\d s, 1 retry \(seed 1, computed in \d+\.\d s\)", first)
    assert measured[0].startswith("  ✓ raised 6")
    assert not re.search("interval|per second|draws|region|1/1", shown)


@pytest.mark.parametrize("refused, told", [((0, 0), ""), ((0, 3), "scenes: 2 kept of 5 sampled\n")])
def test_scenes_that_the_sampler_refused_are_told_if_there_are_any(
    refused: tuple[int, int], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    episodes = [
        dataclasses.replace(an_episode(), sampled=dataclasses.replace(an_episode().sampled, refused=each))
        for each in refused
    ]
    monkeypatch.setattr(graspline.cli.run, "run_scenarios", lambda *_, **settings: iter(episodes))
    shown = call("run", "lift-cube", "--episodes", "2").out
    assert told in shown
    assert ("scenes:" in shown) == bool(told)


def test_json_lines_come_in_the_order_of_seeds_as_soon_as_those_before_them_are_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, printed = InOrder(5), []
    for seed in (6, 5, 8, 7, 10, 11):
        lines.add(seed, {"seed": seed})
        printed.append([json.loads(line)["seed"] for line in capsys.readouterr().out.splitlines()])
    assert printed == [[], [5, 6], [], [7, 8], [], []]
    lines.close()
    assert [json.loads(line)["seed"] for line in capsys.readouterr().out.splitlines()] == [10, 11]

    def struck(*_: Any, **settings: Any) -> Iterator[Episode]:
        for seed in (2, 1):
            scenario = dataclasses.replace(an_episode().scenario, seed=seed)
            yield dataclasses.replace(an_episode(), scenario=scenario)
        raise KeyboardInterrupt

    monkeypatch.setattr(graspline.cli.run, "run_scenarios", struck)
    answer = call("run", "lift-cube", "--episodes", "3", "--json")
    assert (answer.code, [line["seed"] for line in answer.lines]) == (130, [1, 2])


def test_viewing_without_a_display_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    answer = call("run", "lift-cube", "--view")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err == "graspline: --view needs a display, and this machine has none (DISPLAY is not set)\n"


def test_viewing_on_a_display_that_does_not_answer_is_refused_in_one_line() -> None:
    answer = spawn("run", "lift-cube", "--view", DISPLAY=":4321", WAYLAND_DISPLAY="")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err.startswith("graspline: --view could not open a window")
    assert answer.err.count("\n") == 1


def test_a_film_has_a_picture_for_its_ticks(tmp_path: Path) -> None:
    path = tmp_path / "new" / "film.mp4"
    answer = call("run", "lift-cube", *SHORT, "--video", path, "--json")
    (line,) = answer.lines
    fps = 30 if gl_problem() is None else 5
    film = watch(path)
    assert (film.size, film.fps) == ((1024, 480), fps)
    ticks = round(line["sim_time_s"] * SO101.control_hz)
    assert film.frames == math.ceil(ticks * fps / SO101.control_hz)
    assert [each.name for each in path.parent.iterdir()] == ["film.mp4"]
    assert f"saved: {path}\n" in answer.err


def test_films_of_several_episodes_have_their_seeds_in_their_names(tmp_path: Path) -> None:
    answer = call("run", "lift-cube", *SHORT, "--episodes", "2", "--seed", "8", "--video", tmp_path / "film.mp4")
    assert answer.code == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["film-8.mp4", "film-9.mp4"]
    assert [f"saved: {tmp_path / name}\n" in answer.err for name in ("film-8.mp4", "film-9.mp4")] == [True, True]
    assert watch(tmp_path / "film-9.mp4").frames > 0


@pytest.mark.parametrize("cameras", [("wrist",), ()])
def test_a_scene_without_the_usual_cameras_is_filmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cameras: tuple[str, ...]
) -> None:
    monkeypatch.setattr(graspline.scenes.scene.Scene, "cameras", cameras)
    answer = call("run", "lift-cube", *SHORT, "--video", tmp_path / "film.mp4")
    assert answer.code == 0
    assert watch(tmp_path / "film.mp4").frames > 0


def test_filming_changes_no_bit(tmp_path: Path) -> None:
    filmed = call("run", "lift-cube", *SHORT, "--video", tmp_path / "film.mp4", "--json")
    assert hashes(filmed) == hashes(call("run", "lift-cube", *SHORT, "--json"))


def test_without_opengl_the_film_has_fewer_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in (graspline.episodes.films.film, graspline.episodes.films.frames, graspline.rendering.choose):
        monkeypatch.setattr(room, "gl_problem", lambda: "no libEGL")
    answer = call("run", "lift-cube", "--set", "state_limit_s=0.5", "--video", tmp_path / "film.mp4", "--json")
    (line,) = answer.lines
    film = watch(tmp_path / "film.mp4")
    assert (film.size, film.fps) == ((1024, 480), 5)
    assert film.frames == math.ceil(round(line["sim_time_s"] * SO101.control_hz) / 12)


@pytest.mark.slow
def test_a_whole_episode_is_filmed_by_the_real_command(tmp_path: Path) -> None:
    answer = spawn("run", "lift-cube", "--video", "film.mp4", "--json", cwd=tmp_path)
    assert answer.code == 0
    (line,) = answer.lines
    assert watch(tmp_path / "film.mp4").frames >= line["sim_time_s"] * 4


def test_a_film_below_a_file_is_refused_before_anything_moves(tmp_path: Path, nothing_moves: None) -> None:
    (tmp_path / "file").touch()
    answer = call("run", "lift-cube", "--video", tmp_path / "file" / "film.mp4")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err == f"graspline: --video: cannot make the folder {tmp_path}/file: a file is in the way\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_refused_before_anything_moves(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    answer = call("run", "lift-cube", "--video", tmp_path / "film.mp4")
    assert (answer.code, answer.out) == (3, "")
    assert "cannot write" in answer.err


# Empties the line; before it the cursor goes back to its beginning, where a line ends for Python.
ERASE = "\x1b[K"


def on_a_terminal(*words: str, stdout: int | None = None) -> tuple[int, str]:
    """Run a command with standard error on a terminal, and standard output too if it goes nowhere else."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *words],
        stdin=theirs,
        stdout=theirs if stdout is None else stdout,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "60"},
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:
        pass  # Linux says so when the other side is closed
    finally:
        os.close(ours)
    return process.wait(), shown.decode().replace("\r\n", "\n")


def test_json_reaches_a_file_while_a_bar_is_on_the_terminal(tmp_path: Path) -> None:
    with (tmp_path / "episodes.jsonl").open("wb") as file:
        code, shown = on_a_terminal("run", "lift-cube", "--episodes", "3", "--json", stdout=file.fileno())
    assert code == 0
    lines = [json.loads(line) for line in (tmp_path / "episodes.jsonl").read_text().splitlines()]
    assert sorted(line["seed"] for line in lines) == [0, 1, 2]
    assert "3/3" in shown
    assert "state_hash" not in shown


def test_json_on_a_terminal_is_neither_wrapped_nor_torn() -> None:
    code, shown = on_a_terminal("run", "lift-cube", "--episodes", "3", "--json")
    assert code == 0
    # What was shown before is erased from the line.
    lines = [line.rpartition(ERASE)[2] for line in shown.splitlines()]
    assert sorted(json.loads(line)["seed"] for line in lines if line.startswith("{")) == [0, 1, 2]


def test_a_bar_on_the_terminal_makes_room_for_the_summary() -> None:
    code, shown = on_a_terminal("run", "lift-cube", "--episodes", "3")
    assert code == 0
    assert "episodes" in shown
    assert any("succeeded: 3/3" in line for line in shown.splitlines()[-5:])


def test_what_happens_is_told_on_standard_error_and_output_stays_json() -> None:
    answer = call("run", "oranges", "--set", "oranges.count=1", "--log", "info", "--json")
    assert answer.code == 0
    (episode,) = answer.lines
    assert episode["verdict"] == "success"
    assert "idle: selected orange_1 → plan" in answer.err
    assert "transport orange_1: start (" in answer.err


def test_what_is_randomised_is_told_value_by_value() -> None:
    (line,) = call("run", "lift-cube", "--randomize", "gains,latency", "--seed", "60000", "--json").lines
    assert line["succeeded"]
    assert {name.split(".")[0] for name in line["variation"] if "." in name} == {"gains", "latency"}


def test_all_aspects_have_a_word_and_set_has_the_last() -> None:
    words = ("--randomize", "all", "--set", "randomize.distractors.on=false", "--json")
    (line,) = call("run", "lift-cube", "--seed", "60001", *words).lines
    assert set(line["truth"]["objects"]) == {"cube"}
    assert "lighting.key.brightness" in line["variation"]


def test_an_order_that_is_turned_down_says_why_and_is_no_failure() -> None:
    answer = call("run", "grab", "--seed", "3", "--set", "order.target=blue_2x4", "--set", "order.variables=given",
                  "--set", "grasp.cross_axis=true", "--set", "things.count=[1, 1]")  # fmt: skip
    assert answer.code == 0
    assert answer.out.startswith("order rejected: rejected after 0.0 s")
    assert "✗ grasp.jaw_width.jaw_angle_at_touch" in answer.out
