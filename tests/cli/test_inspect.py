"""`graspline tasks`, `config`, `diagram` and `region`."""

from __future__ import annotations

import dataclasses
import io
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from graspline.cli.tasks import tasks
from graspline.parameters import build, load_yaml
from graspline.tasks.catalogue import TASKS, find_task

from .doors import call, refused, spawn

SVG = "{http://www.w3.org/2000/svg}"


def test_the_list_of_tasks_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", shown)
    tasks()
    lines = shown.getvalue().splitlines()
    assert len(lines) > len(TASKS)
    assert max(map(len, lines)) <= 80
    assert " ".join(shown.getvalue().split()) == " ".join(call("tasks").out.split())


@pytest.mark.parametrize("task", TASKS)
def test_a_configuration_fits_a_narrow_terminal(task: str) -> None:
    assert max(map(len, call("config", task).out.splitlines())) <= 80


def test_every_task_is_listed_with_what_it_does() -> None:
    answer = spawn("tasks")
    assert (answer.code, answer.err) == (0, "")
    lines = dict(line.split("  ", 1) for line in answer.out.splitlines())
    assert {name: text.strip() for name, text in lines.items()} == {name: task.summary for name, task in TASKS.items()}
    assert "lift-cube" in lines


@pytest.mark.parametrize("task", TASKS)
def test_a_printed_configuration_reads_back_as_the_same_parameters(task: str, tmp_path: Path) -> None:
    changed = {
        "lift-cube": ("reach.lift_m=0.08", "cube.edge_m=[2e-2, 0.03]"),
        "oranges": ("reach.max_tilt_rad=0.4", "oranges.diameter_m=[5e-2, 0.06]"),
        "grab": ("reach.lift_m=0.08", "things.scale=[9e-1, 1.0]"),
        "sort": ("belt.blocks=7", "belt.speed_m_s=8e-2"),
        "tidy": ("table.gap_m=3e-2", "table.objects=[mug, apple]"),
    }
    settings = [word for each in changed[task] for word in ("--set", each)]
    for given in ([], settings):
        printed = call("config", task, *given)
        file = tmp_path / "task.yaml"
        file.write_text(printed.out)
        model = find_task(task).parameters
        assert build(model, load_yaml(file)) == build(model, None, given[1::2])
        assert call("config", task, "--config", file).out == printed.out


@pytest.mark.parametrize("task", TASKS)
def test_every_key_of_a_configuration_has_a_comment(task: str) -> None:
    lines = call("config", task).out.splitlines()
    keys = [(before, line) for before, line in zip(["", *lines], lines, strict=False) if re.match(r" *\w+:", line)]
    assert len(keys) > 40
    for before, line in keys:
        assert "# " in line or before.lstrip().startswith("# "), line


def test_a_setting_shows_in_the_configuration() -> None:
    before, after = call("config", "lift-cube").out, call("config", "lift-cube", "--set", "reach.lift_m=0.08").out
    assert "lift_m: 0.06\n" in before
    assert after == before.replace("lift_m: 0.06\n", "lift_m: 0.08\n")


