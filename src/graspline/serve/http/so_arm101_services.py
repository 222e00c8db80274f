"""The sixteen services of the SO-ARM101 control GUI, by their names and with their parameters' names.

They answer like `std_srvs/Trigger`. A parameter is set first, as with `ros2 param set`, or comes with the call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from graspline.serve.http import payloads
from graspline.serve.http.operator_commands import NO_OPERATOR, Operator, Orders, Wait, read_value
from graspline.serve.http.response_models import COMMANDED, GUARDED, CommandResponse
from graspline.serve.live import commands
from graspline.serve.live.commands import Command
from graspline.tasks.console import Done, Refused, plain

PREFIX = "/so_arm101_control_gui"
Value = float | str


class Settings:
    """The parameters as they were last set; one that never was is absent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, Value] = {}

    def set(self, name: str, value: Value) -> None:
        """Set a value."""
        with self._lock:
            self._values[name] = value

    def get(self, name: str) -> Value | None:
        """The value of a name; None if it was not set."""
        with self._lock:
            return self._values.get(name)

    def with_body(self, body: BaseModel) -> dict[str, Value]:
        """What is set, overruled by what came with a call, which is set from now on."""
        given = body.model_dump(exclude_none=True)
        with self._lock:
            self._values.update(given)
            return dict(self._values)


@dataclass(frozen=True, slots=True)
class Service:
    """A service: its summary, its request body and the command it gives."""

    summary: str
    body: type[BaseModel]
    command: Callable[[dict[str, Value]], Command | Refused]


def _select(values: dict[str, Value]) -> Command | Refused:
    name = values.get("ik_target")
    return commands.Select(str(name)) if name else Refused(reason="no object is named: set ik_target first")


def _clearance(parameter: str, variable: str) -> Callable[[dict[str, Value]], Command | Refused]:
    def command(values: dict[str, Value]) -> Command | Refused:
        if parameter not in values:
            return Refused(reason=f"no clearance is given: set {parameter} first")
        return commands.SetVariables({variable: float(values[parameter]) / 1000.0})

    return command


def _open_range(values: dict[str, Value]) -> Command:
    # Like the panel's fields, the range is the jaw's own until a client narrows it.
    if "range_upper_rad" in values:
        return commands.OpenRange(float(values["range_upper_rad"]))
    return commands.MoveJaw(full="open")


def _close_range(values: dict[str, Value]) -> Command:
    if "range_lower_rad" in values:
        return commands.CloseRange(float(values["range_lower_rad"]))
    return commands.MoveJaw(full="close")


SERVICES: dict[str, Service] = {
    "grasp_refresh": Service("Look at the objects again", payloads.Nothing, lambda _: commands.Refresh()),
    "grasp_select": Service("Select the object named by ik_target", payloads.TargetBody, _select),
    "grasp_move": Service("Move to Grab, both stages checked first", payloads.Nothing, lambda _: commands.MoveToGrab()),
    "grasp_reset": Service("Gripper straight down, clear of the table", payloads.Nothing, lambda _: commands.Down()),
    "gripper_open_for_object": Service("Grasp Open", payloads.Nothing, lambda _: commands.GraspOpen()),
    "gripper_close_for_object": Service("Grasp Close", payloads.Nothing, lambda _: commands.GraspClose()),
    "gripper_open_range": Service("Open to the range's upper value", payloads.UpperBody, _open_range),
    "gripper_close_range": Service("Close to the range's lower value", payloads.LowerBody, _close_range),
    "gripper_open": Service("Open all the way", payloads.Nothing, lambda _: commands.MoveJaw(full="open")),
    "gripper_close": Service("Close all the way", payloads.Nothing, lambda _: commands.MoveJaw(full="close")),
    "set_jaw_open_clearance": Service(
        "Set the open clearance to jaw_open_clearance_mm",
        payloads.OpenClearanceBody,
        _clearance("jaw_open_clearance_mm", "open_clearance_m"),
    ),
    "set_jaw_close_clearance": Service(
        "Set the close clearance to jaw_close_clearance_mm",
        payloads.CloseClearanceBody,
        _clearance("jaw_close_clearance_mm", "close_clearance_m"),
    ),
    "set_tcp_clearance": Service(
        "Set the TCP clearance to tcp_clearance_mm",
        payloads.TcpClearanceBody,
        _clearance("tcp_clearance_mm", "tcp_clearance_m"),
    ),
    "check_grasp_reachable": Service(
        "Whether the selected object can be grasped", payloads.Nothing, lambda _: commands.CheckReachable()
    ),
}
# These two only read, and so need no lease.
POSES = {"get_tcp_pose": "Where the tool centre point is", "get_ee_pose": "Where the gripper link is"}
PARAMETERS: dict[str, type[payloads.WordValue | payloads.NumberValue]] = {
    "ik_target": payloads.WordValue,
    "jaw_open_clearance_mm": payloads.NumberValue,
    "jaw_close_clearance_mm": payloads.NumberValue,
    "tcp_clearance_mm": payloads.NumberValue,
    "range_upper_rad": payloads.NumberValue,
    "range_lower_rad": payloads.NumberValue,
}


