"""`graspline campaign`: the matrix, its files, and exit codes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import graspline.cli.campaign
from graspline.campaigns.campaign import Campaign, CampaignCase, CampaignCell, Plan
from graspline.faults.catalogue import fault_names
from graspline.tasks.lift_cube import LiftCube
from graspline.tasks.sort.parameters import Sort

from .doors import call, refused, spawn

CELLS = ("--faults", "drop,remove", "--states", "approach,lift")
WORDS = ("campaign", "lift-cube", *CELLS, "--episodes", "1", "--seed", "1")


def campaign_of(*cells: CampaignCell) -> Campaign:
    return Campaign(
        task="lift-cube",
        parameters=LiftCube(),
        seed=0,
        episodes=1,
        faults=tuple(dict.fromkeys(cell.fault for cell in cells)),
        states=tuple(dict.fromkeys(cell.state for cell in cells)),
        after=(),
        cells={(cell.fault, cell.state): cell for cell in cells},
    )


GOOD = CampaignCase(seed=1, fault="drop@lift", ending="recovered", verdict="success", strike_s=2.0, detect_s=0.05)
BAD = dataclasses.replace(GOOD, seed=7, ending="false_success")


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Plan]:
    """Plans that would have been played; nothing moves."""
    plans: list[Plan] = []

    def none(plan: Plan, **options: object) -> Campaign:
        plans.append(plan)
        return campaign_of(*(CampaignCell(fault=f, state=s, cases=(GOOD,)) for f in plan.faults for s in plan.states))

    monkeypatch.setattr(graspline.cli.campaign, "run_campaign", none)
    monkeypatch.chdir(tmp_path)
    return plans


def test_the_matrix_is_printed_and_saved(tmp_path: Path) -> None:
    answer = spawn(*WORDS, "--out", tmp_path / "new" / "here")
    assert answer.code == 0, answer.err
    lines = [line.split() for line in answer.out.splitlines()]
    assert ["approach", "lift", "all"] in lines
    assert ["drop", "–", "1/1", "1/1"] in lines
    assert "– fault does not apply in this state" in answer.out
    assert ["remove", "0/1", "0/1", "0/2"] in lines
    assert "remove  recovered 0/2; failed: target_not_found 2" in answer.out
    assert "drops detected after " in answer.out
    assert "false claims, crashes and hangs: 0" in answer.out
    assert sorted(path.name for path in (tmp_path / "new" / "here").iterdir()) == ["campaign.html", "campaign.json"]
    assert json.loads((tmp_path / "new" / "here" / "campaign.json").read_text())["struck"] == 3


def test_json_is_one_object_and_nothing_else(tmp_path: Path) -> None:
    answer = call(*WORDS, "--json", "--out", tmp_path)
    (found,) = answer.lines
    assert found == json.loads((tmp_path / "campaign.json").read_text())
    assert [cell["fault"] for cell in found["cells"]] == ["drop", "drop", "remove", "remove"]


def test_everything_is_played_unless_named(planned: list[Plan]) -> None:
    assert call("campaign", "lift-cube").code == 0
    (plan,) = planned
    assert plan.faults == fault_names()
    assert plan.states[:3] == ("look", "plan", "approach")
    assert (plan.episodes, plan.seed, plan.after) == (10, 0, ())
    assert Path("out/campaign/campaign.html").exists()


def test_states_are_those_of_the_machine_that_settings_make(planned: list[Plan]) -> None:
    words = ("campaign", "tidy", "--faults", "drop", "--states")
    assert call(*words, "bring_in", "--set", "program=placement").code == 0
    assert planned[0].states == ("bring_in",)
    (problem,) = refused(*words, "bring_in")
    assert problem.startswith("--states bring_in: unknown state 'bring_in'")


def test_names_may_have_spaces_and_come_twice(planned: list[Plan]) -> None:
    call("campaign", "lift-cube", "--faults", "shove, drop,shove", "--states", "lift,", "--after", "drop@lift+0.3")
    assert (planned[0].faults, planned[0].states) == (("shove", "drop"), ("lift",))
    assert planned[0].after == ("drop@lift+0.3",)


def test_settings_reach_the_parameters(planned: list[Plan]) -> None:
    call("campaign", "lift-cube", "--set", "retries.grasps=0", "--seed", "5", "--episodes", "3")
    parameters = planned[0].parameters
    assert isinstance(parameters, LiftCube)
    assert parameters.retries.grasps == 0
    assert planned[0].seeds == range(5, 8)


def test_a_long_order_is_cut_short_unless_somebody_sets_it(planned: list[Plan]) -> None:
    call("campaign", "sort", "--faults", "belt-jam")
    call("campaign", "sort", "--faults", "belt-jam", "--set", "belt.blocks=9")
    short, asked = (plan.parameters for plan in planned)
    assert isinstance(short, Sort)
    assert isinstance(asked, Sort)
    assert (short.belt.blocks, asked.belt.blocks) == (6, 9)
    assert short.success_share == asked.success_share == 0.8


def test_an_episode_of_a_short_order_is_shown_again_with_its_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = campaign_of(CampaignCell(fault="drop", state="lift", cases=(BAD,)))
    monkeypatch.setattr(graspline.cli.campaign, "run_campaign", lambda plan, **options: result)
    told = call("campaign", "sort", "--out", tmp_path).out
    assert "false claim: --seed 7 --fault drop@lift --set belt.blocks=6 --set belt.density_per_m=4" in told


@pytest.mark.parametrize("ending", ["false_success", "crashed", "hung"])
def test_what_must_never_happen_exits_with_1_and_says_how_to_see_it_again(
    ending: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    case = dataclasses.replace(BAD, ending=ending)
    result = campaign_of(CampaignCell(fault="drop", state="lift", cases=(GOOD, case)))
    monkeypatch.setattr(graspline.cli.campaign, "run_campaign", lambda plan, **options: result)
    answer = call("campaign", "lift-cube", "--out", tmp_path)
    assert answer.code == 1
    assert "!1/2" in answer.out
    called = {"false_success": "false claim"}.get(ending, ending)
    assert f"  {called}: --seed 7 --fault drop@lift" in answer.out


def test_a_wide_matrix_is_cut_into_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = campaign_of(*(CampaignCell(fault="drop", state=f"state_{index}", cases=(GOOD,)) for index in range(12)))
    monkeypatch.setattr(graspline.cli.campaign, "run_campaign", lambda plan, **options: result)
    monkeypatch.setenv("COLUMNS", "60")
    table = call("campaign", "lift-cube", "--out", tmp_path).out.partition("\n\ndrop  recovered")[0]
    assert all(len(line) <= 60 for line in table.splitlines())
    assert table.count("1/1") == 12
    assert "state_11" in table


def test_all_bad_names_are_told_at_once_with_the_nearest(planned: list[Plan]) -> None:
    problems = refused(
        *("campaign", "lift-cube", "--faults", "dorp,shove", "--states", "lfit", "--after", "drop@nowhere"),
        *("--set", "reach.lift_m=9"),
    )
    assert [problem.split(":")[0] for problem in problems] == [
        "--set reach.lift_m=9",
        "--faults dorp,shove",
        "--states lfit",
        "--after drop@nowhere",
    ]
    assert "unknown fault 'dorp'; did you mean 'drop'?" in problems[1]
    assert "unknown state 'lfit'; did you mean 'lift'?" in problems[2]
    assert planned == []


def test_an_unknown_task_is_refused() -> None:
    (problem,) = refused("campaign", "lift-cub")
    assert problem.startswith("unknown task 'lift-cub'; did you mean 'lift-cube'?")


def test_no_episodes_are_refused() -> None:
    assert "--episodes" in refused("campaign", "lift-cube", "--episodes", "0")[0]


def test_a_folder_below_a_file_is_a_problem_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    answer = call("campaign", "lift-cube", "--out", tmp_path / "file" / "x")
    assert (answer.code, answer.out) == (3, "")
    assert "a file is in the way" in answer.err


@pytest.mark.parametrize("option", ["--faults", "--states"])
@pytest.mark.parametrize("text", ["", " , "])
def test_a_list_without_a_name_is_refused(option: str, text: str, planned: list[Plan]) -> None:
    (problem,) = refused("campaign", "lift-cube", option, text)
    what = option[2:-1]
    assert problem == f"{option} {text!r}: expected at least one {what}; leave out {option} for all of them"
    assert planned == []


def test_an_interrupted_campaign_says_so_in_its_files_and_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = dataclasses.replace(campaign_of(CampaignCell(fault="drop", state="lift", cases=(GOOD,))), interrupted=True)
    monkeypatch.setattr(graspline.cli.campaign, "run_campaign", lambda plan, **options: result)
    answer = call("campaign", "lift-cube", "--out", tmp_path)
    assert answer.code == 130
    assert "interrupted: only episodes that had ended are counted" in answer.err
    assert json.loads((tmp_path / "campaign.json").read_text())["interrupted"] is True
    assert "Interrupted: only episodes that had ended" in (tmp_path / "campaign.html").read_text()
