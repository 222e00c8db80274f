"""The service on a real simulation: it moves, it stops, it shows, it plays a task."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect

from graspline.serve.http.access import Door
from graspline.serve.http.app import guarded_app
from graspline.serve.http.response_models import State
from graspline.serve.http.server import Served, serve
from graspline.serve.live.server_context import Bench, console_for
from graspline.serve.live.session import Session
from graspline.tasks.catalogue import find_task

from .stand_in import PATIENCE_S

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Served, dict[str, str]]]:
    task, door = find_task("lift-cube"), Door()
    session = Session(task, task.parameters(), 3)
    with session, serve(guarded_app(Bench(session=lambda: session), door)) as running:
        yield running, {"Authorization": f"Bearer {door.token}"}


@pytest.fixture(scope="module")
def grab() -> Iterator[httpx.Client]:
    """A client of `grab`, whose console knows objects and variables."""
    task, door = find_task("grab"), Door()
    parameters = task.parameters()
    session = Session(task, parameters, 0, console=console_for(task, parameters, 0))
    headers = {"Authorization": f"Bearer {door.token}"}
    with (
        session,
        serve(guarded_app(Bench(session=lambda: session), door)) as running,
        httpx.Client(
            base_url=f"{running.address}/so_arm101_control_gui", headers=headers, timeout=PATIENCE_S
        ) as client,
    ):
        yield client


@pytest.fixture
def http(served: tuple[Served, dict[str, str]]) -> Iterator[httpx.Client]:
    running, headers = served
    with httpx.Client(base_url=running.address, headers=headers, timeout=PATIENCE_S) as client:
        yield client
        client.post("/stop")


def test_the_state_fits_its_description(http: httpx.Client) -> None:
    state = http.get("/state").json()
    assert State.model_validate(state).task == "lift-cube"
    assert set(state) == set(State.model_fields)


def test_the_arm_goes_where_it_is_told(http: httpx.Client) -> None:
    assert http.post("/home").json()["success"]
    home = http.get("/state").json()
    assert http.post("/so_arm101_control_gui/gripper_open").json()["success"]
    opened = http.get("/state").json()
    assert opened["jaw_gap_m"] > home["jaw_gap_m"] + 0.02
    assert opened["jaw_gap_m"] == pytest.approx(0.1021, abs=5e-4)
    assert http.post("/jaw", json={"gap_m": 0.1}).json()["gap_m"] == pytest.approx(0.1, abs=2e-4)
    assert http.post("/so_arm101_control_gui/grasp_reset").json()["success"]
    time.sleep(0.5)
    pose = http.post("/so_arm101_control_gui/get_tcp_pose").json()
    w, x, y, z = pose["quaternion"]
    # The tool's x axis, along which it approaches, points straight down.
    assert 2 * (x * z - w * y) == pytest.approx(-1.0, abs=1e-3)
    assert http.post("/home").json()["success"]
    assert http.get("/state").json()["tcp"]["position_m"] == pytest.approx(home["tcp"]["position_m"], abs=2e-3)


def until(http: httpx.Client, reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE_S
    while not reached(state := http.get("/state").json()):
        assert time.monotonic() < deadline, state
        time.sleep(0.02)
    return state


def test_stop_in_the_middle_of_a_motion_holds_and_answers_who_waited(http: httpx.Client) -> None:
    http.post("/home")
    answers: list[dict[str, object]] = []
    joints = http.get("/state").json()["joints_rad"]
    far = [joints[0] + 1.2, *joints[1:]]
    assert http.post("/jog", json={"joints_rad": far}).json()["success"]
    until(http, lambda state: state["joints_rad"][0] - joints[0] > 0.05)
    stopped = http.post("/stop")
    assert stopped.json()["success"], stopped.text
    held = http.get("/state").json()
    still = until(http, lambda state: state["time_s"] > held["time_s"] + 0.3)
    assert (still["mode"], still["command_rad"]) == ("idle", held["command_rad"])
    assert 0.02 < held["joints_rad"][0] - joints[0] < 1.15
    headers = dict(http.headers)
    zero = threading.Thread(
        target=lambda: answers.append(httpx.post(f"{http.base_url}/zero", headers=headers, timeout=PATIENCE_S).json())
    )
    zero.start()
    until(http, lambda state: state["mode"] == "moving")
    assert http.post("/stop").json()["success"]
    zero.join(PATIENCE_S)
    assert answers[0]["success"] is False


def test_what_the_task_does_not_offer_is_refused_with_a_reason(http: httpx.Client) -> None:
    for path in ("/pick", "/preview", "/grasp/check", "/so_arm101_control_gui/grasp_move"):
        answer = http.post(path).json()
        assert answer["success"] is False
        assert answer["message"]
    out_of_reach = http.post("/move_tool", json={"position_m": [2.0, 0, 0.1], "pitch_rad": 1.57}).json()
    assert out_of_reach["success"] is False
    assert out_of_reach["message"]
    assert http.post("/fault", json={"name": "nonsense"}).json()["success"] is False
    assert http.put("/variables", json={"nonsense": 1.0}).json()["success"] is False
    for path, body in (("/jog", {"joints_rad": [0.1]}), ("/jaw", {"gap_m": 0.2}), ("/jaw", {"rad": 3.0})):
        answer = http.post(path, json=body)
        assert (answer.status_code, answer.json()["success"]) == (422, False)


def test_a_task_is_played_and_its_transitions_are_told(
    http: httpx.Client, served: tuple[Served, dict[str, str]]
) -> None:
    running, headers = served

    async def played() -> list[dict[str, object]]:
        url = f"ws://127.0.0.1:{running.port}/ws/evidence"
        async with connect(url, additional_headers=headers) as client:
            await asyncio.sleep(1.0)
            assert http.post("/run", json={"seed": 5}).json()["success"]
            told = []
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    told.append(json.loads(await client.recv()))
                    if http.get("/state").json()["verdict"]:
                        return told

    told = asyncio.run(played())
    state = http.get("/state").json()
    assert [each["state"] for each in told] == [each["state"] for each in state["history"]][-len(told) :]
    assert state["verdict"] == "success"
    assert any(each["evidence"] for each in told)


def test_pictures_are_jpeg(http: httpx.Client, served: tuple[Served, dict[str, str]]) -> None:
    running, headers = served
    camera = http.get("/cameras").json()[0]
    picture = http.get(f"/camera/{camera}.jpg", params={"size": "160x120"})
    assert picture.content.startswith(b"\xff\xd8")

    async def watched() -> list[bytes | str]:
        url = f"ws://127.0.0.1:{running.port}/ws/camera/{camera}?size=160x120"
        async with connect(url, additional_headers=headers) as client:
            return [await client.recv() for _ in range(3)]

    assert all(isinstance(each, bytes) and each.startswith(b"\xff\xd8") for each in asyncio.run(watched()))


def test_the_examples_of_the_old_services_work_on_a_real_grab(grab: httpx.Client) -> None:
    assert "no object is selected" in grab.post("/gripper_close_for_object").json()["message"]
    seen = grab.post("/grasp_refresh").json()["objects"]
    answers = {}
    for name in seen:
        assert grab.put("/parameters/ik_target", json={"value": name}).json()["success"]
        assert grab.post("/grasp_select").json()["success"]
        answers[name] = grab.post("/check_grasp_reachable").json()
    for refused in (each for each in answers.values() if not each["success"]):
        assert refused["check"]
        assert refused["stage"] in ("approach", "grasp")
        assert refused["measured"] is not None
        assert refused["limit"] is not None
    reachable = next(name for name, each in answers.items() if each["success"])
    assert grab.post("/grasp_select", json={"ik_target": reachable}).json()["success"]
    assert grab.post("/gripper_open_for_object").json()["success"]
    assert grab.post("/grasp_move").json()["success"]
    for value in (0.1, "wide", True):
        answer = grab.put(f"{str(grab.base_url).rsplit('/', 2)[0]}/variables", json={"tcp_clearance_m": value})
        assert answer.status_code == 422
        assert answer.json()["message"].startswith("tcp_clearance_m: ")
    assert grab.post("/set_tcp_clearance", json={"tcp_clearance_mm": 100}).status_code == 422
    assert grab.put("/parameters/jaw_close_clearance_mm", json={"value": -1.0}).json()["success"]
    assert grab.get("/parameters/jaw_close_clearance_mm").json()["value"] == -1.0
    assert grab.get("/parameters/range_upper_rad").json()["value"] is None
    assert grab.get("/parameters").json()["ik_target"] == reachable
    assert grab.post("/set_jaw_close_clearance").json()["success"]
    assert grab.post("/gripper_close_for_object").json()["success"]
    assert grab.post("/grasp_reset").json()["success"]


def test_objects_detected_outside_are_posted_used_and_forgotten(grab: httpx.Client) -> None:
    root = str(grab.base_url).rsplit("/", 2)[0]
    assert grab.post(f"{root}/reset").json()["success"]
    post = {"name": "crate", "position_m": [0.22, 0.0, 0.012], "size_m": [0.03, 0.03, 0.024]}
    wrong = grab.post(f"{root}/objects", json={**post, "quaternion": [1, 1, 0, 0], "frame": "map", "time_s": 1e6})
    assert wrong.status_code == 422
    assert all(f"{key}:" in wrong.json()["message"] for key in ("quaternion", "frame", "time_s"))
    assert grab.post(f"{root}/objects", json={**post, "size_m": "large"}).status_code == 422
    answer = grab.post(f"{root}/objects", json=post)
    assert answer.json()["success"], answer.text
    assert [(each["name"], each["posted"]) for each in grab.get(f"{root}/objects").json()] == [("crate", True)]
    assert grab.post(f"{root}/objects/select", json={"name": "crate"}).json()["success"]
    assert grab.post("/check_grasp_reachable").json()["object"] == "crate"
    assert grab.delete(f"{root}/objects?name=crate").json()["success"]
    assert grab.get(f"{root}/objects").json() == []
    assert grab.delete(f"{root}/objects?name=crate").json()["success"] is False
    assert grab.delete(f"{root}/objects").json()["success"]
    assert grab.post("/grasp_refresh").json()["objects"]
