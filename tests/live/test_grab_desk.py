"""The desk of `grab` on a real scene, ticked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.episodes.faults import FAULTS
from graspline.grasping.grab import GrabVariables, Jaws, jaws_for
from graspline.live.commands import (
    CheckReachable,
    Done,
    GraspClose,
    GraspOpen,
    Home,
    MoveToGrab,
    Pick,
    Preview,
    Refresh,
    ResetScene,
    Select,
    SetVariables,
    StrikeFault,
)
from graspline.live.desks import desk_for
from graspline.live.grab_desk import GrabDesk
from graspline.robots.so101 import SO101
from graspline.tasks.grab.parameters import Grab, OrderParameters, ThingsParameters
from graspline.tasks.grab.task import GRAB

from .benches import Bench

TARGET = "blue_2x4"
PARAMETERS = Grab(
    things=ThingsParameters(count=(2, 2), scale=(1.0, 1.0), radius_m=(0.18, 0.22), azimuth_rad=(-0.5, 0.5)),  # type: ignore[arg-type]
    order=OrderParameters(target=TARGET, place="back", variables="given"),
)


def bench() -> Bench:
    desk = desk_for(GRAB.name, PARAMETERS, 0)
    assert isinstance(desk, GrabDesk)
    at_desk = Bench(GRAB, PARAMETERS, 3, desk=desk)
    at_desk.done(Refresh())
    at_desk.done(Select(TARGET))
    return at_desk


def placed(at_desk: Bench, name: str = TARGET) -> np.ndarray:
    at = at_desk.conductor.scene.joint_address(name)
    return at_desk.snapshot.qpos[at : at + 3]


def test_tasks_that_offer_nothing_but_running_have_no_desk() -> None:
    assert desk_for("lift-cube", PARAMETERS, 0) is None
    assert desk_for("oranges", PARAMETERS, 0) is None


def test_refreshing_lists_what_lies_on_the_table_with_its_size() -> None:
    objects = {each.name: each for each in bench().snapshot.objects}
    assert len(objects) == 2
    np.testing.assert_allclose(objects[TARGET].size_m, [0.064, 0.032, 0.024], atol=1e-9)


def test_what_is_not_on_the_table_cannot_be_selected() -> None:
    refused = bench().refused(Select("blue_2x5"))
    assert "did you mean 'blue_2x4'" in refused.reason


def test_object_aware_commands_without_a_selection_are_refused_with_that_reason() -> None:
    at_desk = Bench(GRAB, PARAMETERS, 3, desk=GrabDesk(PARAMETERS, np.random.default_rng(0)))
    at_desk.done(Refresh())
    for command in (CheckReachable(), Preview(), MoveToGrab(), Pick(), GraspOpen(), GraspClose()):
        assert "no object is selected" in at_desk.refused(command).reason


def test_variables_are_kept_and_bad_ones_refused_with_their_range() -> None:
    at_desk = bench()
    at_desk.done(SetVariables({"tcp_clearance_m": 0.002, "cross_axis": True, "tcp": "between"}))
    assert at_desk.snapshot.variables["tcp_clearance_m"] == 0.002
    for values in ({"tcp_clearance_m": 0.5}, {"tcp_clearence_m": 0.001}, {"tcp": "elbow"}):
        assert at_desk.refused(SetVariables(values)).reason
    assert (
        at_desk.snapshot.variables == GrabVariables(tcp_clearance_m=0.002, cross_axis=True, tcp="between").model_dump()
    )


def test_a_preview_tells_the_joints_of_both_stages_and_moves_nothing() -> None:
    at_desk = bench()
    before = at_desk.snapshot.command_rad
    data = at_desk.done(Preview()).data
    assert [each["name"] for each in data["stages"]] == ["approach", "grasp"]
    assert np.array_equal(at_desk.snapshot.command_rad, before)


def test_moving_to_grab_stops_at_the_object_where_the_preview_was() -> None:
    at_desk = bench()
    stages = at_desk.done(Preview()).data["stages"]
    at_desk.done(MoveToGrab())
    assert np.array_equal(at_desk.snapshot.command_rad, stages[-1]["joints_rad"])
    assert placed(at_desk)[2] == pytest.approx(0.012, abs=1e-3)


def test_a_rejected_plan_moves_nothing_and_names_stage_check_measurement_and_the_nearest_pose() -> None:
    at_desk = bench()
    at_desk.done(SetVariables({"approach_height_m": 0.2}))
    before = at_desk.snapshot.command_rad
    for command in (CheckReachable(), Preview(), MoveToGrab(), Pick()):
        refused = at_desk.refused(command)
        assert refused.data["stage"] == "approach"
        assert refused.data["check"] in ("workspace", "ik")
        assert refused.evidence
        assert not refused.evidence[0].passed
        assert "nearest that passes" in refused.reason
        assert set(refused.data["nearest"]) >= {"position_m", "yaw_rad", "distance_m", "approach_height_m"}
    assert np.array_equal(at_desk.snapshot.command_rad, before)


def test_grasp_open_and_close_go_exactly_to_the_gaps_of_the_object() -> None:
    at_desk = bench()
    size = next(each for each in at_desk.snapshot.objects if each.name == TARGET)
    believed = next(each for each in at_desk.conductor._operator._desk.believed if each.name == TARGET)  # type: ignore[union-attr]
    jaws = jaws_for(SO101, believed, GrabVariables())
    assert isinstance(jaws, Jaws)
    assert jaws.close_gap_m == pytest.approx(size.size_m[1] + 0.002)
    at_desk.done(GraspOpen())
    assert at_desk.snapshot.command_rad[SO101.jaw] == jaws.open_rad
    at_desk.done(GraspClose())
    assert at_desk.snapshot.command_rad[SO101.jaw] == jaws.close_rad


def test_picking_puts_the_object_back_where_it_lay() -> None:
    at_desk = bench()
    before = placed(at_desk)
    assert isinstance(at_desk.do(Pick()), Done)
    np.testing.assert_allclose(placed(at_desk), before, atol=0.015)
    assert at_desk.snapshot.history[-1].state == "confirm"
    # Each state keeps what it measured, not only the last.
    assert {each.state for each in at_desk.snapshot.history if each.evidence} >= {"close", "confirm"}
    assert at_desk.snapshot.state == ""


def test_picking_puts_the_object_at_a_point_of_the_table() -> None:
    at_desk = bench()
    spot = 0.20, -0.10
    result = at_desk.do(Pick(spot))
    assert isinstance(result, Done), result
    np.testing.assert_allclose(placed(at_desk)[:2], spot, atol=0.015)


def test_an_object_that_is_gone_while_selected_is_said_to_be() -> None:
    at_desk = bench()
    assert "remove" in FAULTS
    at_desk.done(StrikeFault("remove"))
    at_desk.tick(2)
    assert at_desk.refused(MoveToGrab()).reason == f"{TARGET} is no longer on the table"
    assert at_desk.snapshot.selected == ""


def test_a_reset_forgets_what_was_seen_and_home_works_from_anywhere() -> None:
    at_desk = bench()
    at_desk.done(MoveToGrab())
    at_desk.done(Home())
    np.testing.assert_allclose(at_desk.snapshot.command_rad, SO101.home)
    at_desk.done(ResetScene(4))
    assert at_desk.snapshot.selected == ""
