"""Machines run by hand with scripted replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.errors import WiringError
from graspline.execution.notifications import Ended, EndsAs, Entered
from graspline.execution.requests import Look, Motion, Reply, Within
from graspline.machine.machine import Machine
from graspline.machine.outcome import Gives, Outcome, Stage
from graspline.machine.table import End, Retry
from graspline.motion.joint_moves import hold
from graspline.robots.robot import Robot

from .scripts import EVIDENCE, carry, drive, look, reply, rest, unwrapped, weigh


def fetching(*, looks: int = 2, drops: int = 1, limits_s: dict[str, float] | None = None) -> Machine:
    """Look until something is seen, weigh it, carry it; what is dropped is looked for again."""
    timed = {"timed_out": End("late")}
    limits = limits_s or {}

    def row(state: str, **outcomes: Any) -> dict[str, Any]:
        return {**outcomes, **(timed if state in limits else {})}

    return Machine(
        name="fetch",
        start="look",
        states={"look": look, "weigh": weigh, "carry": carry},
        table={
            "look": row("look", seen="weigh", lost=Retry(to="look", budget="looks", otherwise=End("not_found"))),
            "weigh": row("weigh", weighed="carry"),
            "carry": row(
                "carry", carried=End("success"), dropped=Retry(to="look", budget="drops", otherwise=End("dropped"))
            ),
        },
        budgets={"looks": looks, "drops": drops},
        limits_s=limits,
    )


def values(*answers: object) -> Iterator[Reply]:
    return (reply(value=each, time_s=0.1 * index) for index, each in enumerate(answers))


# The table decides


def test_outcomes_lead_where_the_table_says_and_are_announced() -> None:
    seen = drive(fetching(), values("shelf", True))
    assert seen.happenings == [
        Entered("look"),
        Ended("look", "seen", "weigh"),
        Entered("weigh"),
        Ended("weigh", "weighed", "carry"),
        Entered("carry"),
        Ended("carry", "carried", EndsAs("success")),
    ]
    assert seen.outcome == "success"


def test_what_an_outcome_gives_becomes_input_of_later_states() -> None:
    seen = drive(fetching(), values("shelf", True))
    assert seen.requests == [Look("wrist"), Look("shelf: 5 kg")]
    assert seen.result is not None
    assert seen.result.memory == {"place": "shelf", "count": 1, "weight_kg": 5.0}


def test_what_is_given_again_replaces_what_was_given_before() -> None:
    seen = drive(fetching(), values("shelf", False, "floor", True))
    assert seen.requests[1::2] == [Look("shelf: 5 kg"), Look("floor: 5 kg")]


def test_the_last_evidence_is_the_results_evidence() -> None:
    seen = drive(fetching(drops=0), values("shelf", False))
    assert seen.result is not None
    assert seen.result.evidence == EVIDENCE
    assert seen.happenings[-1] == Ended("carry", "dropped", EndsAs("dropped"), EVIDENCE)


def test_a_machine_must_be_given_its_inputs() -> None:
    machine = Machine(
        name="short",
        start="carry",
        states={"carry": carry},
        table={"carry": {"carried": End("success"), "dropped": End("dropped")}},
        inputs={"place": str, "weight_kg": float},
    )
    with pytest.raises(WiringError, match=r"'short' was not given \['weight_kg'\]"):
        drive(machine, (), place="shelf")
    assert drive(machine, values(True), place="shelf", weight_kg=2.0).requests == [Look("shelf: 2 kg")]


def remembers(last: Reply, robot: Robot) -> Stage[Literal["done"]]:
    yield Look(f"{robot.name} at {last.time_s:g}")
    yield Look("and then")
    return Outcome("done")


def test_a_state_may_take_the_robot_and_the_reply_that_was_current_when_it_began() -> None:
    machine = Machine(
        name="twice",
        start="first",
        states={"first": remembers, "rest": rest, "second": remembers},
        table={"first": {"done": "rest"}, "rest": {"rested": "second"}, "second": {"done": End("success")}},
    )
    replies = (reply(time_s=each) for each in (0.5, 1.0, 1.5, 2.0))
    seen = drive(machine, replies, first=reply(time_s=0.25))
    assert [each.camera for each in seen.requests] == ["so101 at 0.25", "and then", "so101 at 1", "and then"]


# Budgets


def test_a_retry_spends_its_budget_and_then_leads_elsewhere() -> None:
    seen = drive(fetching(looks=2), values(None, None, None))
    assert seen.states == ["look", "look", "look"]
    assert seen.outcomes[-1] == ("look", "lost", EndsAs("not_found"))
    assert seen.outcome == "not_found"
    assert seen.result is not None
    assert seen.result.left == {"looks": 0, "drops": 1}


def test_a_budget_of_nothing_leads_elsewhere_at_once() -> None:
    seen = drive(fetching(looks=0), values(None))
    assert seen.outcomes == [("look", "lost", EndsAs("not_found"))]


def test_budgets_belong_to_one_run() -> None:
    machine = fetching(looks=1)
    for _ in range(2):
        assert drive(machine, values(None, "shelf", True)).outcome == "success"
    assert machine.budgets == {"looks": 1, "drops": 1}


@settings(deadline=None, max_examples=200)
@given(st.lists(st.booleans(), min_size=40, max_size=40), st.integers(0, 4), st.integers(0, 4))
def test_whatever_happens_budgets_bound_the_run(luck: list[bool], looks: int, drops: int) -> None:
    chances = iter(luck)

    def answer(request: Any) -> Reply:
        return reply(value="shelf" if next(chances) else None)

    seen = drive(fetching(looks=looks, drops=drops), answer)
    lost = sum(outcome == "lost" for _, outcome, _ in seen.outcomes)
    dropped = sum(outcome == "dropped" for _, outcome, _ in seen.outcomes)
    assert lost <= looks + 1
    assert dropped <= drops + 1
    assert (seen.outcome == "not_found") == (lost == looks + 1)
    assert (seen.outcome == "dropped") == (dropped == drops + 1)
    assert seen.result is not None
    spent = {"looks": looks - seen.result.left["looks"], "drops": drops - seen.result.left["drops"]}
    assert spent == {"looks": min(lost, looks), "drops": min(dropped, drops)}


# Nesting


def working(**more: Any) -> Machine:
    """A machine that fetches as one of its states, and again if it dropped something."""
    inner = Machine(
        name="find",
        start="look",
        states={"look": look, "weigh": weigh},
        table={
            "look": {"seen": "weigh", "lost": Retry(to="look", budget="looks", otherwise=End("lost"))},
            "weigh": {"weighed": End("success")},
        },
        budgets={"looks": 1},
        gives={"place": str, "weight_kg": float},
    )
    return Machine(
        name="work",
        start="find",
        states={"find": inner, "carry": carry},
        table={
            "find": {"success": "carry", "lost": End("nothing_there")},
            "carry": {"carried": End("success"), "dropped": Retry(to="find", budget="drops", otherwise=End("dropped"))},
        },
        budgets={"drops": 1},
        **more,
    )


def test_states_of_a_nested_machine_are_announced_with_dotted_names() -> None:
    seen = drive(working(), values("shelf", True))
    assert seen.states == ["find", "find.look", "find.weigh", "carry"]
    assert seen.outcomes == [
        ("find.look", "seen", "weigh"),
        ("find.weigh", "weighed", EndsAs("success")),
        ("find", "success", "carry"),
        ("carry", "carried", EndsAs("success")),
    ]


def test_a_nested_machine_gives_what_it_declares_and_nothing_else() -> None:
    seen = drive(working(), values("shelf", True))
    assert seen.requests[-1] == Look("shelf: 5 kg")
    assert seen.result is not None
    assert seen.result.memory == {"place": "shelf", "weight_kg": 5.0}


def test_a_nested_machine_that_fails_gives_nothing_and_ends_by_its_own_outcome() -> None:
    seen = drive(working(), values(None, None))
    assert seen.outcomes[-1] == ("find", "lost", EndsAs("nothing_there"))
    assert seen.outcome == "nothing_there"
    assert seen.result is not None
    assert seen.result.memory == {}
    assert seen.result.evidence == EVIDENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    tried: int


def count_try(tried: int) -> Gives[Literal["more", "enough"], Tried]:
    return Gives("more" if tried < 2 else "enough", Tried(tried=tried + 1))


@pytest.mark.parametrize(("hands_back", "tried"), [(("tried",), 3), ((), 0)])
def test_a_nested_machine_hands_back_the_inputs_it_names_even_if_it_fails(
    hands_back: tuple[str, ...], tried: int
) -> None:
    inner = Machine(
        name="try",
        start="count",
        states={"count": count_try},
        table={"count": {"more": End("failed"), "enough": End("success")}},
        inputs={"tried": int},
        hands_back=hands_back,
    )
    outer = Machine(
        name="work",
        start="try",
        states={"try": inner},
        table={"try": {"failed": Retry(to="try", budget="tries", otherwise=End("failed")), "success": End("success")}},
        inputs={"tried": int},
        budgets={"tries": 5},
    )
    seen = drive(outer, tried=0)
    assert seen.result is not None
    assert seen.result.memory == {"tried": tried}


def test_a_nested_machine_has_its_whole_budget_each_time_it_is_entered() -> None:
    seen = drive(working(), values(None, "shelf", False, None, "floor", True))
    assert seen.outcome == "success"
    assert seen.result is not None
    assert seen.result.left == {"drops": 0}


def test_a_nested_machine_takes_its_inputs_from_the_outer_one() -> None:
    inner = Machine(
        name="carry",
        start="go",
        states={"go": carry},
        table={"go": {"carried": End("success"), "dropped": End("dropped")}},
        inputs={"place": str, "weight_kg": float},
    )
    outer = Machine(
        name="work",
        start="look",
        states={"look": look, "weigh": weigh, "carry": inner},
        table={
            "look": {"seen": "weigh", "lost": End("lost")},
            "weigh": {"weighed": "carry"},
            "carry": {"success": End("success"), "dropped": End("dropped")},
        },
    )
    seen = drive(outer, values("shelf", True))
    assert seen.requests == [Look("wrist"), Look("shelf: 5 kg")]
    assert seen.states == ["look", "weigh", "carry", "carry.go"]


def test_machines_nest_deeper_than_once() -> None:
    outer = Machine(
        name="day",
        start="work",
        states={"work": working(), "rest": rest},
        table={
            "work": {"success": "rest", "nothing_there": End("idle"), "dropped": End("sorry")},
            "rest": {"rested": End("success")},
        },
    )
    seen = drive(outer, values("shelf", True))
    assert seen.states == ["work", "work.find", "work.find.look", "work.find.weigh", "work.carry", "rest"]


# Time limits

LIMIT_S = 1.0


def patiently(last: Reply, robot: Robot) -> Stage[Literal["done"]]:
    """Asks for one short hold after the other, for ever."""
    try:
        while True:
            last = yield Motion("hold", hold(robot, last.command, 0.1))
            assert last.by != "timed_out"
    finally:
        closed.append("patiently")


closed: list[str] = []


@pytest.fixture(autouse=True)
def nothing_closed() -> None:
    closed.clear()


def limited(state: Callable[..., Any] = patiently, **more: Any) -> Machine:
    return Machine(
        name="limited",
        start="wait",
        states={"wait": state, "rest": rest},
        table={"wait": {"done": "rest", "timed_out": End("late")}, "rest": {"rested": End("success")}},
        limits_s={"wait": LIMIT_S},
        **more,
    )


def clock(step_s: float, *, start_s: float, speed: float = 0.0) -> Callable[[Any], Reply]:
    """Answers each request after `step_s`, or when its time is up."""
    now_s = start_s

    def answer(request: Any) -> Reply:
        nonlocal now_s
        if isinstance(request, Within) and now_s + step_s > request.until_s + 1e-9:
            now_s = request.until_s
            return reply("timed_out", time_s=now_s, speed=speed)
        now_s += step_s
        return reply(time_s=now_s, speed=speed if isinstance(request, Within) else 0.0)

    return answer


def test_requests_of_a_state_with_a_limit_must_end_by_it() -> None:
    seen = drive(limited(), clock(0.3, start_s=2.0), first=reply(time_s=2.0))
    assert all(isinstance(each, Within) and each.until_s == pytest.approx(3.0) for each in seen.requests)
    assert [unwrapped(each).name for each in seen.requests] == ["hold"] * 4
    assert seen.outcomes == [("wait", "timed_out", EndsAs("late"))]
    assert seen.result is not None
    (measured,) = seen.result.evidence
    assert (measured.name, measured.limit, measured.passed) == ("state_time", 1.0, False)


def test_requests_of_a_state_without_a_limit_are_passed_on_as_they_are() -> None:
    seen = drive(fetching(), values("shelf", True))
    assert not any(isinstance(each, Within) for each in seen.requests)


def test_a_state_whose_time_is_up_is_closed_and_never_sees_that_reply() -> None:
    drive(limited(), clock(0.3, start_s=0.0))
    assert closed == ["patiently"]


def test_an_arm_that_is_moving_when_time_is_up_is_braked_after_the_state_was_closed() -> None:
    answer = clock(0.3, start_s=0.0, speed=1.0)

    def closed_before_braking(request: Any) -> Reply:
        assert closed == (["patiently"] if unwrapped(request).name == "brake" else [])
        return answer(request)

    seen = drive(limited(), closed_before_braking)
    brake = seen.requests[-1]
    assert isinstance(brake, Motion)
    assert brake.name == "brake"
    np.testing.assert_array_equal(brake.path.velocities[0], np.ones(6))
    assert not brake.path.velocities[-1].any()
    assert seen.outcome == "late"


@pytest.mark.parametrize("step_s", [LIMIT_S / 60, LIMIT_S / 5, LIMIT_S])
def test_a_state_whose_requests_end_exactly_on_time_does_not_go_on_for_ever(step_s: float) -> None:
    answer, answered = clock(step_s, start_s=0.0), 0

    def counting(request: Any) -> Reply:
        nonlocal answered
        answered += 1
        assert answered < 100
        return answer(request)

    seen = drive(limited(), counting)
    assert seen.outcome == "late"
    assert answered == round(LIMIT_S / step_s)
    assert closed == ["patiently"]


def briefly(last: Reply, robot: Robot) -> Stage[Literal["done"]]:
    yield Motion("hold", hold(robot, last.command, 0.1))
    return Outcome("done")


def test_a_state_that_is_done_on_its_last_tick_is_in_time() -> None:
    seen = drive(limited(briefly), clock(LIMIT_S, start_s=0.0))
    assert seen.outcome == "success"


def test_each_entry_of_a_state_has_the_whole_limit() -> None:
    machine = fetching(limits_s={"look": 1.0, "carry": 2.0})
    replies = iter([reply(value=None, time_s=0.9), reply(value="shelf", time_s=1.8), reply(value=True, time_s=3.7)])
    seen = drive(machine, replies)
    assert [each.until_s for each in seen.requests] == pytest.approx([1.0, 1.9, 3.8])
    assert seen.outcome == "success"


def test_a_nested_machine_ends_by_the_limit_of_its_own_state_or_of_the_outer_one() -> None:
    outer = Machine(
        name="outer",
        start="inner",
        states={"inner": limited()},
        table={"inner": {"late": End("inner_late"), "success": End("success"), "timed_out": End("outer_late")}},
        limits_s={"inner": 0.5},
    )
    seen = drive(outer, clock(0.2, start_s=0.0))
    assert [each.until_s for each in seen.requests] == pytest.approx([0.5, 0.5, 0.5])
    assert seen.outcome == "outer_late"
    assert closed == ["patiently"]

    roomy = Machine(
        name="outer",
        start="inner",
        states={"inner": limited()},
        table={"inner": {"late": End("inner_late"), "success": End("success"), "timed_out": End("outer_late")}},
        limits_s={"inner": 5.0},
    )
    seen = drive(roomy, clock(0.2, start_s=0.0))
    assert [each.until_s for each in seen.requests] == pytest.approx([1.0] * 5)
    assert seen.outcome == "inner_late"


def test_a_machines_outcomes_come_in_the_order_of_its_table() -> None:
    assert fetching().outcomes == ("not_found", "success", "dropped")
    assert working().outcomes == ("nothing_there", "success", "dropped")


# What counts as a retry


def nested(*, is_round: bool) -> Machine:
    """Fetches again and again, as long as rounds last."""
    again = Retry(to="fetch", budget="rounds", otherwise=End("success"), is_round=is_round)
    return Machine(
        name="fetch_all",
        start="fetch",
        states={"fetch": fetching()},
        table={"fetch": {"success": again, "not_found": End("not_found"), "dropped": End("dropped")}},
        budgets={"rounds": 1},
    )


def ended(seen: Any) -> list[Ended]:
    return [each for each in seen.happenings if isinstance(each, Ended)]


def test_retries_of_nested_machines_count_and_rounds_in_which_nothing_went_wrong_do_not() -> None:
    answers = (None, "shelf", True, "shelf", False, "shelf", True)
    for is_round, retries in ((True, 2), (False, 3)):
        machine = nested(is_round=is_round)
        seen = drive(machine, values(*answers))
        assert seen.outcome == "success"
        assert machine.retries_in(ended(seen)) == retries


def test_a_path_leads_to_the_machine_it_names() -> None:
    machine = nested(is_round=True)
    assert machine.nested("") is machine
    assert machine.nested("fetch") is machine.states["fetch"]
    with pytest.raises(KeyError, match="look of fetch is no machine"):
        machine.nested("fetch.look")