def test_a_setting_wins_over_the_file_and_the_last_one_over_the_first(tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    file.write_text("reach: {lift_m: 0.07, travel_speed: 0.25}\n")
    words = ("--set", "reach.lift_m=0.08", "--set", "reach.lift_m=0.09")
    printed = call("config", "lift-cube", "--config", file, *words).out
    assert "lift_m: 0.09\n" in printed
    assert "travel_speed: 0.25\n" in printed


@pytest.mark.parametrize("text", ["", "# nothing\n", "null\n", "{}\n", "\ufeffreach: {}\n"])
def test_an_empty_file_sets_nothing(text: str, tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(text, encoding="utf-8")
    assert call("config", "lift-cube", "--config", file).out == call("config", "lift-cube").out


@pytest.mark.parametrize("name, budget", [("lift-cube", "grasps ≤ 2"), ("oranges", "grasps ≤ 9")])
def test_a_diagram_is_mermaid_with_every_state_and_budget(name: str, budget: str) -> None:
    answer = spawn("diagram", name)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("stateDiagram-v2\n")
    task = find_task(name)
    for state in task.machine(task.parameters()).states:
        assert f"\n    {state} --> " in answer.out
    assert budget in answer.out


def test_a_diagram_shows_the_budgets_that_were_set() -> None:
    assert "grasps ≤ 7" in call("diagram", "lift-cube", "--set", "retries.grasps=7").out


def test_a_diagram_is_a_picture_by_format_or_by_name(tmp_path: Path) -> None:
    printed = call("diagram", "lift-cube", "--format", "svg")
    file = tmp_path / "new" / "lift.svg"
    assert call("diagram", "lift-cube", "--out", file).code == 0
    assert file.read_text() == printed.out
    assert ET.fromstring(printed.out).tag == f"{SVG}svg"


def test_a_diagram_is_text_in_a_file_of_another_name(tmp_path: Path) -> None:
    file = tmp_path / "lift.mmd"
    answer = call("diagram", "lift-cube", "--out", file)
    assert (answer.code, answer.out) == (0, "")
    assert file.read_text() == call("diagram", "lift-cube").out


def test_a_region_is_a_share_with_its_interval_and_reasons() -> None:
    answer = call("region", "lift-cube", "--samples", "50")
    assert answer.code == 0
    first, *reasons = answer.out.splitlines()
    found = re.match(r"graspable: (\d+)/50 = ([\d.]+) % \(95 % interval ([\d.]+) to ([\d.]+) %\)", first)
    assert found is not None
    certified, share, low, high = map(float, found.groups())
    assert low < share < high
    assert share == 2 * certified
    refused = [float(each) for each in re.findall(r"rejected for \w+: ([\d.]+) %", "\n".join(reasons))]
    assert share + sum(refused) == pytest.approx(100, abs=0.2)


def test_a_region_is_the_same_for_the_same_seed_only() -> None:
    words = ("region", "lift-cube", "--samples", "30")
    first = call(*words, "--seed", "1").out
    assert first == call(*words, "--seed", "1").out
    assert first != call(*words, "--seed", "2").out


def test_a_region_is_drawn_with_a_dot_for_every_draw(tmp_path: Path) -> None:
    file = tmp_path / "new" / "region.svg"
    answer = call("region", "lift-cube", "--samples", "20", "--out", file)
    assert (answer.code, answer.err) == (0, f"saved: {file}\n")
    dots = [circle for circle in ET.parse(file).iter(f"{SVG}circle") if circle.get("r") == "3"]
    assert len(dots) == 20


def test_a_region_outside_the_reach_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "far.yaml"
    file.write_text("cube: {radius_m: [0.5, 0.6]}\n")
    answer = call("region", "lift-cube", "--config", file)
    assert (answer.code, answer.out) == (2, "")
    assert "outside the arm's reach" in answer.err


@pytest.mark.parametrize("command", ["diagram", "region"])
def test_a_picture_below_a_file_is_a_problem_of_the_machine(command: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    answer = call(command, "lift-cube", "--out", tmp_path / "file" / "x" / "picture.svg")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err == f"graspline: --out: cannot make the folder {tmp_path}/file/x: a file is in the way\n"


def test_a_diagram_is_what_its_format_or_its_name_says(tmp_path: Path) -> None:
    assert call("diagram", "lift-cube", "--format", "mermaid", "--out", tmp_path / "text.svg").code == 0
    assert not (tmp_path / "text.svg").read_text().startswith("<svg")
    (problem,) = refused("diagram", "lift-cube", "--out", tmp_path / "x.pdf")
    assert "expected a name that ends in .svg, .mmd, .md or .txt" in problem
    assert not (tmp_path / "x.pdf").exists()


def test_a_region_of_a_task_without_a_probe_is_refused_with_those_that_have_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without = dataclasses.replace(TASKS["tidy"], region=None)
    monkeypatch.setitem(TASKS, "tidy", without)
    answer = call("region", "tidy")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "graspline: region does not work with tidy; choose grab, lift-cube, oranges, sort\n"


def test_a_diagram_that_is_written_is_said_to_be_saved(tmp_path: Path) -> None:
    file = tmp_path / "lift.svg"
    answer = call("diagram", "lift-cube", "--out", file)
    assert (answer.code, answer.out, answer.err) == (0, "", f"saved: {file}\n")
