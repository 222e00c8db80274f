"""Campaigns and the undisturbed episodes behind them, on `lift-cube`."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterator
from typing import Any, Literal

import pytest

import graspline.campaigns.campaign
from episodes.playing import PARAMETERS, run_seeds
from graspline.campaigns.baseline import Calm, leaf_states, rehearse, senseless
from graspline.campaigns.campaign import Campaign, CampaignCase, CampaignCell, Plan, case_of, run_campaign
from graspline.episodes.episode import HUNG, Episode, Transition
from graspline.episodes.fault_injection import Strike
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.evidence import at_least, passes
from graspline.execution.requests import Motion, Reply
from graspline.faults.catalogue import fault_names
from graspline.machine.machine import Machine
from graspline.machine.outcome import Outcome, Stage
from graspline.machine.table import End
from graspline.motion.joint_moves import hold
from graspline.reports.pages import campaign_page
from graspline.robots.robot import Robot
from graspline.scenes.cube_table import cube_table
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube

PLAN = Plan(
    task=LIFT_CUBE,
    parameters=PARAMETERS,
    faults=("drop", "remove", "move-plate", "nan-control"),
    states=("approach", "lift", "back_off"),
    seed=3,
    episodes=2,
)


@functools.cache
def played(lanes: int = 8) -> Campaign:
    return run_campaign(PLAN, lanes=lanes)


@functools.cache
def calms() -> dict[int, Calm]:
    return rehearse(LIFT_CUBE, PARAMETERS, [3, 4], lanes=2)


# What undisturbed episodes say


def test_a_rehearsal_tells_how_long_states_take_and_where_something_is_held() -> None:
    for calm in calms().values():
        assert calm.verdict == "success"
        assert calm.looked
        assert calm.gripping == {"close", "lift", "hold", "verify"}
        assert calm.lasted_s["hold"] == pytest.approx(1.0, abs=0.02)
        assert [state for state, _ in calm.outcomes] == list(calm.lasted_s)


@pytest.mark.parametrize(
    "fault, state, reason",
    [
        ("drop", "lift", ""),
        ("drop", "approach", "nothing in the hand"),
        ("shove", "approach", ""),
        ("shove", "back_off", "never entered in an undisturbed episode"),
        ("move-plate", "lift", "the scene has no plate"),
        ("plate-full", "lift", "the scene has no plate"),
        ("blackout", "look", ""),
    ],
)
def test_a_fault_that_makes_no_sense_in_a_state_is_told_with_the_reason(fault: str, state: str, reason: str) -> None:
    assert senseless(fault, state, cube_table(), list(calms().values())) == reason


def test_bad_eyes_make_no_sense_for_a_task_that_never_looks() -> None:
    blind = [dataclasses.replace(calm, looked=False) for calm in calms().values()]
    assert senseless("freeze", "lift", cube_table(), blind) == "the task never looks"


def test_states_that_are_machines_are_left_out() -> None:
    def done() -> Outcome[Literal["done"]]:
        return Outcome("done")

    inner = Machine(name="inner", start="a", states={"a": done}, table={"a": {"done": End("success")}})
    outer = Machine(name="outer", start="b", states={"b": inner}, table={"b": {"success": End("success")}})
    assert leaf_states(outer) == ("b.a",)


# The matrix


def test_drops_recover_and_what_is_taken_away_is_not_found() -> None:
    campaign = played()
    drop, remove = campaign.cells["drop", "lift"], campaign.cells["remove", "lift"]
    # One of the two rolls out of reach.
    assert (drop.struck, drop.count("recovered"), drop.failures) == (2, 1, {"unreachable": 1})
    assert (remove.struck, remove.failures) == (2, {"target_not_found": 2})
    assert campaign.cells["nan-control", "approach"].failures == {"physics_diverged": 2}
    assert campaign.calm == {"success": 2}
    assert campaign.clean
    assert [passes(case.goal) for case in drop.cases] == [case.ending == "recovered" for case in drop.cases]
    assert not any(passes(case.goal) for case in remove.cases)


def test_a_campaign_that_was_stopped_says_so() -> None:
    assert played().as_dict()["interrupted"] is False
    stopped = run_campaign(PLAN, lanes=3, stop=lambda: True)
    assert stopped.as_dict()["interrupted"] is True
    assert stopped.struck == 0
    assert "Interrupted" in campaign_page(stopped)


def test_a_drop_is_noticed_within_a_moment_and_never_before_it_happens() -> None:
    cases = played().cells["drop", "lift"].cases
    assert cases
    for case in cases:
        assert case.detect_s is not None
        assert 0 < case.detect_s < 0.4


def test_cells_that_make_no_sense_are_skipped_with_a_reason() -> None:
    cells = played().cells
    assert cells["drop", "approach"].idle == "nothing in the hand"
    assert cells["move-plate", "lift"].idle == "the scene has no plate"
    assert cells["drop", "back_off"].idle == "never entered in an undisturbed episode"
    assert all(not cell.cases for cell in cells.values() if cell.skipped)


def test_strikes_are_spread_over_the_time_a_state_takes() -> None:
    first, second = played().cells["remove", "approach"].cases
    calm = calms()
    assert first.fault == f"remove@approach+{round(0.25 * calm[3].lasted_s['approach'], 2):g}"
    assert second.fault == f"remove@approach+{round(0.75 * calm[4].lasted_s['approach'], 2):g}"
    assert (first.seed, second.seed) == (3, 4)


def test_a_case_can_be_played_again_by_its_seed_and_fault() -> None:
    case = played().cells["drop", "lift"].cases[1]
    episode = run_seeds([case.seed], case.fault)[case.seed]
    assert case_of(episode, calms()[case.seed]) == case


def test_a_campaign_does_not_depend_on_lanes() -> None:
    assert played(8).as_dict() == run_campaign(PLAN, lanes=3).as_dict()


def test_a_campaign_says_which_engine_played_and_rehearses_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = dataclasses.replace(PLAN, faults=("drop",), states=("lift",))
    on_the_cpu, asked = run_campaign(plan, lanes=2), list[tuple[str, int, bool]]()

    def play(engine: str, scenarios: Any, *, keep_logs: bool, **options: Any) -> Iterator[Episode]:
        asked.append((engine, len(scenarios), keep_logs))
        for episode in run_scenarios(scenarios, **options):
            yield dataclasses.replace(episode, engine="gpu")

    monkeypatch.setattr(graspline.campaigns.campaign, "play_scenarios", play)
    campaign = run_campaign(plan, lanes=2, engine="gpu")
    assert asked == [("gpu", 2, False)], "only what a fault strikes in, and nobody needs logs"
    assert (campaign.engine, on_the_cpu.engine) == ("gpu", "cpu")
    assert campaign.as_dict() == {**on_the_cpu.as_dict(), "engine": "gpu"}


def test_recovery_states_are_struck_after_another_fault() -> None:
    plan = dataclasses.replace(PLAN, faults=("nan-control",), states=("back_off",), after=("drop@lift+0.3",))
    cell = run_campaign(plan, lanes=4).cells["nan-control", "back_off"]
    assert cell.failures == {"physics_diverged": 2}
    assert all(case.detect_s == pytest.approx(1 / 60, abs=1e-4) for case in cell.cases)


def test_a_campaign_is_json_and_a_page_without_foreign_parts() -> None:
    plain = json.loads(json.dumps(played().as_dict(), allow_nan=False))
    assert len(plain["cells"]) == 12
    assert plain["false_success"] == plain["crashed"] == plain["hung"] == 0
    page = campaign_page(played())
    assert page.count("<td") == 4 * 4
    assert "target_not_found: 2" in page
    assert "the scene has no plate" in page
    for foreign in ("http", "<script", "<link", "src="):
        assert foreign not in page


# Endings


def strange(**changes: Any) -> Episode:
    """A success of seed 3, changed."""
    episode = run_seeds([3])[3]
    scenario = dataclasses.replace(episode.scenario, faults=("shove@lift",))
    strikes = (Strike(t_s=2.0, fault="shove@lift", target="cube"),)
    return dataclasses.replace(episode, scenario=scenario, strikes=strikes, **changes)


FALSE = (at_least("raised", 0.0, 0.05, "m"),)


@pytest.mark.parametrize(
    "changes, ending",
    [
        ({}, "recovered"),
        ({"goal_by_truth": FALSE}, "false_success"),
        ({"verdict": "dropped", "succeeded": False}, "failed"),
        ({"verdict": HUNG, "succeeded": False}, "hung"),
        ({"verdict": "crashed", "succeeded": False, "error": "Traceback"}, "crashed"),
    ],
)
def test_every_ending_is_told_apart(changes: dict[str, Any], ending: str) -> None:
    case = case_of(strange(**changes), calms()[3])
    assert case.ending == ending
    assert case.detect_s is None
    clean = Campaign(
        task="x",
        parameters=PARAMETERS,
        seed=0,
        episodes=1,
        faults=("shove",),
        states=("lift",),
        after=(),
        cells={("shove", "lift"): CampaignCell(fault="shove", state="lift", cases=(case,))},
    ).clean
    assert clean == (ending in ("recovered", "failed"))


def test_a_fault_that_found_nothing_counts_as_not_struck() -> None:
    missed = (Strike(t_s=2.0, fault="shove@lift", target="cube", missed="nothing in the hand"),)
    case = case_of(dataclasses.replace(strange(), strikes=missed), calms()[3])
    assert (case.ending, case.note) == ("not_struck", "nothing in the hand")
    cell = CampaignCell(fault="shove", state="lift", cases=(case,))
    assert (cell.struck, cell.idle) == (0, "nothing in the hand")


def test_the_time_to_detect_ends_with_the_first_state_that_went_otherwise() -> None:
    episode = strange()
    index = next(i for i, each in enumerate(episode.transitions) if each.state == "lift")
    otherwise = Transition(t_s=2.25, state="lift", outcome="dropped", then="back_off")
    told = (*episode.transitions[:index], otherwise)
    case = case_of(dataclasses.replace(episode, transitions=told), calms()[3])
    assert case.detect_s == pytest.approx(0.25)


def test_an_episode_that_broke_off_was_noticed_at_its_end() -> None:
    episode = strange()
    broken = dataclasses.replace(episode, transitions=episode.transitions[:3], sim_time_s=2.5)
    assert case_of(broken, calms()[3]).detect_s == pytest.approx(0.5)


def waits_for_ever(last: Reply, robot: Robot) -> Stage[Literal["done"]]:
    reply = last
    while True:
        reply = yield Motion("wait", hold(robot, reply.command, 0.5))


def test_an_episode_that_does_not_end_is_stopped_and_called_hung() -> None:
    def machine(parameters: LiftCube) -> Machine:
        table = {"only": {"done": End("success")}}
        return Machine(name="one", start="only", states={"only": waits_for_ever}, table=table)

    task = dataclasses.replace(LIFT_CUBE, machine=machine)
    scenarios = [Scenario(task=task, parameters=PARAMETERS, seed=seed) for seed in range(3)]
    for episode in run_scenarios(scenarios, lanes=2, limit_s=1.0):
        assert episode.verdict == HUNG
        assert 1.0 <= episode.sim_time_s < 1.5
        assert not episode.succeeded


def test_cases_are_counted_by_name() -> None:
    verdicts = ["dropped", "lost", "lost"]
    cases = tuple(
        CampaignCase(seed=seed, fault="shove@lift", ending="failed", verdict=verdict)
        for seed, verdict in enumerate(verdicts)
    )
    assert CampaignCell(fault="shove", state="lift", cases=cases).failures == {"lost": 2, "dropped": 1}


@pytest.mark.slow
def test_no_fault_in_any_state_hangs_or_crashes() -> None:
    states = leaf_states(LIFT_CUBE.machine(PARAMETERS))
    plan = dataclasses.replace(PLAN, faults=fault_names(), states=states, episodes=1, seed=100)
    campaign = run_campaign(plan, lanes=32)
    assert campaign.count("crashed") == campaign.count("hung") == 0
