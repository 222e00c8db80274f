"""When faults strike, and at what: objects on a table that a task announces one after the other."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
from tests.faults.fruit_world import on_plate, world

from graspline.episodes.fault_injection import Fault, FaultInjector
from graspline.execution.executor import Executor
from graspline.execution.notifications import Entered, Targeted
from graspline.execution.requests import Announce, Motion, Reply
from graspline.faults.context import FaultContext
from graspline.motion.joint_moves import hold
from graspline.robots.so101 import SO101


def driver(first: Reply) -> Generator[Any, Any, None]:
    """Works on one orange after the other."""
    reply = first
    for name in ("orange_1", "orange_2"):
        yield Announce(Targeted(name))
        yield Announce(Entered(f"take {name}"))
        reply = yield Motion("wait", hold(SO101, reply.command, 0.2))


def struck(*faults: Fault) -> tuple[FaultContext, FaultInjector]:
    context = world(on_plate(0.0), beside=1)
    executor = Executor(context.engine)
    injector = FaultInjector(executor)
    executor.observers.append(injector)
    start = context.engine.qpos[0].copy()
    injector.arm(0, faults, context)
    executor.start(0, driver, start, context.variation)
    while executor.busy:
        executor.tick()
    return context, injector


@pytest.mark.parametrize("name", ["orange_1", "orange_2"])
def test_a_fault_strikes_what_the_task_is_working_on(name: str) -> None:
    context, injector = struck(Fault(name="remove", state=f"take {name}", delay_s=0.1))
    away = {each for each in ("orange_1", "orange_2") if np.linalg.norm(context.position_m(each)) > 1}
    assert away == {name}
    (strike,) = injector.strikes[0]
    assert (strike.target, strike.missed) == (name, "")


def test_a_fault_strikes_what_is_worked_on_when_its_time_comes() -> None:
    _, injector = struck(Fault(name="remove", state="take orange_1", delay_s=0.3))
    assert injector.strikes[0][0].target == "orange_2"


def test_a_drop_with_nothing_in_the_hand_says_so_and_leaves_the_world_alone() -> None:
    _, injector = struck(Fault(name="drop", state="take orange_1", delay_s=0.0))
    (strike,) = injector.strikes[0]
    assert strike.missed == "nothing in the hand"


def test_what_was_taken_away_cannot_be_shoved() -> None:
    faults = (
        Fault(name="remove", state="take orange_1", delay_s=0.0),
        Fault(name="shove", state="take orange_1", delay_s=0.1),
    )
    _, injector = struck(*faults)
    assert [each.missed for each in injector.strikes[0]] == ["", "orange_1 is not on the table"]
