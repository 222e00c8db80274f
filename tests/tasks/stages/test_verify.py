"""Whether an object rests where it was to be put, by several looks and by truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graspline.evidence import passes
from graspline.execution.requests import Motion, ObjectSeen, Reply
from graspline.perception.core.beliefs import Perception
from graspline.placement.query import Support
from graspline.robots.so101 import SO101
from graspline.tasks.scatter import lying_at
from graspline.tasks.stages.parameters import RestGoal
from graspline.tasks.stages.place import OnObject
from graspline.tasks.stages.sight import TruthEye
from graspline.tasks.stages.verify import confirm, rests_by_truth
from graspline.tasks.task import ObjectTruth, Snapshot

from ..replies import completed, reply

GOAL, ON_BLUE = RestGoal(), OnObject(name="blue")
RED = lying_at("red", 0.1, 0.2, np.full(3, 0.01), "box")
STACKED = {"red": (0.2, 0.1, 0.04), "blue": (0.2, 0.1, 0.015)}
HALF_M = {"red": 0.01, "blue": 0.015}


def saw_both(positions: dict[str, tuple[float, float, float]], time_s: float) -> Reply:
    seen = {
        name: ObjectSeen(
            position_m=np.array(at),
            quaternion=np.array([1.0, 0, 0, 0]),
            velocity_m_s=np.zeros(3),
            half_extents_m=np.full(3, HALF_M[name]),
        )
        for name, at in positions.items()
    }
    return reply(value=seen, time_s=time_s)


def confirmed(positions: dict[str, tuple[float, float, float]], destination: Any = ON_BLUE):
    """Drive the state in a world where nothing moves."""
    eye = TruthEye(perception=Perception(), random=np.random.default_rng(1))
    support = Support(x_m=0.5, y_m=0.5, z_m=0.5, name="blue")
    stage = confirm(reply(), SO101, eye, "red", RED, destination, support, GOAL)
    time_s, answer = 0.0, None
    while True:
        try:
            request = stage.send(answer) if answer is not None else next(stage)
        except StopIteration as stop:
            return stop.value
        if isinstance(request, Motion):
            time_s += request.path.duration_s
            answer = completed()(request)
        else:
            answer = saw_both(positions, time_s)


def test_a_cube_on_another_is_confirmed_where_that_one_is_now() -> None:
    found = confirmed(STACKED)
    assert found.name == "confirmed"
    assert [each.name for each in found.evidence][:5] == ["off_spot", "off_support", "lean", "speed", "off_home"]


@pytest.mark.parametrize(
    ("red", "failed"),
    [((0.23, 0.1, 0.04), "off_spot"), ((0.2, 0.1, 0.01), "off_support"), ((0.2, 0.1, 0.05), "off_support")],
)
def test_beside_it_under_it_or_over_it_is_refuted(red: tuple[float, float, float], failed: str) -> None:
    found = confirmed({**STACKED, "red": red})
    assert found.name == "refuted"
    assert [each.name for each in found.evidence if not each.passed] == [failed]


@pytest.mark.parametrize("missing", ["red", "blue"])
def test_what_is_not_seen_is_refuted(missing: str) -> None:
    assert confirmed({name: at for name, at in STACKED.items() if name != missing}).name == "refuted"


def test_a_point_of_the_table_is_judged_without_another_object() -> None:
    found = confirmed({"red": (0.3, 0.0, 0.01)}, Support(x_m=0.5, y_m=0.5, z_m=0.5, name="blue"))
    assert found.name == "refuted"


def snapshot(joints: np.ndarray[Any, Any] = SO101.home, **positions: tuple[float, float, float]) -> Snapshot:
    objects = {
        name: ObjectTruth(
            position_m=np.array(at),
            start_position_m=np.zeros(3),
            quaternion=np.array([1.0, 0, 0, 0]),
            speed_m_s=0.0,
            half_extents_m=np.full(3, HALF_M[name]),
        )
        for name, at in {**STACKED, **positions}.items()
    }
    return Snapshot(
        objects=objects,
        places={},
        tool_m=np.zeros(3),
        tool_quaternion=np.array([1.0, 0, 0, 0]),
        jaw_gap_m=0.0,
        pad_forces_n=(0.0, 0.0),
        joints_rad=joints,
        time_s=0.0,
    )


def test_truth_is_judged_by_the_same_goal() -> None:
    assert passes(rests_by_truth(snapshot(), "red", ON_BLUE, SO101, GOAL))
    assert not passes(rests_by_truth(snapshot(red=(0.2, 0.1, 0.01)), "red", ON_BLUE, SO101, GOAL))
    assert not passes(rests_by_truth(snapshot(SO101.home + 0.2), "red", ON_BLUE, SO101, GOAL))
