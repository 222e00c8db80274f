"""Objects that are shoved or taken away, and how the scene and the task's hints say where to and how hard."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.engine.events import Push
from graspline.faults.hints import FaultHints
from graspline.faults.objects import REMOVE, SHOVE

from .fruit_world import happen, world


def test_a_shoved_ball_rolls_a_few_centimetres() -> None:
    for seed in range(4):
        context = world(beside=1, seed=seed)
        before = context.position_m("orange_1")
        happen(context, SHOVE.strike(context))
        assert 0.02 < np.hypot(*(context.position_m("orange_1") - before)[:2]) < 0.15


def test_two_objects_that_are_taken_away_do_not_end_in_one_place() -> None:
    context = world(beside=2)
    first = REMOVE.strike(context)
    context.target = "orange_2"
    happen(context, [*first, *REMOVE.strike(context)])
    assert np.linalg.norm(context.position_m("orange_1") - context.position_m("orange_2")) > 0.1
    assert np.linalg.norm(context.position_m("orange_1")) > 1.0


def test_a_task_says_how_hard_objects_are_shoved_and_what_they_may_hit() -> None:
    context = world(beside=3)
    context.hints = FaultHints(shove_m_s={"ball": 0.6}, hit_m=0.15)
    (_, push), (_, let), *hit = SHOVE.strike(context)
    assert isinstance(push, Push)
    assert np.linalg.norm(push.force_n) == pytest.approx(0.12 * 0.6 / 0.05)
    assert let == Push(body="orange_1", force_n=(0.0, 0.0, 0.0))
    # The third lies 20 cm away.
    assert hit == [(0.0, Push(body="orange_2", force_n=(0.0, 0.0, 0.0)))]
