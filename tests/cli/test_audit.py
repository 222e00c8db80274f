"""`graspline audit`: the table, its files, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import graspline.cli.audit
from graspline.campaigns.audit import EPISODE, Audit, Wrong
from graspline.evidence import at_least
from graspline.tasks.lift_cube import LiftCube

from .doors import call, refused, spawn


def audit_with(false_accepts: int, kind: str = EPISODE) -> Audit:
    audit = Audit(task="lift-cube", parameters=LiftCube(), seed=0, episodes=30, faulty=10, struck=9)
    audit.silent = {"physics_diverged": 2}
    for index in range(28):
        audit.tally(EPISODE).add(asserted=True, true=True)
        wrong = index < false_accepts
        audit.tally(kind).add(asserted=True, true=not wrong)
        if wrong:
            audit.mistakes.append(
                Wrong(
                    kind=kind,
                    mistake="false_accept",
                    seed=index,
                    fault="drop@lift+0.2",
                    t_s=4.25,
                    said="success",
                    about="orange_2",
                    evidence=(at_least("raised", 0.0, 0.05, "m"),),
                )
            )
    return audit


def instead(monkeypatch: pytest.MonkeyPatch, audit: Audit) -> list[dict[str, Any]]:
    """Audits give this result; what they were asked for."""
    asked: list[dict[str, Any]] = []

    def run(task: object, parameters: object, **options: Any) -> Audit:
        asked.append({"parameters": parameters, **options})
        return audit

    monkeypatch.setattr(graspline.cli.audit, "run_audit", run)
    return asked


def test_the_table_is_printed_and_saved(tmp_path: Path) -> None:
    answer = spawn("audit", "lift-cube", "--episodes", "3", "--faults-share", "0", "--out", tmp_path / "new")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("3 episodes\n")
    assert "episode        3     0/3 (0.00 to 56.15 %)     0/3 (0.00 to 56.15 %)" in answer.out
    assert "worst cases" not in answer.out
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["audit.html", "audit.json"]
    plain = json.loads((tmp_path / "new" / "audit.json").read_text())
    assert [each["kind"] for each in plain["kinds"]] == ["episode", "held"]


def test_a_false_success_exits_with_1_and_is_shown_with_seed_fault_and_evidence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    instead(monkeypatch, audit_with(1))
    answer = call("audit", "lift-cube", "--out", tmp_path)
    assert answer.code == 1
    assert "  false positive, episode of orange_2: --seed 0 --fault drop@lift+0.2, success at 4.25 s\n" in answer.out
    assert "    ground truth: raised 0 mm (limit >= 50 mm)\n" in answer.out
    assert "2 physics_diverged (excluded: no claim was made)" in answer.out


def test_a_false_claim_on_the_way_is_shown_and_exits_with_0(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    instead(monkeypatch, audit_with(25, "held"))
    answer = call("audit", "lift-cube", "--out", tmp_path)
    assert answer.code == 0
    assert answer.out.count("false positive, held") == 20
    assert "and 5 more in audit.json" in answer.out


def test_json_is_one_object_and_nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    instead(monkeypatch, audit_with(2))
    answer = call("audit", "lift-cube", "--json", "--out", tmp_path)
    (found,) = answer.lines
    assert found == json.loads((tmp_path / "audit.json").read_text())
    assert (found["episodes"], found["with_faults"], found["struck"]) == (30, 10, 9)


def test_options_reach_the_audit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = instead(monkeypatch, audit_with(0))
    monkeypatch.chdir(tmp_path)
    call("audit", "lift-cube")
    words = ("--episodes", "7", "--seed", "5", "--lanes", "3", "--faults-share", "0.5", "--set", "retries.grasps=0")
    call("audit", "lift-cube", *words)
    default, given = asked
    assert (default["episodes"], default["faults_share"], default["seed"]) == (200, 0.333, 0)
    assert (given["episodes"], given["faults_share"], given["seed"], given["lanes"]) == (7, 0.5, 5, 3)
    assert given["parameters"].retries.grasps == 0
    assert (tmp_path / "out" / "audit" / "audit.html").exists()


def test_a_long_order_is_cut_short_unless_somebody_sets_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = instead(monkeypatch, audit_with(0))
    call("audit", "sort", "--out", tmp_path)
    call("audit", "sort", "--out", tmp_path, "--set", "belt.blocks=40")
    assert [each["parameters"].belt.blocks for each in asked] == [6, 40]


@pytest.mark.parametrize("share", ["-0.1", "1.1", "third"])
def test_a_share_that_is_none_is_refused(share: str) -> None:
    assert "--faults-share" in refused("audit", "lift-cube", "--faults-share", share)[0]


def test_bad_input_is_refused_with_the_nearest_name() -> None:
    (problem,) = refused("audit", "lift-cub")
    assert "did you mean 'lift-cube'?" in problem
    (problem,) = refused("audit", "lift-cube", "--set", "retries.grasp=1")
    assert "did you mean 'grasps'?" in problem
