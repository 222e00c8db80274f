"""What an actor finds of the world: the lane it is in, as it is now."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.engine.actors import Account, LaneView
from graspline.engine.events import Change, Place
from graspline.scenes.cube_table import CUBE
from graspline.scenes.variation import Edit

from .worlds import CUBES, PLAIN, START, cube_m, engine_with, rest, varied

HEAVY = Edit(field="body_mass", element=CUBE, values=(0.5,))


def test_a_world_is_one_lane_of_many() -> None:
    engine = engine_with([varied(0), varied(1)])
    rest(engine, 10)
    for lane in (0, 1):
        world = LaneView(engine=engine, lane=lane, time_s=0.5)
        # Sensors are one substep behind the state.
        assert world.position_m(CUBE) == pytest.approx(cube_m(engine, lane), abs=1e-5)
        assert world.number("body_mass", CUBE) == pytest.approx([CUBES[lane][1]])


def test_what_an_actor_does_it_finds_at_once() -> None:
    engine = engine_with([(START, PLAIN)] * 2)
    here, there = (LaneView(engine=engine, lane=lane, time_s=0.0) for lane in (0, 1))
    engine.apply(0, Place(body=CUBE, position_m=(0.3, 0.1, 0.2)))
    engine.apply(0, Change(edits=(HEAVY,)))
    assert here.position_m(CUBE).tolist() == [0.3, 0.1, 0.2]
    assert here.number("body_mass", CUBE).tolist() == [0.5]
    assert there.position_m(CUBE) == pytest.approx([0.15, 0.22, 0.015])
    assert there.number("body_mass", CUBE).tolist() == [0.03]


def test_a_position_stays_as_it_was_found() -> None:
    engine = engine_with([(START, PLAIN)])
    world = LaneView(engine=engine, lane=0, time_s=0.0)
    found = world.position_m(CUBE)
    engine.apply(0, Place(body=CUBE, position_m=(0.3, 0.1, 0.2)))
    assert found == pytest.approx([0.15, 0.22, 0.015])


def test_accounts_tell_whether_something_has_left() -> None:
    sent = Account(name="a", colour="red", size_m=(0.04, 0.04, 0.04), sent_s=1.0, left_s=float("nan"), where="on_belt")
    assert np.isnan(sent.left_s)
