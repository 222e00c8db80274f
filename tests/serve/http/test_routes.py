"""Everything else the panel does, over a real socket."""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import Any

import httpx
import pytest

from graspline.serve.http.response_models import State
from graspline.serve.live import commands

from .conftest import Place
from .stand_in import PATIENCE_S

ROUTES: dict[str, tuple[dict[str, Any] | None, object]] = {
    "/jog": ({"joints_rad": [0, 0.1, 0.2, 0.3, 0.4, 0.5]}, commands.Jog((0, 0.1, 0.2, 0.3, 0.4, 0.5))),
    "/move_tool": (
        {"position_m": [0.2, 0, 0.1], "pitch_rad": 1.5, "yaw_rad": 0.2},
        commands.MoveTool((0.2, 0, 0.1), 1.5, 0.2),
    ),
    "/jaw": ({"gap_m": 0.03}, commands.MoveJaw(gap_m=0.03)),
    "/home": (None, commands.Home()),
    "/down": (None, commands.Down()),
    "/zero": (None, commands.Zero()),
    "/pick": ({"place_m": [0.2, 0.1]}, commands.Pick((0.2, 0.1))),
    "/preview": (None, commands.Preview()),
    "/grasp/check": (None, commands.CheckReachable()),
    "/grasp/move": (None, commands.MoveToGrab()),
    "/grasp/open": (None, commands.GraspOpen()),
    "/grasp/close": (None, commands.GraspClose()),
    "/objects/refresh": (None, commands.Refresh()),
    "/objects/select": ({"name": "red_2x2"}, commands.Select("red_2x2")),
    "/run": ({"seed": 3}, commands.RunTask(3)),
    "/reset": (None, commands.ResetScene(None)),
    "/fault": ({"name": "drop"}, commands.StrikeFault("drop")),
    "/record": ({"on": True}, commands.Record(True, "today")),
    "/answer": ({"text": "yes"}, commands.Answer("yes")),
}


@pytest.mark.parametrize("path", ROUTES)
def test_each_route_gives_its_command(place: Place, path: str) -> None:
    place.session.show(selected="blue_2x4")
    body, command = ROUTES[path]
    response = place.http.post(path, json=body)
    assert response.json()["success"], response.text
    assert place.session.commands == [command]


def test_the_state_is_the_snapshot_and_fits_its_description(place: Place) -> None:
    state = place.http.get("/state").json()
    State.model_validate(state)
    assert set(state) == set(State.model_fields)
    assert (state["task"], state["seed"], state["tcp"]["position_m"]) == ("grab", 7, [0.2, 0.0, None])


def test_objects_and_variables_are_listed(place: Place) -> None:
    assert [each["name"] for each in place.http.get("/objects").json()] == ["blue_2x4", "red_2x2"]
    assert place.http.put("/variables", json={"cross_axis": True, "tcp_clearance_m": 0.002}).json()["success"]
    variables = place.http.get("/variables").json()
    assert variables == {"tcp_clearance_m": 0.002, "cross_axis": True, "tcp": "fixed_tip"}


def test_tasks_faults_and_cameras_are_listed(place: Place) -> None:
    assert place.http.get("/tasks").json()["tasks"] == [
        {"name": "grab", "about": ""},
        {"name": "lift-cube", "about": ""},
    ]
    assert place.http.get("/faults").json() == [{"name": "drop", "about": "lets go"}]
    assert place.http.get("/cameras").json() == ["front", "wrist"]
    picture = place.http.get("/camera/wrist.jpg?size=640x480")
    assert (picture.headers["content-type"], picture.content[:2]) == ("image/jpeg", b"\xff\xd8")
    assert place.http.get("/camera/back.jpg").status_code == 404
    assert place.http.get("/camera/front.jpg?size=9999x9999").status_code == 422


