"""Ways, straight moves and what ends them; postures that look and that carry."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.execution.requests import Motion, Solve
from graspline.grasping.whole_body_reach import straight_path
from graspline.kinematics import hsr
from graspline.motion.guards import HoldLost, TrackingError
from graspline.robots.hsr import HSR
from graspline.scenes.fittings import SHELF
from graspline.tasks.tidy.base_motion import BLOCKED, Stopped, felt_kg, hold_guard, play, straight, tool_at, travel
from graspline.tasks.tidy.believed_room import around, whole
from graspline.tasks.tidy.postures import SHELF_AWAY_M, looking

from .stagecraft import CELL, HOUSE, READY, SETTINGS, answer, drive, held_object, motions, played, solid

UP = np.array([0.0, 0.0, 1.0])


class TestGrip:
    def test_it_knows_where_the_bottom_was_and_how_the_hand_was_turned(self) -> None:
        can = solid("soup_can")
        held = held_object(can)
        tool = can.position_m - held.R_OH @ held.X_HO.position_m
        np.testing.assert_allclose(tool + held.R_OH @ held.X_HB.position_m, can.position_m - 0.051 * UP, atol=1e-9)
        assert 2 * held.half_height_m == pytest.approx(0.102)

    @pytest.mark.parametrize("name", ["soup_can", "mug"])
    def test_what_is_held_is_somewhere_now(self, name: str) -> None:
        thing = solid(name)
        held = held_object(thing)
        ahead = hsr.solve((thing.position_m - held.R_OH @ held.X_HO.position_m)[None], held.R_OH)
        row = READY.copy()
        row[:8] = hsr.ranked(ahead, 0, READY)[0]
        tool = hsr.forward(row)[0]
        now = held.at(tool_at(answer(row)) @ held.X_HO)
        np.testing.assert_allclose(tool + held.R_OH @ held.X_HO.position_m, now.position_m, atol=1e-9)
        box = whole(thing)
        assert (now.name, now.shape) == (name, box.shape)
        np.testing.assert_allclose(now.half_extents_m, box.half_extents_m)
        np.testing.assert_allclose(now.rotation, box.rotation, atol=1e-9)
        row[3] += 0.1
        np.testing.assert_allclose(
            held.at(tool_at(answer(row)) @ held.X_HO).position_m, now.position_m + 0.1 * UP, atol=1e-9
        )

    def test_its_guard_watches_pads_and_width(self) -> None:
        guard = hold_guard(CELL, held_object(solid("soup_can")))
        assert guard.force_n == SETTINGS.grasp.lost_n
        assert HSR.jaw_law.gap_m(guard.least_jaw_rad) == pytest.approx(0.067 - 0.012, abs=1e-3)


class TestPlay:
    def motion(self) -> Motion:
        path = straight_path(HSR, READY, 0.2 * UP)
        return Motion("up", path, guards=(BLOCKED, HoldLost(least_jaw_rad=0.1, force_n=0.5)))

    def test_a_motion_that_gets_to_its_end_gives_its_reply(self) -> None:
        _, reply = drive(play(CELL, self.motion()))
        np.testing.assert_array_equal(reply.command.position, self.motion().path.end)

    @pytest.mark.parametrize(("kind", "lost"), [(HoldLost, True), (TrackingError, False)])
    def test_one_that_is_ended_comes_to_rest_and_says_by_what(self, kind: type, lost: bool) -> None:
        asked, stopped = drive(play(CELL, self.motion()), played(by={"up": kind}))
        assert [each.name for each in asked[:2]] == ["up", "brake"]
        cut, braking = asked[0].path.command_at(asked[0].path.ticks // 2), asked[1].path
        np.testing.assert_allclose(braking.positions[0], cut.position, atol=1e-9)
        np.testing.assert_allclose(braking.velocities[0], cut.velocity, atol=1e-9)
        assert not braking.velocities[-1].any()
        assert isinstance(stopped, Stopped)
        assert stopped.why == f"up ended by {kind.__name__}"
        assert (stopped.lost, bool(stopped.evidence)) == (lost, True)

    def test_what_something_is_in_the_way_of_goes_some_way_back(self) -> None:
        asked, stopped = drive(play(CELL, self.motion()), played(by={"up": TrackingError}))
        up, braking, back = (each.path for each in asked)
        assert asked[-1].name == "give_way"
        np.testing.assert_array_equal(back.positions[0], braking.end)
        cut = up.ticks // 2
        meant = up.positions[max(0, cut - round(1.0 / up.dt_s))]
        np.testing.assert_allclose(back.end, meant, atol=1e-9)
        assert READY[3] <= back.end[3] < up.positions[cut][3] - 0.01
        assert stopped.why == "up ended by TrackingError"

    def test_what_was_lost_is_not_gone_back_for(self) -> None:
        asked, _ = drive(play(CELL, self.motion()), played(by={"up": HoldLost}))
        assert [each.name for each in asked] == ["up", "brake"]

    def test_where_it_has_not_begun_there_is_no_way_back(self) -> None:
        asked, stopped = drive(play(CELL, self.motion()), lambda motion: answer(READY, by=BLOCKED))
        assert [each.name for each in asked] == ["up"]
        assert stopped.by is BLOCKED

    def test_a_state_whose_time_is_up_says_so(self) -> None:
        _, stopped = drive(play(CELL, self.motion()), lambda motion: answer(motion.path.positions[5], by="timed_out"))
        assert (stopped.why, stopped.lost) == ("up ended by timed out", False)


class TestTravel:
    def test_the_way_is_planned_and_watched(self) -> None:
        goal = READY.copy()
        goal[1] += 0.2
        stage = travel(answer(READY), CELL, around(HOUSE), goal[None])
        asked, reply = drive(stage)
        assert isinstance(asked[0], Solve)
        np.testing.assert_allclose(reply.command.position, goal, atol=1e-9)
        assert BLOCKED in asked[1].guards

    def test_no_goal_and_a_goal_within_something_move_nothing(self) -> None:
        inside = READY.copy()
        inside[0] = 1.0
        for goals, why in ((np.zeros((0, 11)), "no posture"), (inside[None], "no goal is free")):
            asked, stopped = drive(travel(answer(READY), CELL, around(HOUSE), goals))
            assert not motions(asked)
            assert why in stopped.why

    def test_the_same_moment_has_the_same_way(self) -> None:
        goal = looking(HSR, SHELF, SHELF_AWAY_M, 0.8)
        paths = [drive(travel(answer(READY), CELL, around(HOUSE), goal[None]))[0][1].path for _ in range(2)]
        assert paths[0].positions.tobytes() == paths[1].positions.tobytes()


def test_a_straight_move_begins_where_the_robot_was_told_to_be() -> None:
    asked, reply = drive(straight(answer(READY), CELL, 0.05 * UP, name="rise", speed=1.0))
    np.testing.assert_array_equal(asked[0].path.positions[0], READY)
    assert reply.command.position[3] == pytest.approx(READY[3] + 0.05)
    assert asked[0].guards == (BLOCKED,)


def test_the_room_above_the_tool_is_what_the_wrist_needs_however_it_is_turned() -> None:
    random, world = np.random.default_rng(3), CELL.world
    spare = []
    for _ in range(60):
        row = random.uniform(HSR.limits.lower, HSR.limits.upper)
        row[:3] = READY[:3]
        tool, rotation = hsr.forward(row)
        own = {each.name: each for each in world.own_solids(row)}
        barrel, palm = replace(own["wrist_barrel"], shape="cylinder"), own["palm_body"]
        spare.append(hsr.hand_above_m(rotation) - (max(barrel.top_m, palm.top_m) - float(tool[2])))
    assert min(spare) >= 0
    assert min(spare) < 0.005


@given(st.floats(0.1, 3.0), st.floats(-0.5, 0.5))
def test_what_is_felt_at_the_wrist_is_a_mass_however_the_hand_is_turned(mass_kg: float, flex_rad: float) -> None:
    joints = READY.copy()
    joints[6] += flex_rad
    assert felt_kg(answer(joints, mass_kg=mass_kg)) == pytest.approx(mass_kg)