def seed_services(orders: Orders) -> APIRouter:
    """The routes of the services, each one command of the session."""
    router = APIRouter(prefix=PREFIX, tags=["services"], responses=GUARDED)
    settings = Settings()
    for name, service in SERVICES.items():
        _add_service(router, orders, settings, name, service)
    for name, summary in POSES.items():
        _add_pose(router, orders, name, summary)
    for name, body in PARAMETERS.items():
        _add_parameter(router, orders, settings, name, body)

    @router.get("/parameters", response_model=dict[str, Value | None], summary="All parameters; null where never set")
    async def parameters() -> JSONResponse:
        return JSONResponse({name: settings.get(name) for name in PARAMETERS})

    return router


def _add_service(router: APIRouter, orders: Orders, settings: Settings, name: str, service: Service) -> None:
    async def call(body: Any = None, operator: Operator = NO_OPERATOR, wait_s: Wait = 60.0) -> JSONResponse:
        def act() -> commands.Ticket | Refused:
            command = service.command(settings.with_body(body or service.body()))
            return command if isinstance(command, Refused) else orders.submit(command)

        return await orders.let(operator, act, wait_s)

    call.__annotations__["body"] = service.body | None
    _add(router, "POST", f"/{name}", call, service.summary, COMMANDED)


def _add_pose(router: APIRouter, orders: Orders, name: str, summary: str) -> None:
    async def call(body: payloads.Nothing | None = None) -> JSONResponse:
        snapshot = orders.bench.session().snapshot
        pose = snapshot.tcp if name == "get_tcp_pose" else snapshot.gripper
        x, y, z = plain(pose.position_m)
        message = f"x {x} m, y {y} m, z {z} m" if None in (x, y, z) else f"x {x:.4f} m, y {y:.4f} m, z {z:.4f} m"
        return JSONResponse({"success": True, "message": message, "ended": True, **plain(pose)})

    _add(router, "POST", f"/{name}", call, summary, {})


def _add_parameter(
    router: APIRouter, orders: Orders, settings: Settings, name: str, body_type: type[BaseModel]
) -> None:
    async def put(body: Any, operator: Operator = NO_OPERATOR) -> JSONResponse:
        def set_it() -> Done:
            settings.set(name, body.value)
            return Done(text=f"{name} is {body.value}", data={"name": name, "value": body.value})

        return await orders.let(operator, set_it)

    async def get() -> JSONResponse:
        return read_value(name, settings.get(name))

    put.__annotations__["body"] = body_type
    _add(router, "PUT", f"/parameters/{name}", put, f"Set {name}, for the service that uses it", COMMANDED)
    _add(router, "GET", f"/parameters/{name}", get, f"{name} as it was set; null if it never was", {})


def _add(
    router: APIRouter, method: str, path: str, call: Callable[..., Any], summary: str, more: dict[int | str, Any]
) -> None:
    name = f"service_{method.lower()}{path.replace('/', '_')}"
    router.add_api_route(
        path, call, methods=[method], summary=summary, operation_id=name, response_model=CommandResponse, responses=more
    )
