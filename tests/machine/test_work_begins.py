"""Where work begins is what a machine says, its nested machines included."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graspline.errors import WiringError
from graspline.execution.drivers import FOLLOW
from graspline.machine.machine import Machine
from graspline.machine.table import End
from graspline.tasks.catalogue import TASKS

from .scripts import carry, look


def fetching(work_begins: str | None = "carry") -> Machine:
    return Machine(
        name="fetch",
        start="look",
        work_begins=work_begins,
        inputs={"weight_kg": float},
        states={"look": look, "carry": carry},
        table={
            "look": {"seen": "carry", "lost": End("lost")},
            "carry": {"carried": End("success"), "dropped": End("dropped")},
        },
    )


ENTRIES = ((0.0, FOLLOW), (0.5, "look"), (1.0, "carry"), (2.0, "look"), (3.0, "carry"))


def test_work_begins_when_its_state_is_first_entered() -> None:
    assert fetching().work_began_s(ENTRIES) == 1.0
    assert fetching().work_began_s(ENTRIES[:2]) == 0.0


def test_without_such_a_state_work_begins_at_once() -> None:
    assert fetching(None).work_began_s(ENTRIES) == 0.0


def test_a_nested_machine_says_it_for_its_own_states() -> None:
    outer = Machine(
        name="outer",
        start="fetch",
        inputs={"weight_kg": float},
        states={"fetch": fetching()},
        table={"fetch": {name: End(name) for name in fetching().outcomes}},
    )
    assert outer.work_began_s(((0.0, "fetch"), (0.0, "fetch.look"), (1.5, "fetch.carry"))) == 1.5


def test_a_state_that_work_begins_with_must_exist() -> None:
    with pytest.raises(WiringError, match="'cary', with which work begins, does not exist; did you mean 'carry'"):
        replace(fetching(), work_begins="cary")


@pytest.mark.parametrize("name", list(TASKS))
def test_every_task_says_where_work_begins(name: str) -> None:
    machine = TASKS[name].machine(TASKS[name].parameters())
    nested = [machine.nested(path) for path in ("", *machine.paths()) if _is_machine(machine, path)]
    assert any(each.work_begins is not None for each in nested)


def _is_machine(machine: Machine, path: str) -> bool:
    try:
        machine.nested(path)
    except KeyError:
        return False
    return True
