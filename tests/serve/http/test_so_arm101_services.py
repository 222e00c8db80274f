"""All sixteen services over a real socket, with the names and parameters of the ROS node they come from."""

from __future__ import annotations

from typing import Any

import pytest

from graspline.serve.live import commands

from .conftest import Place

NODE = "/so_arm101_control_gui"
SIXTEEN: dict[str, object] = {
    "grasp_refresh": commands.Refresh(),
    "grasp_select": commands.Select("blue_2x4"),
    "grasp_move": commands.MoveToGrab(),
    "grasp_reset": commands.Down(),
    "gripper_open_for_object": commands.GraspOpen(),
    "gripper_close_for_object": commands.GraspClose(),
    "gripper_open_range": commands.OpenRange(1.2),
    "gripper_close_range": commands.CloseRange(0.1),
    "gripper_open": commands.MoveJaw(full="open"),
    "gripper_close": commands.MoveJaw(full="close"),
    "set_jaw_open_clearance": commands.SetVariables({"open_clearance_m": 0.004}),
    "set_jaw_close_clearance": commands.SetVariables({"close_clearance_m": -0.001}),
    "set_tcp_clearance": commands.SetVariables({"tcp_clearance_m": 0.002}),
    "check_grasp_reachable": commands.CheckReachable(),
    "get_tcp_pose": None,
    "get_ee_pose": None,
}
PARAMETERS: dict[str, Any] = {
    "ik_target": "blue_2x4",
    "jaw_open_clearance_mm": 4.0,
    "jaw_close_clearance_mm": -1.0,
    "tcp_clearance_mm": 2.0,
    "range_upper_rad": 1.2,
    "range_lower_rad": 0.1,
}


def call(place: Place, service: str, **body: Any) -> dict[str, Any]:
    response = place.http.post(f"{NODE}/{service}", json=body or None)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("service", SIXTEEN)
def test_each_service_gives_its_command_and_answers_like_a_trigger(place: Place, service: str) -> None:
    for name, value in PARAMETERS.items():
        assert place.http.put(f"{NODE}/parameters/{name}", json={"value": value}).json()["success"]
    call(place, "grasp_select")
    answer = call(place, service)
    assert answer["success"] is True
    assert isinstance(answer["message"], str)
    if SIXTEEN[service] is not None:
        assert place.session.commands[-1] == SIXTEEN[service]


def test_the_sequence_that_sets_a_clearance_and_tests_it(place: Place) -> None:
    call(place, "grasp_select", ik_target="blue_2x4")
    place.http.put(f"{NODE}/parameters/jaw_close_clearance_mm", json={"value": -1.0})
    assert place.session.snapshot.variables.get("close_clearance_m") is None, "a parameter alone changes nothing"
    assert call(place, "set_jaw_close_clearance")["success"]
    assert place.session.snapshot.variables["close_clearance_m"] == pytest.approx(-0.001)
    assert call(place, "gripper_close_for_object")["success"]


def test_the_sequence_that_checks_reachability_before_a_grasp(place: Place) -> None:
    place.http.put(f"{NODE}/parameters/ik_target", json={"value": "blue_2x4"})
    assert call(place, "grasp_select")["success"]
    assert call(place, "check_grasp_reachable")["success"]


def test_a_parameter_may_come_with_the_call_and_stays(place: Place) -> None:
    call(place, "set_tcp_clearance", tcp_clearance_mm=3.0)
    call(place, "set_tcp_clearance")
    assert place.session.commands[-2:] == [commands.SetVariables({"tcp_clearance_m": 0.003})] * 2


@pytest.mark.parametrize(
    "service", ["grasp_move", "gripper_open_for_object", "gripper_close_for_object", "check_grasp_reachable"]
)
def test_object_aware_calls_without_a_selection_say_so(place: Place, service: str) -> None:
    answer = call(place, service)
    assert answer["success"] is False
    assert "no object is selected" in answer["message"]


def test_without_parameters_what_needs_them_says_which(new_place: Place) -> None:
    assert "ik_target" in call(new_place, "grasp_select")["message"]
    assert "tcp_clearance_mm" in call(new_place, "set_tcp_clearance")["message"]
    assert new_place.session.commands == []


def test_without_a_range_open_and_close_go_all_the_way(new_place: Place) -> None:
    call(new_place, "gripper_open_range")
    call(new_place, "gripper_close_range")
    assert new_place.session.commands == [commands.MoveJaw(full="open"), commands.MoveJaw(full="close")]


def test_a_refusal_carries_check_stage_measurement_limit_and_the_nearest_pose(place: Place) -> None:
    call(place, "grasp_select", ik_target="blue_2x4")
    place.session.far = True
    answer = call(place, "check_grasp_reachable")
    assert (answer["success"], answer["message"]) == (False, "too far")
    assert (answer["check"], answer["stage"]) == ("workspace", "approach")
    assert (answer["measured"], answer["limit"], answer["unit"]) == (0.4, 0.31, "m")
    assert answer["nearest"] == {"position_m": [0.3, 0, 0]}
    assert [each["passed"] for each in answer["evidence"]] == [True, False]


def test_poses_are_read_without_the_lease_and_say_what_is_not_known(place: Place) -> None:
    place.session.lease.take("somebody")
    assert call(place, "get_tcp_pose")["position_m"] == [0.2, 0.0, None]
    assert call(place, "get_ee_pose")["position_m"] == [0.1, 0.0, 0.2]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("grasp_select", {"ik_target": ""}),
        ("grasp_select", {"ik_target": "x" * 65}),
        ("grasp_move", {"speed": 3}),
        ("set_tcp_clearance", {"tcp_clearance_mm": "wide"}),
        ("gripper_open_range", {"range_upper_rad": 1e9}),
    ],
)
def test_parameters_that_cannot_be_are_named(place: Place, path: str, body: dict[str, Any]) -> None:
    response = place.http.post(f"{NODE}/{path}", json=body)
    assert response.status_code == 422
    assert next(iter(body)) in response.json()["message"]
    assert place.session.commands == []
