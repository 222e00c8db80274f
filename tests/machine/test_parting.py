"""An end that goes through one more state: `End(outcome, after=state)`."""

from __future__ import annotations

import re
from typing import Any, Literal

import pytest

from graspline.errors import WiringError
from graspline.evidence import at_least
from graspline.execution.notifications import Ended, EndsAs, Entered
from graspline.execution.requests import Look, Reply
from graspline.machine.diagram import mermaid, svg
from graspline.machine.machine import Machine
from graspline.machine.outcome import Outcome, Stage
from graspline.machine.table import End, Retry

from .scripts import EVIDENCE, carry, drive, look, reply, weigh
from .test_diagram import words_of

TIDIED = (at_least("ways_home", 1, 1),)
STUCK = (at_least("ways_home", 0, 1),)


def tidy() -> Stage[Literal["tidied", "stuck"]]:
    """Goes home, or finds no way."""
    answer = yield Look("home")
    return Outcome("tidied", TIDIED, about="hand") if answer.value else Outcome("stuck", STUCK)


def fetching(**changes: Any) -> Machine:
    """Fetch something; whatever goes wrong, tidy up before giving up."""
    parts: dict[str, Any] = {
        "name": "fetch",
        "start": "look",
        "states": {"look": look, "weigh": weigh, "carry": carry, "tidy": tidy},
        "table": {
            "look": {
                "seen": "weigh",
                "lost": Retry(to="look", budget="looks", otherwise=End("not_found", after="tidy")),
            },
            "weigh": {"weighed": "carry"},
            "carry": {"carried": End("success"), "dropped": End("dropped", after="tidy")},
            "tidy": {"tidied": End("success"), "stuck": End("stuck")},
        },
        "budgets": {"looks": 1},
    }
    return Machine(**(parts | changes))


def values(*answers: object) -> list[Reply]:
    return [reply(value=each, time_s=0.1 * index) for index, each in enumerate(answers)]


def test_the_state_before_an_end_is_played_and_announced() -> None:
    seen = drive(fetching(), values("shelf", False, True))
    assert seen.requests[-1] == Look("home")
    assert seen.happenings[-3:] == [
        Ended("carry", "dropped", EndsAs("dropped"), EVIDENCE),
        Entered("tidy"),
        Ended("tidy", "tidied", EndsAs("dropped"), TIDIED, "hand"),
    ]


@pytest.mark.parametrize("way_home", [True, False])
def test_how_that_state_ends_does_not_change_the_verdict(way_home: bool) -> None:
    """Left to the table, `tidy` would end with success or stuck."""
    seen = drive(fetching(), values("shelf", False, way_home))
    assert seen.outcome == "dropped"


@pytest.mark.parametrize(("way_home", "said"), [(True, TIDIED), (False, STUCK)])
def test_what_that_state_measured_joins_the_evidence(way_home: bool, said: Any) -> None:
    seen = drive(fetching(), values("shelf", False, way_home))
    assert seen.result is not None
    assert seen.result.evidence == (*EVIDENCE, *said)


def test_a_spent_budget_may_lead_to_such_an_end() -> None:
    seen = drive(fetching(), values(None, None, True))
    assert seen.states == ["look", "look", "tidy"]
    assert seen.outcome == "not_found"
    assert seen.result is not None
    assert seen.result.left == {"looks": 0}


def test_an_end_without_one_more_state_is_the_end() -> None:
    seen = drive(fetching(), values("shelf", True))
    assert seen.states == ["look", "weigh", "carry"]
    assert seen.outcome == "success"


def test_a_nested_machine_plays_it_under_its_own_name() -> None:
    outer = Machine(
        name="day",
        start="fetch",
        states={"fetch": fetching()},
        table={"fetch": {each: End(each) for each in fetching().outcomes}},
    )
    seen = drive(outer, values("shelf", False, True))
    assert seen.states == ["fetch", "fetch.look", "fetch.weigh", "fetch.carry", "fetch.tidy"]
    assert seen.outcome == "dropped"


def test_a_state_after_which_to_end_that_does_not_exist_is_found_when_the_machine_is_built() -> None:
    table = {**fetching().table, "carry": {"carried": End("success"), "dropped": End("dropped", after="tidi")}}
    with pytest.raises(WiringError, match=r"carry: 'dropped' leads to 'tidi', which is no state; did you mean 'tidy'"):
        fetching(table=table)


def heavy(weight_kg: float) -> Stage[Literal["done"]]:
    yield Look(f"{weight_kg:g} kg")
    return Outcome("done")


def test_what_that_state_takes_must_be_known_on_every_way_to_it() -> None:
    states = {**fetching().states, "tidy": heavy}
    table = {**fetching().table, "tidy": {"done": End("success")}}
    with pytest.raises(WiringError, match="tidy takes 'weight_kg', which is not given on every way to it"):
        fetching(states=states, table=table)


def test_a_state_entered_only_before_an_end_counts_as_entered() -> None:
    assert fetching().states["tidy"] is tidy


def test_diagrams_name_it() -> None:
    words = words_of(svg(fetching()))
    assert words[words.index("Failures, after tidy") :][:5] == [
        "Failures, after tidy",
        "no looks left",
        "not_found",
        "at once",
        "dropped",
    ]
    drawn = mermaid(fetching())
    assert "    carry --> end_dropped: dropped (after tidy)\n" in drawn
    assert "    look --> end_not_found: lost (none left, after tidy)\n" in drawn
    assert "    carry --> end_success: carried\n" in drawn


def test_a_nested_machine_that_tidies_up_is_drawn_like_any_other() -> None:
    outer = Machine(
        name="day",
        start="fetch",
        states={"fetch": fetching()},
        table={"fetch": {each: End(each) for each in fetching().outcomes}},
    )
    drawn = mermaid(outer)
    assert re.search(r"fetch_carry --> end_fetch_dropped: dropped \(after fetch_tidy\)", drawn)
