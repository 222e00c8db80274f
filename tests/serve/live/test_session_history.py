from __future__ import annotations

import numpy as np
import pytest

from graspline.engine.events import Blind, See
from graspline.evidence import at_most
from graspline.execution.notifications import Applied, Ended, EndsAs, Entered, Finished
from graspline.serve.live.session_history import SessionHistory
from graspline.serve.live.snapshot import HISTORY
from graspline.tasks.lift_cube import LiftCube, build_machine
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.programs import machine_of as tidy_machine

EVIDENCE = (at_most("slip", 0.02, 0.01, "m"),)
QPOS = np.arange(3.0)


@pytest.fixture
def history() -> SessionHistory:
    history = SessionHistory(build_machine(LiftCube()), lambda: QPOS)
    history.begin()
    return history


def test_it_tells_the_state_and_since_when(history: SessionHistory) -> None:
    history(0, 1.5, Entered("lift"))
    assert (history.state, history.since_s) == ("lift", 1.5)
    history(0, 2.5, Finished("preempted"))
    assert history.state == ""


def test_no_state_is_left_when_a_machine_has_ended(history: SessionHistory) -> None:
    history(0, 1.0, Entered("verify"))
    history(0, 2.0, Ended("verify", "verified", EndsAs("success")))
    assert history.state == ""


def test_the_end_of_a_nested_machine_is_not_the_end(history: SessionHistory) -> None:
    history(0, 1.0, Entered("pick.lift"))
    history(0, 2.0, Ended("pick.lift", "lifted", EndsAs("success")))
    assert history.state == "pick.lift"


def test_it_keeps_the_last_evidence_and_a_bounded_history(history: SessionHistory) -> None:
    for index in range(HISTORY + 5):
        history(0, index / 10, Ended("lift", "lifted", "hold", EVIDENCE))
    assert history.evidence == EVIDENCE
    assert len(history.history) == HISTORY
    assert history.history[-1].t_s == pytest.approx((HISTORY + 4) / 10)
    assert history.history[0].t_s == pytest.approx(0.5)


def test_budgets_fall_with_each_retry_and_with_nothing_else(history: SessionHistory) -> None:
    assert history.retries == {"grasps": 2, "looks": 4}
    history(0, 1.0, Ended("close", "missed", "back_off"))
    history(0, 2.0, Ended("back_off", "ready", "look"))
    history(0, 3.0, Ended("plan", "rejected", "look"))
    assert history.retries == {"grasps": 1, "looks": 3}
    history(0, 4.0, Ended("close", "missed", EndsAs("missed")))
    assert history.retries == {"grasps": 1, "looks": 3}


def test_budgets_of_a_nested_machine_are_told_while_it_plays_and_begin_anew() -> None:
    history = SessionHistory(tidy_machine(Tidy()), lambda: QPOS)
    history.begin()
    assert history.retries == {}
    inner = "single_grasp.execute_grasp"
    for path in ("single_grasp", inner, f"{inner}.back_off"):
        history(0, 1.0, Entered(path))
    grasps, rounds = history.retries[f"{inner}.grasps"], history.retries["single_grasp.rounds"]
    history(0, 2.0, Ended(f"{inner}.back_off", "ready", "plan_grasp"))
    assert history.retries[f"{inner}.grasps"] == grasps - 1
    history(0, 3.0, Ended(inner, "failed_to_grasp", "again"))
    assert history.retries == {"single_grasp.rounds": rounds - 1}


def test_it_knows_what_blind_cameras_show(history: SessionHistory) -> None:
    history(0, 1.0, Applied(Blind(kind="black")))
    assert history.blind == {"": None}
    history(0, 1.1, Applied(Blind(kind="frozen", camera="wrist")))
    assert set(history.blind) == {"", "wrist"}
    np.testing.assert_array_equal(history.blind["wrist"], QPOS)
    history(0, 2.0, Applied(See()))
    assert history.blind == {}


def test_a_new_scene_has_no_past(history: SessionHistory) -> None:
    history(0, 1.0, Ended("lift", "lifted", "hold", EVIDENCE))
    history(0, 1.0, Applied(Blind(kind="black")))
    history.clear()
    assert (history.history, history.evidence, history.retries, history.blind) == ((), (), {}, {})
