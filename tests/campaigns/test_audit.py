"""The audit: claims and verdicts against truth."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterator
from typing import Any

import pytest

import graspline.campaigns.audit
from episodes.playing import PARAMETERS, run_seeds
from graspline.campaigns.audit import EPISODE, Audit, ClaimTally, Wrong, check_verdict, run_audit, sample_fault
from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.evidence import at_least, at_most
from graspline.reports.pages import audit_page
from graspline.tasks.lift_cube import LIFT_CUBE
from graspline.tasks.task import Claim

TRUE, FALSE = (at_least("raised", 0.06, 0.05, "m"),), (at_least("raised", 0.0, 0.05, "m"),)
CELLS = [("drop", "lift", 0.9), ("remove", "approach", 1.4), ("jam", "look", 0.0)]


def audited(task: Any = LIFT_CUBE, **changes: Any) -> Audit:
    options: dict[str, Any] = {"seed": 0, "episodes": 12, "faults_share": 0.0, "lanes": 6, **changes}
    return run_audit(task, PARAMETERS, **options)


@functools.cache
def calm() -> Audit:
    return audited()


@functools.cache
def faulty() -> Audit:
    return audited(seed=40, faults_share=1.0)


# Claims


def test_undisturbed_episodes_say_what_is_so() -> None:
    episodes, held = calm().tally(EPISODE), calm().tally("held")
    assert (episodes.asserted, episodes.denied) == (12, 0)
    # Closed, lifted, held and verified.
    assert held.asserted >= 4 * 12
    assert calm().mistakes == []
    assert (calm().episodes, calm().faulty, calm().struck) == (12, 0, 0)


def test_an_audit_that_was_stopped_says_so() -> None:
    assert calm().as_dict()["interrupted"] is False
    stopped = audited(stop=lambda: True)
    assert (stopped.as_dict()["interrupted"], stopped.episodes) == (True, 0)
    assert "Interrupted" in audit_page(stopped)


def test_a_state_that_says_held_too_early_is_caught_with_seed_time_and_evidence() -> None:
    claims = {**LIFT_CUBE.claims.outcomes, ("descend", "straddled"): Claim(name="held", asserted=True)}
    audit = audited(
        dataclasses.replace(LIFT_CUBE, claims=dataclasses.replace(LIFT_CUBE.claims, outcomes=claims)), episodes=3
    )
    assert audit.tally("held").false_accepts == 3
    assert audit.tally(EPISODE).false_accepts == audit.false_successes == 0
    assert sorted(each.seed for each in audit.mistakes) == [0, 1, 2]
    for each in audit.mistakes:
        assert (each.kind, each.mistake, each.said) == ("held", "false_accept", "descend: straddled")
        assert each.t_s > 0.5
        assert "weaker_pad_force" in [measurement.name for measurement in each.evidence if not measurement.passed]


def test_a_state_that_denies_a_hold_that_is_one_is_a_false_reject() -> None:
    claims = {("lift", "lifted"): Claim(name="held", asserted=False)}
    audit = audited(
        dataclasses.replace(LIFT_CUBE, claims=dataclasses.replace(LIFT_CUBE.claims, outcomes=claims)), episodes=2
    )
    tally = audit.tally("held")
    assert (tally.asserted, tally.denied, tally.false_rejects, tally.truly) == (0, 2, 2, 2)
    assert {each.mistake for each in audit.mistakes} == {"false_reject"}


def test_claims_are_checked_about_the_object_they_name() -> None:
    asked: list[tuple[str, str]] = []

    def check(parameters: Any, claim: str, about: str, snapshot: Any) -> Any:
        asked.append((claim, about))
        assert "cube" in snapshot.objects
        return TRUE

    audited(dataclasses.replace(LIFT_CUBE, claims=dataclasses.replace(LIFT_CUBE.claims, check=check)), episodes=1)
    assert asked == [("held", "cube")] * len(asked)
    assert len(asked) == 4


# Verdicts


@pytest.mark.parametrize(
    "changes, accepts, rejects, asserted",
    [
        ({}, 0, 0, 1),
        ({"goal_by_truth": FALSE}, 1, 0, 1),
        ({"verdict": "dropped", "succeeded": False}, 0, 1, 0),
        ({"verdict": "dropped", "succeeded": False, "goal_by_truth": FALSE}, 0, 0, 0),
        ({"verdict": "physics_diverged", "succeeded": False}, 0, 0, 0),
        ({"verdict": "crashed", "succeeded": False}, 0, 0, 0),
        ({"verdict": "interrupted", "succeeded": False}, 0, 0, 0),
    ],
)
def test_a_verdict_is_wrong_where_truth_says_otherwise(
    changes: dict[str, Any], accepts: int, rejects: int, asserted: int
) -> None:
    audit = Audit(task="lift-cube", parameters=PARAMETERS, seed=0)
    check_verdict(audit, dataclasses.replace(run_seeds([3])[3], **changes))
    tally = audit.tally(EPISODE)
    assert (tally.false_accepts, tally.false_rejects, tally.asserted) == (accepts, rejects, asserted)
    assert len(audit.mistakes) == accepts + rejects
    assert audit.episodes == (changes.get("verdict") != "interrupted")
    assert sum(audit.silent.values()) == (changes.get("verdict") in ("physics_diverged", "crashed"))


def test_what_was_so_counts_right_accepts_and_wrong_rejects() -> None:
    tally = ClaimTally(kind="held")
    for asserted, true in [(True, True)] * 5 + [(True, False)] + [(False, True)] * 2 + [(False, False)] * 3:
        tally.add(asserted=asserted, true=true)
    assert (tally.asserted, tally.denied, tally.truly) == (6, 5, 7)
    assert (tally.false_accepts, tally.false_rejects) == (1, 2)


# Faults


def test_faults_strike_in_a_share_of_episodes_that_depends_on_the_seed_alone() -> None:
    drawn = [sample_fault(seed, 1 / 3, CELLS) for seed in range(600)]
    assert sum(map(bool, drawn)) == pytest.approx(200, abs=40)
    assert drawn == [sample_fault(seed, 1 / 3, CELLS) for seed in range(600)]
    names = {fault.partition("@")[0] for faults in drawn for fault in faults}
    assert names == {"drop", "remove", "jam"}
    assert all(sample_fault(seed, 0.0, CELLS) == () for seed in range(50))
    assert all(sample_fault(seed, 1.0, CELLS) for seed in range(50))


def test_one_more_fault_takes_its_share_of_seeds_and_leaves_all_others_as_they_were() -> None:
    more = [("gust", "lift", 0.9), *CELLS]
    before = [sample_fault(seed, 1.0, CELLS) for seed in range(400)]
    after = [sample_fault(seed, 1.0, more) for seed in range(400)]
    changed = [now for then, now in zip(before, after, strict=True) if then != now]
    assert len(changed) == pytest.approx(100, abs=30)
    assert {fault.partition("@")[0] for (fault,) in changed} == {"gust"}
    assert before == [sample_fault(seed, 1.0, CELLS[::-1]) for seed in range(400)]


def test_an_audit_draws_what_comes_with_graspline_whatever_else_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = set[str]()

    def senseless(fault: str, *given: object) -> str:
        asked.add(fault)
        return "not now"

    monkeypatch.setattr(graspline.campaigns.audit, "senseless", senseless)
    monkeypatch.setattr(graspline.campaigns.audit, "own_fault_names", lambda: ("drop", "jam"))
    audited(episodes=1, faults_share=1.0)
    assert asked == {"drop", "jam"}
    audited(episodes=1, faults_share=1.0, faults=("shove",))
    assert asked == {"drop", "jam", "shove"}


def test_faulty_episodes_are_told_and_nothing_is_claimed_falsely() -> None:
    audit = faulty()
    assert (audit.episodes, audit.faulty) == (12, 12)
    assert audit.struck >= 8
    assert audit.false_successes == 0


def test_an_audit_does_not_depend_on_lanes() -> None:
    assert audited(seed=40, faults_share=1.0, lanes=1).as_dict() == faulty().as_dict()


def test_an_audit_says_which_engine_played_and_asks_that_one(monkeypatch: pytest.MonkeyPatch) -> None:
    on_the_cpu, asked = calm(), list[tuple[str, bool]]()

    def play(engine: str, scenarios: Any, *, keep_logs: bool, **options: Any) -> Iterator[Episode]:
        asked.append((engine, keep_logs))
        for episode in run_scenarios(scenarios, **options):
            yield dataclasses.replace(episode, engine="gpu")

    monkeypatch.setattr(graspline.campaigns.audit, "play_scenarios", play)
    audit = audited(engine="gpu")
    assert asked == [("gpu", False)], "nobody needs logs"
    assert (audit.engine, on_the_cpu.engine) == ("gpu", "cpu")
    # Every claim is counted, whoever witnessed it.
    assert audit.as_dict() == {**on_the_cpu.as_dict(), "engine": "gpu"}


# What is told


def wrong(kind: str, mistake: Any, seed: int, off_m: float) -> Wrong:
    evidence = (at_most("off_pads", off_m, 0.02, "m"),)
    return Wrong(
        kind=kind, mistake=mistake, seed=seed, fault="", t_s=1.0, said="lift: lifted", about="", evidence=evidence
    )


def test_the_worst_comes_first() -> None:
    audit = Audit(task="x", parameters=PARAMETERS, seed=0)
    audit.mistakes = [
        wrong("held", "false_reject", 1, 0.01),
        wrong("held", "false_accept", 2, 0.03),
        wrong("held", "false_accept", 3, 0.3),
        wrong(EPISODE, "false_accept", 4, 0.021),
        wrong("held", "false_accept", 5, float("nan")),
    ]
    assert [each.seed for each in audit.worst()] == [4, 5, 3, 2, 1]


def test_an_audit_is_json_and_a_page_without_foreign_parts() -> None:
    audit = dataclasses.replace(calm(), mistakes=[wrong("<held>", "false_accept", 2, 0.03)])
    plain = json.loads(json.dumps(audit.as_dict(), allow_nan=False))
    assert [each["kind"] for each in plain["kinds"]] == [EPISODE, "held"]
    assert plain["mistakes"][0]["seed"] == 2
    assert plain["mistakes"][0]["evidence"][0]["value"] == 0.03
    page = audit_page(audit)
    assert "off_pads 30 mm (limit &lt;= 20 mm)" in page
    assert "<held>" not in page
    for foreign in ("http", "<script", "<link", "src="):
        assert foreign not in page
