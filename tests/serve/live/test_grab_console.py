"""The console of `grab` on a real scene, ticked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.grasping.commanded_grasp_checks import jaws_for
from graspline.grasping.commanded_grasp_values import GrabVariables, Jaws
from graspline.robots.so101 import SO101
from graspline.serve.live.commands import (
    CheckReachable,
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
from graspline.serve.live.server_context import console_for
from graspline.tasks.catalogue import TASKS
from graspline.tasks.console import Done
from graspline.tasks.grab.console import GrabConsole
from graspline.tasks.grab.parameters import Grab, GrabOrderParameters, ThingsParameters
from graspline.tasks.grab.task import GRAB

from .benches import Bench

TARGET = "blue_2x4"
PARAMETERS = Grab(
    things=ThingsParameters(count=(2, 2), scale=(1.0, 1.0), radius_m=(0.18, 0.22), azimuth_rad=(-0.5, 0.5)),  # type: ignore[arg-type]
    order=GrabOrderParameters(target=TARGET, place="back", variables="given"),
)


def bench() -> Bench:
    console = console_for(GRAB, PARAMETERS, 0)
    assert isinstance(console, GrabConsole)
    at_console = Bench(GRAB, PARAMETERS, 3, console=console)
    at_console.done(Refresh())
    at_console.done(Select(TARGET))
    return at_console


def placed(at_console: Bench, name: str = TARGET) -> np.ndarray:
    at = at_console.conductor.scene.joint_address(name)
    return at_console.snapshot.qpos[at : at + 3]


@pytest.mark.parametrize("name", [name for name in TASKS if TASKS[name] is not GRAB])
def test_tasks_that_offer_nothing_but_running_have_no_console(name: str) -> None:
    assert console_for(TASKS[name], TASKS[name].parameters(), 0) is None


def test_refreshing_lists_what_lies_on_the_table_with_its_size() -> None:
    objects = {each.name: each for each in bench().snapshot.objects}
    assert len(objects) == 2
    np.testing.assert_allclose(objects[TARGET].size_m, [0.064, 0.032, 0.024], atol=1e-9)


def test_what_is_not_on_the_table_cannot_be_selected() -> None:
    refused = bench().refused(Select("blue_2x5"))
    assert "did you mean 'blue_2x4'" in refused.reason


def test_object_aware_commands_without_a_selection_are_refused_with_that_reason() -> None:
    at_console = Bench(GRAB, PARAMETERS, 3, console=GrabConsole(PARAMETERS, np.random.default_rng(0)))
    at_console.done(Refresh())
    for command in (CheckReachable(), Preview(), MoveToGrab(), Pick(), GraspOpen(), GraspClose()):
        assert "no object is selected" in at_console.refused(command).reason


def test_variables_are_kept_and_bad_ones_refused_with_their_range() -> None:
    at_console = bench()
    at_console.done(SetVariables({"tcp_clearance_m": 0.002, "cross_axis": True, "tcp": "between"}))
    assert at_console.snapshot.variables["tcp_clearance_m"] == 0.002
    for values in ({"tcp_clearance_m": 0.5}, {"tcp_clearence_m": 0.001}, {"tcp": "elbow"}):
        assert at_console.refused(SetVariables(values)).reason
    assert (
        at_console.snapshot.variables
        == GrabVariables(tcp_clearance_m=0.002, cross_axis=True, tcp="between").model_dump()
    )


def test_a_preview_tells_the_joints_of_both_stages_and_moves_nothing() -> None:
    at_console = bench()
    before = at_console.snapshot.command_rad
    data = at_console.done(Preview()).data
    assert [each["name"] for each in data["stages"]] == ["approach", "grasp"]
    assert np.array_equal(at_console.snapshot.command_rad, before)


def test_moving_to_grab_stops_at_the_object_where_the_preview_was() -> None:
    at_console = bench()
    stages = at_console.done(Preview()).data["stages"]
    at_console.done(MoveToGrab())
    assert np.array_equal(at_console.snapshot.command_rad, stages[-1]["joints_rad"])
    assert placed(at_console)[2] == pytest.approx(0.012, abs=1e-3)


def test_a_rejected_plan_moves_nothing_and_names_stage_check_measurement_and_the_nearest_pose() -> None:
    at_console = bench()
    at_console.done(SetVariables({"approach_height_m": 0.2}))
    before = at_console.snapshot.command_rad
    for command in (CheckReachable(), Preview(), MoveToGrab(), Pick()):
        refused = at_console.refused(command)
        assert refused.data["stage"] == "approach"
        assert refused.data["check"] in ("workspace", "ik")
        assert refused.evidence
        assert not refused.evidence[0].passed
        assert "nearest that passes" in refused.reason
        assert set(refused.data["nearest"]) >= {"position_m", "yaw_rad", "distance_m", "approach_height_m"}
    assert np.array_equal(at_console.snapshot.command_rad, before)


def test_grasp_open_and_close_go_exactly_to_the_gaps_of_the_object() -> None:
    at_console = bench()
    size = next(each for each in at_console.snapshot.objects if each.name == TARGET)
    believed = next(each for each in at_console.conductor._operator._console.believed if each.name == TARGET)  # type: ignore[union-attr]
    jaws = jaws_for(SO101, believed, GrabVariables())
    assert isinstance(jaws, Jaws)
    assert jaws.close_gap_m == pytest.approx(size.size_m[1] + 0.002)
    at_console.done(GraspOpen())
    assert at_console.snapshot.command_rad[SO101.jaw] == jaws.open_rad
    at_console.done(GraspClose())
    assert at_console.snapshot.command_rad[SO101.jaw] == jaws.close_rad


def test_picking_puts_the_object_back_where_it_lay() -> None:
    at_console = bench()
    before = placed(at_console)
    assert isinstance(at_console.do(Pick()), Done)
    np.testing.assert_allclose(placed(at_console), before, atol=0.015)
    assert at_console.snapshot.history[-1].state == "confirm"
    # Each state keeps what it measured, not only the last.
    assert {each.state for each in at_console.snapshot.history if each.evidence} >= {"close", "confirm"}
    assert at_console.snapshot.state == ""


def test_picking_puts_the_object_at_a_point_of_the_table() -> None:
    at_console = bench()
    spot = 0.20, -0.10
    result = at_console.do(Pick(spot))
    assert isinstance(result, Done), result
    np.testing.assert_allclose(placed(at_console)[:2], spot, atol=0.015)


def test_an_object_that_is_gone_while_selected_is_said_to_be() -> None:
    at_console = bench()
    at_console.done(StrikeFault("remove"))
    at_console.tick(2)
    assert at_console.refused(MoveToGrab()).reason == f"{TARGET} is no longer on the table"
    assert at_console.snapshot.selected == ""


def test_a_reset_forgets_what_was_seen_and_home_works_from_anywhere() -> None:
    at_console = bench()
    at_console.done(MoveToGrab())
    at_console.done(Home())
    np.testing.assert_allclose(at_console.snapshot.command_rad, SO101.home)
    at_console.done(ResetScene(4))
    assert at_console.snapshot.selected == ""
