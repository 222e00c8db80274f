"""Everything else the panel does, as calls: the arm, the task, the objects, the lease, the state."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from graspline.errors import nearest
from graspline.serve.http import payloads
from graspline.serve.http.operator_commands import NO_OPERATOR, Operator, Orders, Wait, held, read_value
from graspline.serve.http.response_models import (
    COMMANDED,
    GUARDED,
    CallProblem,
    CommandResponse,
    Lent,
    ListedObject,
    State,
    answer,
    problems,
)
from graspline.serve.live import commands
from graspline.serve.live.commands import Command, Ticket
from graspline.serve.live.operator import NO_CONSOLE
from graspline.tasks.console import Done, PostObject, Refused, Result

# Commands without parameters, by path.
PLAIN: dict[str, tuple[type[Command], str]] = {
    "/home": (commands.Home, "Go home, where episodes begin"),
    "/down": (commands.Down, "Point the gripper straight down, clear of the table"),
    "/zero": (commands.Zero, "Bring all joints to zero"),
    "/preview": (commands.Preview, "Plan the grasp of the selected object without moving"),
    "/objects/refresh": (commands.Refresh, "Look at the objects again"),
    "/grasp/check": (commands.CheckReachable, "Whether the selected object can be grasped"),
    "/grasp/move": (commands.MoveToGrab, "Go to the selected object, and stop there"),
    "/grasp/open": (commands.GraspOpen, "Open the jaw as far as the selected object needs"),
    "/grasp/close": (commands.GraspClose, "Close the jaw to the selected object's gap"),
}


class Named(BaseModel):
    """A name with a sentence about it."""

    name: str
    about: str


class Tasks(BaseModel):
    """The running task and those that can be chosen."""

    task: str
    tasks: list[Named]


def arm_routes(orders: Orders) -> APIRouter:
    """What moves the arm, and what stops it."""
    router = APIRouter(tags=["arm"], responses={**GUARDED, **COMMANDED})

    @router.post("/stop", response_model=CommandResponse, summary="Brake and hold; needs no lease")
    async def stop(wait_s: Wait = 5.0) -> JSONResponse:
        return await orders.stop(wait_s)

    @router.post("/jog", response_model=CommandResponse, summary="Go towards these joint angles from now on")
    async def jog(body: payloads.JogBody, operator: Operator = NO_OPERATOR, wait_s: Wait = 5.0) -> JSONResponse:
        return await orders.give(commands.Jog(body.joints_rad), operator, wait_s)

    @router.post("/move_tool", response_model=CommandResponse, summary="Bring the tool centre point there")
    async def move_tool(
        body: payloads.MoveToolBody, operator: Operator = NO_OPERATOR, wait_s: Wait = 60.0
    ) -> JSONResponse:
        return await orders.give(commands.MoveTool(body.position_m, body.pitch_rad, body.yaw_rad), operator, wait_s)

    @router.post("/jaw", response_model=CommandResponse, summary="Open or close the jaw")
    async def jaw(
        body: payloads.FullJaw | payloads.JawGap | payloads.JawAngle,
        operator: Operator = NO_OPERATOR,
        wait_s: Wait = 60.0,
    ) -> JSONResponse:
        return await orders.give(commands.MoveJaw(**body.model_dump()), operator, wait_s)

    @router.post(
        "/pick", response_model=CommandResponse, summary="Grasp, lift and put back, or at a point of the table"
    )
    async def pick(
        body: payloads.PickBody | None = None, operator: Operator = NO_OPERATOR, wait_s: Wait = 120.0
    ) -> JSONResponse:
        return await orders.give(commands.Pick(body.place_m if body else None), operator, wait_s)

    for path, (kind, summary) in PLAIN.items():
        _add_plain(router, orders, path, kind, summary)
    return router


def _add_plain(router: APIRouter, orders: Orders, path: str, kind: type[Any], summary: str) -> None:
    async def call(
        body: payloads.Nothing | None = None, operator: Operator = NO_OPERATOR, wait_s: Wait = 60.0
    ) -> JSONResponse:
        return await orders.give(kind(), operator, wait_s)

    name = f"post{path.replace('/', '_')}"
    router.add_api_route(
        path, call, methods=["POST"], summary=summary, operation_id=name, response_model=CommandResponse
    )


def task_routes(orders: Orders) -> APIRouter:
    """Tasks, scenes, faults, recordings and replays."""
    router = APIRouter(tags=["task"], responses={**GUARDED, **COMMANDED})
    bench = orders.bench

    @router.get("/tasks", response_model=Tasks, summary="What this robot can do")
    async def tasks() -> JSONResponse:
        return JSONResponse({"task": bench.session().snapshot.task, "tasks": _named(bench.tasks)})

    @router.post("/task", response_model=CommandResponse, summary="Turn to another task, with a scene of its own")
    def task(body: payloads.NameBody, operator: Operator = NO_OPERATOR) -> JSONResponse:
        lease = bench.session().lease
        if not lease.take(operator):
            return held(lease.holder)
        if body.name not in bench.tasks:
            return JSONResponse(answer(Refused(reason=f"no task {body.name!r} of this robot; see /tasks")))
        return JSONResponse(answer(bench.change_task(body.name)))

    @router.post("/run", response_model=CommandResponse, summary="Run the task from a fresh scene")
    async def run(
        body: payloads.SeedBody | None = None, operator: Operator = NO_OPERATOR, wait_s: Wait = 0.0
    ) -> JSONResponse:
        return await orders.give(commands.RunTask(body.seed if body else None), operator, wait_s)

    @router.post("/reset", response_model=CommandResponse, summary="Put the scene back to how a seed begins")
    async def reset(
        body: payloads.SeedBody | None = None, operator: Operator = NO_OPERATOR, wait_s: Wait = 30.0
    ) -> JSONResponse:
        return await orders.give(commands.ResetScene(body.seed if body else None), operator, wait_s)

    @router.get("/faults", response_model=list[Named], summary="What can go wrong on purpose")
    async def faults() -> JSONResponse:
        return JSONResponse(_named(bench.faults))

    @router.post("/fault", response_model=CommandResponse, summary="Let a fault strike now")
    async def fault(body: payloads.FaultBody, operator: Operator = NO_OPERATOR, wait_s: Wait = 5.0) -> JSONResponse:
        return await orders.give(commands.StrikeFault(body.name), operator, wait_s)

    @router.post("/answer", response_model=CommandResponse, summary="Answer the question the task has asked")
    async def answer_question(
        body: payloads.AnswerBody, operator: Operator = NO_OPERATOR, wait_s: Wait = 5.0
    ) -> JSONResponse:
        return await orders.give(commands.Answer(body.text), operator, wait_s)

    @router.post("/record", response_model=CommandResponse, summary="Record the episodes of tasks, or no longer")
    async def record(body: payloads.RecordBody, operator: Operator = NO_OPERATOR, wait_s: Wait = 5.0) -> JSONResponse:
        def act() -> Ticket | Result:
            if body.on and not bench.recording:
                return Refused(reason="this server does not record; start it with --record DIR")
            return orders.submit(commands.Record(body.on, bench.recording or "nowhere"))

        return await orders.let(operator, act, wait_s)

    @router.get("/episodes", response_model=list[str], summary="Recorded episodes that can be replayed")
    def episodes() -> JSONResponse:
        return JSONResponse(sorted(bench.episodes()))

    @router.post("/replay", response_model=CommandResponse, summary="Play a recorded episode again")
    def replay(body: payloads.NameBody, operator: Operator = NO_OPERATOR) -> JSONResponse:
        lease = bench.session().lease
        if not lease.take(operator):
            return held(lease.holder)
        known = bench.episodes()
        if body.name not in known:
            return JSONResponse(answer(Refused(reason=f"no episode {body.name!r}; see /episodes")))
        ticket = orders.submit(known[body.name]())
        result = ticket.result() if ticket.done else Done(text=f"replaying {body.name}")
        return JSONResponse(answer(result))

    return router


def object_routes(orders: Orders) -> APIRouter:
    """The state, the objects and the variables of the grasp."""
    router = APIRouter(tags=["state"], responses=GUARDED)
    bench = orders.bench

    @router.get("/state", response_model=State, summary="The newest snapshot")
    async def state() -> Response:
        return Response(json.dumps(bench.session().snapshot.as_dict()), media_type="application/json")

    @router.get("/objects", response_model=list[ListedObject], summary="The objects as last seen")
    async def objects() -> JSONResponse:
        return JSONResponse([each.as_dict() for each in bench.session().snapshot.objects])

    @router.post(
        "/objects", response_model=CommandResponse, responses=COMMANDED, summary="Believe in an object detected outside"
    )
    async def post_object(
        body: payloads.ObjectBody, operator: Operator = NO_OPERATOR, wait_s: Wait = 5.0
    ) -> JSONResponse:
        return await orders.give(PostObject(**body.model_dump()), operator, wait_s)

    @router.delete(
        "/objects",
        response_model=CommandResponse,
        responses=COMMANDED,
        summary="Forget one object that was posted, or all",
    )
    async def withdraw(
        name: Annotated[str | None, Query(pattern="^[A-Za-z0-9_.-]{1,64}$")] = None,
        operator: Operator = NO_OPERATOR,
        wait_s: Wait = 5.0,
    ) -> JSONResponse:
        return await orders.give(commands.WithdrawObject(name), operator, wait_s)

    @router.post("/objects/select", response_model=CommandResponse, responses=COMMANDED, summary="Choose an object")
    async def select(body: payloads.NameBody, operator: Operator = NO_OPERATOR, wait_s: Wait = 5.0) -> JSONResponse:
        return await orders.give(commands.Select(body.name), operator, wait_s)

    @router.get("/variables", response_model=dict[str, float | bool | str | None], summary="The grasp's variables")
    async def variables() -> JSONResponse:
        return JSONResponse(bench.session().snapshot.as_dict()["variables"])

    @router.get(
        "/variables/{name}",
        response_model=CommandResponse,
        responses=problems(HTTPStatus.NOT_FOUND),
        summary="One of the grasp's variables",
    )
    async def variable(name: Annotated[str, Path(pattern="^[a-z_]{1,64}$")]) -> JSONResponse:
        known = bench.session().snapshot.as_dict()["variables"]
        if name not in known:
            message = f"no variable {name!r}; {nearest(name, known)}" if known else NO_CONSOLE
            return JSONResponse(CallProblem(message=message).model_dump(), HTTPStatus.NOT_FOUND)
        return read_value(name, known[name])

    @router.put(
        "/variables", response_model=CommandResponse, responses=COMMANDED, summary="Change variables of the grasp"
    )
    async def set_variables(
        body: Annotated[payloads.Variables, Body()], operator: Operator = NO_OPERATOR, wait_s: Wait = 5.0
    ) -> JSONResponse:
        return await orders.give(commands.SetVariables(body), operator, wait_s)

    return router


def lease_routes(orders: Orders) -> APIRouter:
    """One operator at a time."""
    router = APIRouter(prefix="/lease", tags=["lease"], responses=GUARDED)
    bench = orders.bench

    def lent(success: bool, message: str) -> JSONResponse:
        lease = bench.session().lease
        shown = {"success": success, "message": message, "holder": lease.holder, "left_s": lease.left_s}
        return JSONResponse(shown, HTTPStatus.OK if success else HTTPStatus.CONFLICT)

    @router.get("", response_model=Lent, summary="Which client is the operator")
    async def lease() -> JSONResponse:
        return lent(True, "")

    conflict: dict[int | str, dict[str, Any]] = {
        HTTPStatus.CONFLICT.value: {"model": Lent, "description": "Another client is the operator"}
    }

    @router.post("/take", response_model=Lent, responses=conflict, summary="Become the operator")
    async def take(operator: Operator = NO_OPERATOR) -> JSONResponse:
        taken = bench.session().lease.take(operator)
        return lent(taken, f"{operator} is the operator" if taken else "another client is the operator")

    @router.post("/renew", response_model=Lent, responses=conflict, summary="Stay the operator")
    async def renew(operator: Operator = NO_OPERATOR) -> JSONResponse:
        kept = bench.session().lease.renew(operator)
        return lent(kept, "kept" if kept else f"{operator} is not the operator")

    @router.post("/release", response_model=Lent, responses=conflict, summary="Be the operator no longer")
    async def release(operator: Operator = NO_OPERATOR) -> JSONResponse:
        released = bench.session().lease.release(operator)
        return lent(released, "released" if released else f"{operator} is not the operator")

    return router


def _named(about: Any) -> list[dict[str, str]]:
    return [{"name": name, "about": text} for name, text in about.items()]
