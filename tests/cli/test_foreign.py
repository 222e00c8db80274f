"""Tasks and policies of other distributions: played where they are sound, one clear message where they are not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graspline.registry import refresh

from .distributions import environment, installed, with_module
from .doors import call, refused, spawn
from .foreign import play_and_remove

STACK = Path(__file__).parents[2] / "examples" / "stack"
# Its first state has an outcome that leads nowhere.
NOT_TOTAL = """
import dataclasses
from graspline.tasks.lift_cube import LIFT_CUBE

def machine(parameters):
    good = LIFT_CUBE.machine(parameters)
    return dataclasses.replace(good, table={**good.table, good.start: {}})

HALF = dataclasses.replace(LIFT_CUBE, name="half", machine=machine)
"""
TAKES_TASK = ["run", "config", "diagram", "campaign", "audit", "check", "serve", "generate", "eval"]
OPTIONS = {"generate": ["--out", "dataset", "--episodes", "2"], "eval": ["--policy", "hold-still"]}

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a distribution of one module in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def add(distribution: str, source: str, **entries: str) -> None:
        monkeypatch.syspath_prepend(str(with_module(tmp_path, distribution, source, **entries)))
        refresh()

    return add


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    modules = set(sys.modules)
    yield
    for name in set(sys.modules) - modules:
        if name.partition(".")[0] in ("raising", "half_task", "one_name", "other_name"):
            del sys.modules[name]
    refresh()


def problems(command: str, task: str) -> list[str]:
    return refused(command, task, *OPTIONS.get(command, ()))


@pytest.mark.parametrize("command", TAKES_TASK)
def test_an_entry_point_that_raises_is_one_line_with_its_distribution(install: Install, command: str) -> None:
    install("raising", "1 / 0", bad="raising:BAD")
    (line,) = problems(command, "bad")
    assert line == ("task 'bad' (raising:BAD of raising 1.0) cannot be imported: ZeroDivisionError: division by zero")


def test_an_entry_point_that_raises_is_one_line_of_a_process_too(tmp_path: Path) -> None:
    found = environment(with_module(tmp_path, "raising", "1 / 0", bad="raising:BAD"))
    answer = spawn("run", "bad", cwd=tmp_path, **found)
    assert (answer.code, answer.out, len(answer.err.splitlines())) == (2, "", 1)
    assert "raising 1.0" in answer.err
    listed = spawn("tasks", cwd=tmp_path, **found)
    assert listed.code == 0
    assert "lift-cube" in listed.out
    assert "cannot be used: task 'bad'" in " ".join(listed.out.split())


@pytest.mark.parametrize("command", ["run", "diagram", "campaign", "audit", "serve", "generate", "eval"])
def test_a_table_that_is_not_total_is_told_before_anything_is_played(install: Install, command: str) -> None:
    install("half-task", NOT_TOTAL, half="half_task:HALF")
    lines = problems(command, "half")
    assert lines[0].startswith("task 'half' (half_task:HALF of half-task 1.0): ")
    assert any("leads nowhere" in line for line in lines)
    assert not Path("dataset").exists()


def test_check_tells_what_a_table_lacks_and_exits_with_1(install: Install) -> None:
    install("half-task", NOT_TOTAL, half="half_task:HALF")
    answer = call("check", "half", "--episodes", "1")
    assert answer.code == 1
    assert "      look: outcome 'seen' leads nowhere" in answer.out.splitlines()
    assert "Traceback" not in answer.out + answer.err


@pytest.mark.parametrize("command", TAKES_TASK)
def test_two_tasks_of_one_name_are_both_named(install: Install, command: str) -> None:
    install("one-name", "", same="one_name:SAME")
    install("other-name", "", same="other_name:SAME")
    (line,) = problems(command, "same")
    assert line.startswith("task 'same' is registered more than once: ")
    assert "one-name 1.0 has one_name:SAME" in line
    assert "other-name 1.0 has other_name:SAME" in line


def test_a_fault_that_cannot_be_imported_is_listed_with_the_reason_and_refused_where_it_is_named(
    install: Install,
) -> None:
    install("raising", "1 / 0", group="graspline.faults", quake="raising:QUAKE")
    listed = call("faults", "lift-cube")
    assert listed.code == 0
    told = " ".join(listed.out.split())
    assert "quake: cannot be used: fault 'quake' (raising:QUAKE of raising 1.0) cannot be imported: Zero" in told
    for named in (("campaign", "lift-cube", "--faults", "quake"), ("run", "lift-cube", "--fault", "quake@lift")):
        (line,) = refused(*named)
        assert "raising:QUAKE of raising 1.0" in line


@pytest.mark.slow
def test_a_fault_that_cannot_be_imported_is_left_out_of_checks_and_campaigns(install: Install) -> None:
    install("raising", "1 / 0", group="graspline.faults", quake="raising:QUAKE")
    assert call("check", "lift-cube", "--episodes", "1").code == 0
    assert call("campaign", "lift-cube", "--states", "lift", "--episodes", "1").code == 0


def test_a_policy_whose_module_is_missing_is_one_line() -> None:
    (line,) = refused("eval", "lift-cube", "--policy", "nowhere_at_all:act", "--cameras", "none")
    assert line.startswith("--policy nowhere_at_all:act: ")
    assert "nowhere_at_all" in line


def test_a_policy_that_is_registered_but_missing_is_one_line(install: Install) -> None:
    install("one-name", "", group="graspline.policies", gone="one_name.nowhere:act")
    (line,) = refused("eval", "lift-cube", "--policy", "gone", "--cameras", "none")
    assert line.startswith("--policy gone (one_name.nowhere:act of one-name 1.0): no such module")


# Fewer ticks than usual: Warp's CPU device takes as long for one as a GPU for thousands of lanes.
ON_WARP = """
from graspline.gpu.engine_server import Spent
from graspline.gpu.workers import play_together
from graspline.episodes.scenario import Scenario
from graspline.tasks.catalogue import find_task

if __name__ == "__main__":
    stack = find_task("stack")
    reach = {"travel_speed": 1.0, "descend_speed_m_s": 0.3, "lift_speed_m_s": 0.25}
    brisk = {"reach": reach, "put": {"transport_speed_m_s": 0.4, "lower_speed_m_s": 0.2}}
    scenario = Scenario(task=stack, parameters=stack.parameters.model_validate(brisk), seed=10)
    told = {"lanes": 1, "processes": 1, "teams": 1, "device": "cpu", "keep_logs": False}
    for each in play_together([scenario], spent=Spent(), clock=lambda: 0.0, **told):
        print(each.engine, each.verdict, each.succeeded)
"""


@pytest.mark.slow
def test_the_example_is_played_by_workers_of_the_gpu_engine(tmp_path: Path) -> None:
    pytest.importorskip("mujoco_warp", reason="the gpu extra is not installed")
    (tmp_path / "program.py").write_text(ON_WARP)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, **installed(STACK, tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["gpu success True"], done.stderr


@pytest.mark.slow
def test_the_example_conforms_and_is_played_like_a_task_of_ours(tmp_path: Path) -> None:
    found = installed(STACK, tmp_path / "site")
    # Near the middle fewer scenes are rejected, which saves a third of the time.
    middle = ("--set", "cubes.radius_m=[0.17, 0.24]", "--set", "cubes.azimuth_rad=[-0.9, 0.9]")
    checked = spawn("check", "stack", "--episodes", "4", *middle, cwd=tmp_path, **found)
    assert (checked.code, checked.out.splitlines()[-1]) == (0, "stack conforms"), checked
    play_and_remove("stack", found, tmp_path, says="pip install graspline-stack")
