"""Datasets in which a policy drives first: what is kept of them, frame by frame and episode by episode."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graspline.datasets.write.jobs as work
from graspline.datasets.check.doctor import examine
from graspline.datasets.check.replay import rerun
from graspline.datasets.edit.merge import merge
from graspline.datasets.format.rows import Rejected
from graspline.datasets.format.settings import DatasetSettings, differences
from graspline.datasets.format.store import Dataset, origin_in
from graspline.datasets.format.tables import numbers_in
from graspline.datasets.report.page import report_page
from graspline.datasets.write.generate import generate
from graspline.datasets.write.jobs import Attempts, attempt
from graspline.episodes.observers import Instant
from graspline.episodes.policy_drivers import PilotOrder, Ruling
from graspline.errors import InputError
from graspline.evidence import at_most
from graspline.execution.drivers import FOLLOW, follow
from graspline.execution.notifications import Ended, EndsAs, Entered
from graspline.execution.requests import Announce, Reply
from graspline.machine.machine import Machine, Result

from .conftest import InlinePool, cube_settings

FROM = {"policy": "toy:policy", "sha256": "0" * 64, "takeover": {}}
FOLLOWED_S = 0.8
REASON = "stood_still"


class ToyPilot:
    """Stands still for a while; then the machine takes over, unless the seed is odd and the policy breaks."""

    smooth = True
    open_source = None

    def __init__(self, machine: Machine, verdict: str = "") -> None:
        self._machine, self._verdict = machine, verdict

    @property
    def states(self) -> tuple[str, ...]:
        return (FOLLOW, *self._machine.paths())

    def drive(self, instant: Instant, first: Reply) -> Generator[Any, Any, Ruling | Result]:
        yield Announce(Entered(FOLLOW))
        robot = instant.engine.scene.robot

        def choose(reply: Reply) -> Generator[Any, Any, Any]:
            yield from ()
            return None if reply.time_s >= FOLLOWED_S - 1e-9 else reply.command.position

        last = yield from follow(robot, first, choose, rate_hz=10)
        if self._verdict:
            evidence = (at_most("nothing", 0, 1),)
            yield Announce(Ended(FOLLOW, self._verdict, EndsAs(self._verdict), evidence))
            return Ruling(verdict=self._verdict, evidence=evidence, error="Traceback\nValueError: no idea")
        yield Announce(Ended(FOLLOW, REASON, "take_over", (at_most("time_without_motion", 0.8, 0.5, "s"),)))
        scenario = instant.scenario
        given = scenario.task.inputs(scenario.parameters, instant.sampled, scenario.stream("perception"))
        return (yield from self._machine.run(robot, last, given, takes_over=True))


@pytest.fixture(autouse=True)
def pilots(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Toy pilots in this process; the list names how their episodes end, if not by the expert."""
    verdicts = [""]
    monkeypatch.setattr(work, "_MAKE_PILOT", [])
    monkeypatch.setattr(work, "_PILOTS", {})

    def make(order: PilotOrder) -> ToyPilot:
        assert order.from_policy == FROM
        return ToyPilot(order.task.machine(order.parameters), verdicts[0])

    work.fly_with(make)
    return iter([verdicts])


def taken_over(**other: Any) -> DatasetSettings:
    return cube_settings(**{"views": (), "from_policy": FROM, "keep": "takeover", **other})


def healthy(root: Path) -> bool:
    found = examine(root)
    assert found.problems == ()
    return found.healthy


def test_frames_say_who_drives_and_rows_why_that_changed(tmp_path: Path) -> None:
    generate(tmp_path, taken_over(), 2, InlinePool())
    dataset = Dataset.open(tmp_path)
    for row in dataset.rows:
        table = dataset.frames(row)
        intervened, states = numbers_in(table, "intervention"), numbers_in(table, "graspline.state")
        first = int(np.argmax(intervened))
        assert first == round(FOLLOWED_S * 10)
        assert intervened[first:].all()
        assert set(states[:first]) == {"follow"}
        assert set(numbers_in(table, "graspline.state_index")[:first]) == {-1}
        assert states[first] == "take_over"
        assert row["ended_by"] == "expert"
        told = json.loads(row["takeover"])
        assert (told["reason"], told["t_s"]) == (REASON, pytest.approx(FOLLOWED_S))
        assert told["evidence"][0]["name"] == "time_without_motion"
        assert json.loads(row["scenario"])["from_policy"] == FROM
    assert healthy(tmp_path)
    assert all(not each.differences for each in rerun(dataset, dataset.rows))
    assert "take_over" in report_page(dataset)


def test_the_experts_part_alone_begins_with_the_takeover(tmp_path: Path) -> None:
    generate(tmp_path / "all", taken_over(), 1, InlinePool())
    generate(tmp_path / "part", taken_over(record="intervention"), 1, InlinePool())
    whole, part = (Dataset.open(tmp_path / name) for name in ("all", "part"))
    (one,), (other,) = whole.rows, part.rows
    assert one["state_hash"] == other["state_hash"]
    begin = one["length"] - other["length"]
    assert begin == round(FOLLOWED_S * 10)
    for column in ("observation.state", "action", "graspline.state", "intervention"):
        kept = numbers_in(whole.frames(one), column)[begin:]
        assert np.array_equal(kept, numbers_in(part.frames(other), column))
    assert healthy(tmp_path / "part")


def test_sets_with_and_without_a_policy_merge(tmp_path: Path) -> None:
    generate(tmp_path / "clean", cube_settings(views=()), 1, InlinePool())
    generate(tmp_path / "part", taken_over(seed=50, record="intervention"), 1, InlinePool())
    assert merge([tmp_path / "clean", tmp_path / "part"], tmp_path / "both") == 2
    assert healthy(tmp_path / "both")
    both = Dataset.open(tmp_path / "both")
    assert [bool(numbers_in(both.frames(row), "intervention").any()) for row in both.rows] == [False, True]
    settings = origin_in(tmp_path / "both").settings
    assert (settings.keep, settings.from_policy, settings.record) == ("success", {}, "episode")


def test_what_a_policy_finishes_itself_is_kept_unless_only_takeovers_are(pilots: Any) -> None:
    (verdicts,) = pilots
    verdicts[0] = "success"
    (found,) = attempt(Attempts(settings=taken_over(), seeds=(0,)))
    assert isinstance(found, Rejected)
    # This toy only claims it, and the simulator does not agree.
    assert found.contradicted


def test_a_policy_that_fails_stops_the_work_and_is_named(pilots: Any, tmp_path: Path) -> None:
    (verdicts,) = pilots
    verdicts[0] = "policy_error"
    with pytest.raises(InputError, match="--from-policy toy:policy: seed 0: ValueError: no idea"):
        generate(tmp_path, taken_over(), 1, InlinePool())


def test_another_policy_is_another_dataset() -> None:
    other = taken_over(from_policy={**FROM, "sha256": "1" * 64})
    (line,) = differences(taken_over(), other)
    assert line.startswith("from_policy.sha256: the dataset has 000")


def test_a_takeover_that_is_not_in_the_log_is_found(tmp_path: Path) -> None:
    generate(tmp_path, cube_settings(views=()), 1, InlinePool())
    path = tmp_path / "meta/graspline.json"
    plain = json.loads(path.read_text())
    plain["settings"]["keep"] = "takeover"
    path.write_text(json.dumps(plain))
    assert any("has no takeover" in str(each) for each in examine(tmp_path, fast=True).problems)
