"""What calls may carry: every number bounded and finite, every word short, nothing unknown."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool


def _whole(value: object) -> object:
    """In JSON 3.0 is an integer, too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


# Strict, for `false` is no number and 1 is no answer.
Number = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1000.0, le=1000.0)]
Word = Annotated[str, Field(min_length=1, max_length=64)]
Seed = Annotated[int, Field(strict=True, ge=0, le=2**32 - 1), BeforeValidator(_whole)]


class RequestBody(BaseModel):
    """The body of a request; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Nothing(RequestBody):
    """No parameters."""


class JogBody(RequestBody):
    """Joint positions to go to."""

    joints_rad: Annotated[tuple[Number, ...], Field(min_length=1, max_length=16)]


class MoveToolBody(RequestBody):
    """A tool pose to go to."""

    position_m: tuple[Number, Number, Number]
    pitch_rad: Number
    yaw_rad: Number | None = None


class FullJaw(RequestBody):
    """To an end of the jaw's range."""

    full: Literal["open", "close"]


class JawGap(RequestBody):
    """To a gap between the fingertips."""

    gap_m: Number


class JawAngle(RequestBody):
    """A jaw angle to go to."""

    rad: Number


class SeedBody(RequestBody):
    """The seed of the next scene."""

    seed: Seed | None = None


class FaultBody(RequestBody):
    """A fault to inject."""

    name: Word


class RecordBody(RequestBody):
    """Whether episodes are recorded."""

    on: StrictBool


class AnswerBody(RequestBody):
    """The answer to the task's question."""

    text: Word


class PickBody(RequestBody):
    """Where to put the object that is picked."""

    place_m: tuple[Number, Number] | None = None


class NameBody(RequestBody):
    """The name of an object or a task."""

    name: Word


class ObjectBody(RequestBody):
    """An object that the caller has detected: a box, cylinder or ball with its pose, and when it was seen."""

    name: Annotated[str, Field(pattern="^[A-Za-z0-9_.-]{1,64}$")]
    position_m: tuple[Number, Number, Number]
    # w first.
    quaternion: tuple[Number, Number, Number, Number] = (1.0, 0.0, 0.0, 0.0)
    # Full edges.
    size_m: tuple[Number, Number, Number]
    # Simulated, as in /state; without it, now.
    time_s: Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0, le=1e9)] | None = None
    frame: Word = "world"
    shape: Word = "box"
    position_sigma_m: Number = 0.0


class TargetBody(RequestBody):
    """The object to select; without it, the parameter of that name."""

    ik_target: Word | None = None


class OpenClearanceBody(RequestBody):
    """How much wider than the object the jaw opens."""

    jaw_open_clearance_mm: Number | None = None


class CloseClearanceBody(RequestBody):
    """How much narrower than the object the jaw closes."""

    jaw_close_clearance_mm: Number | None = None


class TcpClearanceBody(RequestBody):
    """The distance of the tool centre point from the object."""

    tcp_clearance_mm: Number | None = None


class UpperBody(RequestBody):
    """The upper end of a range."""

    range_upper_rad: Number | None = None


class LowerBody(RequestBody):
    """The lower end of a range."""

    range_lower_rad: Number | None = None


class WordValue(RequestBody):
    """A text value."""

    value: Word


class NumberValue(RequestBody):
    """A number."""

    value: Number


Variables = Annotated[dict[Word, StrictBool | Number | Annotated[str, Field(max_length=64)]], Field(max_length=32)]
