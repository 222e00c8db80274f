"""Driving by hand as calls, and recording what is driven."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import Field, StrictBool

from graspline.serve.http.operator_commands import NO_OPERATOR, Operator, Orders, Wait
from graspline.serve.http.payloads import Nothing, Number, RequestBody, SeedBody
from graspline.serve.http.response_models import COMMANDED, GUARDED, CommandResponse
from graspline.serve.live.commands import BeginTeleop, Drive, EndTeleop, KeepDriving, ToolTarget
from graspline.serve.live.driving import DEAD_MAN_S
from graspline.serve.live.steps import FASTEST_M_S, FASTEST_RAD_S

_Linear = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-FASTEST_M_S, le=FASTEST_M_S)]
_Turn = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-FASTEST_RAD_S, le=FASTEST_RAD_S)]
_Share = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1.0, le=1.0)]


class ToolPoseBody(RequestBody):
    """A pose of the tool in the world; without a quaternion (w first) it keeps its rotation."""

    position_m: tuple[Number, Number, Number]
    quaternion: tuple[Number, Number, Number, Number] | None = None


class DriveBody(RequestBody):
    """Rates of the tool, a target for it, or rates of joints; and the jaw with any of them. Nothing at all lets go."""

    linear_m_s: tuple[_Linear, _Linear, _Linear] = (0.0, 0.0, 0.0)
    frame: Literal["world", "tool"] = "world"
    turn_rad_s: _Turn = 0.0
    tilt_rad_s: _Turn = 0.0
    jaw: _Share = 0.0
    target: ToolPoseBody | None = None
    joints_rad_s: Annotated[tuple[Number, ...], Field(min_length=1, max_length=16)] | None = None
    # Go on with what was driven last, whatever else is here.
    keep: StrictBool = False

    def command(self) -> Drive | KeepDriving:
        """The command that the body asks for."""
        if self.keep:
            return KeepDriving()
        target = self.target
        return Drive(
            linear_m_s=self.linear_m_s,
            frame=self.frame,
            turn_rad_s=self.turn_rad_s,
            tilt_rad_s=self.tilt_rad_s,
            jaw=self.jaw,
            target=None if target is None else ToolTarget(position_m=target.position_m, quaternion=target.quaternion),
            joints_rad_s=self.joints_rad_s,
        )


def drive_routes(orders: Orders) -> APIRouter:
    """What moves the arm while it is repeated, and what records it."""
    router = APIRouter(tags=["drive"], responses={**GUARDED, **COMMANDED})

    @router.post("/drive", response_model=CommandResponse, summary=f"Move at these rates for up to {DEAD_MAN_S:g} s")
    async def drive(body: DriveBody, operator: Operator = NO_OPERATOR, wait_s: Wait = 5.0) -> JSONResponse:
        return await orders.give(body.command(), operator, wait_s)

    @router.post("/teleop/start", response_model=CommandResponse, summary="Reset the scene and record what is driven")
    async def start(
        body: SeedBody | None = None, operator: Operator = NO_OPERATOR, wait_s: Wait = 60.0
    ) -> JSONResponse:
        return await orders.give(BeginTeleop(body.seed if body else None), operator, wait_s)

    @router.post("/teleop/finish", response_model=CommandResponse, summary="End the episode, judge it and keep it")
    async def finish(
        body: Nothing | None = None, operator: Operator = NO_OPERATOR, wait_s: Wait = 60.0
    ) -> JSONResponse:
        return await orders.give(EndTeleop(), operator, wait_s)

    @router.post("/teleop/discard", response_model=CommandResponse, summary="End the episode and keep nothing of it")
    async def discard(
        body: Nothing | None = None, operator: Operator = NO_OPERATOR, wait_s: Wait = 60.0
    ) -> JSONResponse:
        return await orders.give(EndTeleop(keep=False), operator, wait_s)

    return router
