"""Driving over HTTP, on a real simulation: it moves while it is told to, and what is driven is recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from graspline.episodes.episode import Episode
from graspline.serve.http.access import Door
from graspline.serve.http.app import guarded_app
from graspline.serve.http.drive_routes import DriveBody
from graspline.serve.http.server import serve
from graspline.serve.live.commands import Drive, EndTeleop, KeepDriving, ToolTarget
from graspline.serve.live.server_context import Bench
from graspline.serve.live.session import Session
from graspline.tasks.catalogue import find_task

from .conftest import Place
from .stand_in import PATIENCE_S

KEPT: list[Episode] = []


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    task, door = find_task("lift-cube"), Door()
    with (
        Session(task, task.parameters(), 3, on_episode=KEPT.append) as session,
        serve(guarded_app(Bench(session=lambda: session), door)) as running,
        httpx.Client(
            base_url=running.address, headers={"Authorization": f"Bearer {door.token}"}, timeout=PATIENCE_S
        ) as client,
    ):
        yield client


def until(http: httpx.Client, reached: Callable[[dict[str, Any]], bool], drive: Any = None) -> dict[str, Any]:
    """Wait for a state, driving meanwhile."""
    deadline = time.monotonic() + PATIENCE_S
    while not reached(state := http.get("/state").json()):
        assert time.monotonic() < deadline, state
        if drive is not None:
            http.post("/drive", json=drive)
        time.sleep(0.02)
    return state


def test_bodies_become_commands() -> None:
    assert DriveBody().command() == Drive()
    assert DriveBody(keep=True, jaw=1.0).command() == KeepDriving()
    target = {"position_m": (0.2, 0.0, 0.1)}
    assert DriveBody.model_validate({"target": target}).command() == Drive(target=ToolTarget(position_m=(0.2, 0, 0.1)))


def test_calls_reach_the_session(place: Place) -> None:
    body = {"linear_m_s": [0.1, 0, 0], "frame": "tool", "turn_rad_s": 0.5, "jaw": -1}
    assert place.http.post("/drive", json=body).json()["success"]
    assert place.http.post("/teleop/finish").json()["success"]
    assert place.http.post("/teleop/discard").json()["success"]
    assert place.session.commands == [
        Drive(linear_m_s=(0.1, 0.0, 0.0), frame="tool", turn_rad_s=0.5, jaw=-1.0),
        EndTeleop(),
        EndTeleop(keep=False),
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"linear_m_s": [0.3, 0, 0]},
        {"turn_rad_s": 2},
        {"jaw": 1.1},
        {"frame": "base"},
        {"joints_rad_s": [0.1]},
        {"linear_m_s": [0.1, 0, 0], "target": {"position_m": [0.2, 0, 0.1]}},
    ],
)
def test_what_could_never_be_driven_has_status_422(http: httpx.Client, body: dict[str, Any]) -> None:
    assert http.post("/drive", json=body).status_code == 422


@pytest.mark.slow
def test_the_arm_moves_while_it_is_told_to_and_then_holds(http: httpx.Client) -> None:
    before = until(http, lambda state: state["mode"] == "idle")["tcp"]["position_m"][1]
    drive = {"linear_m_s": [0, 0.1, 0]}
    until(http, lambda state: state["tcp"]["position_m"][1] > before + 0.03, drive)
    assert http.post("/drive", json=drive, headers={"X-Operator": "another"}).status_code == 409
    held = until(http, lambda state: state["mode"] == "idle")
    still = until(http, lambda state: state["time_s"] > held["time_s"] + 0.3)
    assert still["command_rad"] == held["command_rad"]
    # Far out it is refused with the limit, in words.
    told = until(http, lambda state: "edge of reach" in state["message"], {"linear_m_s": [0.2, 0, 0]})
    assert "mm further is not possible" in told["message"]
    until(http, lambda state: state["mode"] == "idle")
    refused = http.post("/drive", json={"linear_m_s": [0.2, 0, 0]}).json()
    assert (refused["success"], bool(refused["evidence"])) == (False, True)


@pytest.mark.slow
def test_what_is_driven_is_recorded_and_judged(http: httpx.Client) -> None:
    started = http.post("/teleop/start", json={"seed": 7}).json()
    assert (started["success"], started["seed"]) == (True, 7)
    until(http, lambda state: state["tcp"]["position_m"][1] > 0.03, {"linear_m_s": [0, 0.1, 0]})
    assert http.get("/state").json()["teleop"] == "recording"
    assert http.post("/run", params={"wait_s": 5}).json()["message"].startswith("an episode is being driven")
    finished = http.post("/teleop/finish").json()
    assert finished["success"]
    assert (finished["verdict"], finished["succeeded"], finished["kept"]) == ("not_done", False, True)
    until(http, lambda state: len(KEPT) == 1)
    assert KEPT[0].scenario.seed == 7
    assert http.post("/teleop/finish").json()["message"] == "no episode is being driven"
    assert http.post("/teleop/start").json()["seed"] == 8
    assert http.post("/teleop/discard").json()["kept"] is False
