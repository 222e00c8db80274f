"""What every call is answered with, in the shape of a ROS Trigger: success, a message for people, data for programs."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from graspline.evidence import Evidence, failures
from graspline.serve.live.snapshot import Mode
from graspline.tasks.console import Done, Result, plain


class Measured(BaseModel):
    """A measurement beside its limit; a value that could not be measured is null."""

    name: str
    value: float | None
    relation: str
    limit: float | None
    unit: str
    passed: bool


class CommandResponse(BaseModel):
    """How a command went, with its own data beside these fields.

    A refusal names what was checked, at which stage, what was measured beside its limit, and the nearest pose that
    would pass, as far as there are such.
    """

    model_config = ConfigDict(extra="allow")

    success: bool
    message: str
    # False where the command is still under way: see the state for how it goes on.
    ended: bool = True
    check: str | None = None
    stage: str | None = None
    measured: float | None = None
    limit: float | None = None
    unit: str | None = None
    nearest: dict[str, Any] | None = None
    evidence: list[Measured] = []


class CallProblem(BaseModel):
    """A call that was not taken, and why."""

    success: bool = False
    message: str


class Held(CallProblem):
    """Another client is the operator."""

    holder: str


class Lent(BaseModel):
    """Which client is the operator, and for how long without renewal."""

    success: bool
    message: str
    holder: str
    left_s: float


class Framed(BaseModel):
    """A pose in the world."""

    position_m: list[float | None]
    quaternion: list[float | None]


class TransitionEntry(BaseModel):
    """A state that has ended, and where its outcome led."""

    t_s: float | None
    state: str
    outcome: str
    then: str


class ListedObject(BaseModel):
    """An object as the session knows it."""

    name: str
    position_m: list[float | None]
    size_m: list[float | None]
    yaw_rad: float | None
    shape: str
    time_s: float | None
    posted: bool
    stale: bool


class State(BaseModel):
    """One instant of the session; `graspline.serve.live.snapshot.SessionSnapshot` says what each field means."""

    number: int
    task: str
    seed: int
    robot: str
    time_s: float | None
    behind_s: float | None
    mode: Mode
    doing: str
    state: str
    joints_rad: list[float | None]
    command_rad: list[float | None]
    tcp: Framed
    gripper: Framed
    tool_mid_m: list[float | None]
    jaw_gap_m: float | None
    jaw_rad: float | None
    pad_forces_n: list[float | None]
    targets: list[str]
    evidence: list[Measured]
    history: list[TransitionEntry]
    retries: dict[str, int]
    verdict: str
    reset_required: bool
    message: str
    question: str
    options: list[str]
    default: str
    answer_within_s: float | None
    selected: str
    objects: list[ListedObject]
    variables: dict[str, float | bool | str | None]
    operator: str
    recording: str
    teleop: Literal["", "recording", "ending"]
    goal_met: bool
    episodes: int


def answer(result: Result) -> dict[str, Any]:
    """A command's result as the fields of a `CommandResponse`."""
    if isinstance(result, Done):
        return {**_spread(result.data), "success": True, "message": result.text, "ended": True}
    return refusal(result.reason, result.evidence, result.data)


def refusal(reason: str, evidence: Evidence = (), data: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The answer to a command that was refused."""
    given = _spread(data or {})
    failed = failures(evidence)
    if failed:
        worst = plain(failed[0].as_dict())
        given = {"check": worst["name"], "measured": worst["value"], **given}
        given = {"limit": worst["limit"], "unit": worst["unit"], **given}
    listed = [plain(each.as_dict()) for each in evidence]
    return {**given, "success": False, "message": reason, "ended": True, "evidence": listed}


def under_way(doing: str) -> dict[str, Any]:
    """The answer to a command that has begun."""
    return {"success": True, "message": doing, "ended": False}


def _spread(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in plain(data).items() if key not in ("success", "message", "ended", "evidence")}


def problems(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """What calls may be answered with besides success, for the description."""
    return {status.value: {"model": CallProblem, "description": status.phrase} for status in statuses}


# The guard may answer any call with these.
GUARDED = problems(
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.TOO_MANY_REQUESTS,
)
# And commands besides with these.
COMMANDED: dict[int | str, dict[str, Any]] = {
    HTTPStatus.ACCEPTED.value: {"model": CommandResponse, "description": "Still under way when the wait was over"},
    HTTPStatus.CONFLICT.value: {"model": Held, "description": "Another client is the operator"},
}