def test_another_method_is_405_with_those_allowed_and_another_path_404(place: Place) -> None:
    for path, allowed in (
        ("/so_arm101_control_gui/grasp_move", "POST"),
        ("/home", "POST"),
        ("/so_arm101_control_gui/parameters/ik_target", "GET, PUT"),
    ):
        answer = place.http.delete(path)
        assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    assert place.http.get("/home").status_code == 405
    assert place.http.get("/so_arm101_control_gui/grasp_mov").status_code == 404
    assert place.http.post("/so_arm101_control_gui/grasp_mov").status_code == 404


def test_variables_are_read_one_by_one_too(place: Place) -> None:
    assert place.http.get("/variables/tcp_clearance_m").json()["value"] == 0.001
    answer = place.http.get("/variables/tcp_clearence_m")
    assert answer.status_code == 404
    assert "did you mean 'tcp_clearance_m'" in answer.json()["message"]


def test_names_of_episodes_and_tasks_are_looked_up_and_never_opened(place: Place) -> None:
    for path in ("/replay", "/task"):
        answer = place.http.post(path, json={"name": "../../etc/passwd"}).json()
        assert answer["success"] is False
    assert "one task" in place.http.post("/task", json={"name": "lift-cube"}).json()["message"]
    assert place.http.get("/episodes").json() == []


def test_a_command_that_takes_longer_than_the_wait_is_said_to_be_under_way(place: Place) -> None:
    place.session.slow = True
    response = place.http.post("/home?wait_s=0.1")
    assert (response.status_code, response.json()["ended"]) == (202, False)


def test_stop_needs_no_lease_and_ends_what_is_waited_for(place: Place) -> None:
    place.session.slow = True
    answers: list[httpx.Response] = []
    headers = {**place.bearer, "X-Operator": "ann"}
    waiting = threading.Thread(
        target=lambda: answers.append(httpx.post(f"{place.address}/home", headers=headers, timeout=PATIENCE_S))
    )
    waiting.start()
    while not place.session.open:
        time.sleep(0.01)
    stopped = place.http.post("/stop", headers={"X-Operator": "bob"})
    waiting.join(PATIENCE_S)
    assert stopped.json()["message"] == "holding"
    assert answers[0].json()["message"] == "stopped"


def test_one_operator_commands_and_others_watch(place: Place) -> None:
    ann, bob = {"X-Operator": "ann"}, {"X-Operator": "bob"}
    assert place.http.post("/home", headers=ann).json()["success"], "whoever comes first becomes the operator"
    refused = place.http.post("/home", headers=bob)
    assert refused.status_code == 409
    assert refused.json()["holder"] == "ann"
    assert "ann" in refused.json()["message"]
    assert place.http.get("/state", headers=bob).status_code == 200
    assert place.http.post("/lease/take", headers=bob).status_code == 409
    assert place.http.post("/lease/renew", headers=bob).status_code == 409
    assert place.http.post("/lease/release", headers=bob).status_code == 409
    assert place.http.post("/lease/renew", headers=ann).json()["left_s"] > 9.0
    assert place.http.post("/lease/release", headers=ann).json()["holder"] == ""
    assert place.http.post("/lease/take", headers=bob).json()["holder"] == "bob"
    assert place.http.get("/lease").json()["holder"] == "bob"
    parameter = "/so_arm101_control_gui/parameters/tcp_clearance_mm"
    assert place.http.put(parameter, json={"value": 1.0}, headers=ann).status_code == 409


def test_an_operator_id_is_a_short_word(place: Place) -> None:
    assert place.http.post("/home", headers={"X-Operator": "a b"}).status_code == 422
    assert place.http.post("/home", headers={"X-Operator": "x" * 65}).status_code == 422


def test_a_snapshot_of_numbers_that_are_none_is_still_json(place: Place) -> None:
    place.session.snapshot = dataclasses.replace(place.session.snapshot, jaw_gap_m=float("inf"))
    assert place.http.get("/state").json()["jaw_gap_m"] is None
