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


class Body(BaseModel):
    """The body of a request; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Nothing(Body):
    """No parameters."""


class JogBody(Body):
    """Joint positions to go to."""

    joints_rad: Annotated[tuple[Number, ...], Field(min_length=1, max_length=16)]


class MoveToolBody(Body):
    """A tool pose to go to."""

    position_m: tuple[Number, Number, Number]
    pitch_rad: Number
    yaw_rad: Number | None = None


class FullJaw(Body):
    """To an end of the jaw's range."""

    full: Literal["open", "close"]


class JawGap(Body):
    """To a gap between the fingertips."""

    gap_m: Number


class JawAngle(Body):
    """A jaw angle to go to."""

    rad: Number


class SeedBody(Body):
    """The seed of the next scene."""

    seed: Seed | None = None


class FaultBody(Body):
    """A fault to inject."""

    name: Word


class RecordBody(Body):
    """Whether episodes are recorded."""

    on: StrictBool


class AnswerBody(Body):
    """The answer to the task's question."""

    text: Word


class PickBody(Body):
    """Where to put the object that is picked."""

    place_m: tuple[Number, Number] | None = None


class NameBody(Body):
    """The name of an object or a task."""

    name: Word


class ObjectBody(Body):
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


class TargetBody(Body):
    """The object to select; without it, the parameter of that name."""

    ik_target: Word | None = None


class OpenClearanceBody(Body):
    """How much wider than the object the jaw opens."""

    jaw_open_clearance_mm: Number | None = None


class CloseClearanceBody(Body):
    """How much narrower than the object the jaw closes."""

    jaw_close_clearance_mm: Number | None = None


class TcpClearanceBody(Body):
    """The distance of the tool centre point from the object."""

    tcp_clearance_mm: Number | None = None


class UpperBody(Body):
    """The upper end of a range."""

    range_upper_rad: Number | None = None


class LowerBody(Body):
    """The lower end of a range."""

    range_lower_rad: Number | None = None


class WordValue(Body):
    """A text value."""

    value: Word


class NumberValue(Body):
    """A number."""

    value: Number


Variables = Annotated[dict[Word, StrictBool | Number | Annotated[str, Field(max_length=64)]], Field(max_length=32)]
