"""Guards: frozen values with one function from stacked rows to (fired, measured) that end a motion early.

The executor stacks the parameters of all lanes that carry the same kind of guard and evaluates them in one call. It
also remembers for how long a condition has held; a guard fires once it has held for `for_s`. A signal without data is
nan: it never fires and shows as absent in the evidence. Parameters of a lane that carries no such guard are nan, too,
so every comparison must be false for nan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, Measurement, Relation, at_least, at_most

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Measured = tuple[Array, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Live views of every lane's signals, (N, …), as guards see them."""

    joint_position: Array
    tool_position: Array
    # The tool's axes in the world, (N, axis, 3).
    tool_axes: Array
    # Force on the fixed and the moving pad, (N, 2, 3).
    pad_force: Array
    # The joint reference in force.
    command: Array
    # Position of the watched object by the watcher's estimator; nan while nothing is watched or seen.
    watched: Array
    # Variance of the watched object's horizontal distance from the tool over the last sightings; nan until enough.
    spread: Array
    # The same as `watched` for the place that is watched beside the object, such as a plate.
    place: Array
    jaw: int
    # Force and acceleration at the wrist, (N, 3) in the sensor's frame; nan where the robot has no such sensor.
    wrist_force: Array
    wrist_acceleration: Array
    # How strong the force on each pad is, (N, 2), as last felt.
    pad_force_n: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pad_force_n", np.empty(self.pad_force.shape[:2]))
        self.feel()

    def feel(self) -> None:
        """Measure once for all guards how strong the forces on the pads are now."""
        np.vecdot(self.pad_force, self.pad_force, out=self.pad_force_n)
        np.sqrt(self.pad_force_n, out=self.pad_force_n)


def _norm(rows: Array) -> Array:
    return np.sqrt(np.vecdot(rows, rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class BothPadsTouch:
    """Both pads feel at least this force."""

    force_n: float
    for_s: float = 0.0

    def parameters(self) -> tuple[float, ...]:
        """The guard's numbers, one row of the table that `evaluate` gets."""
        return (self.force_n,)

    @staticmethod
    def evaluate(rows: Rows, p: Array) -> tuple[Flags, Measured]:
        """In which rows the guard fires, and what it measured there."""
        forces = rows.pad_force_n
        weaker = np.minimum(forces[:, 0], forces[:, 1])
        return weaker >= p[:, 0], (weaker,)

    def evidence(self, measured: Sequence[float]) -> Evidence:
        """What was measured, beside the guard's limit."""
        return (at_least("weaker_pad_force", measured[0], self.force_n, "N"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnePadTouches:
    """One pad feels at least this force: the one named, whatever the other does."""

    pad: Literal["fixed", "moving"]
    force_n: float
    for_s: float = 0.0

    def parameters(self) -> tuple[float, ...]:
        """The guard's numbers, one row of the table that `evaluate` gets."""
        return (self.force_n, 0.0 if self.pad == "fixed" else 1.0)

    @staticmethod
    def evaluate(rows: Rows, p: Array) -> tuple[Flags, Measured]:
        """In which rows the guard fires, and what it measured there."""
        forces = rows.pad_force_n
        force = np.where(p[:, 1] == 0.0, forces[:, 0], forces[:, 1])
        return force >= p[:, 0], (force,)

    def evidence(self, measured: Sequence[float]) -> Evidence:
        """What was measured, beside the guard's limit."""
        return (at_least(f"{self.pad}_pad_force", measured[0], self.force_n, "N"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForceAbove:
    """A pad feels more than this force: a finger stands on something, or the grip is far too hard."""

    force_n: float
    for_s: float = 0.0

    def parameters(self) -> tuple[float, ...]:
        """The guard's numbers, one row of the table that `evaluate` gets."""
        return (self.force_n,)

    @staticmethod
    def evaluate(rows: Rows, p: Array) -> tuple[Flags, Measured]:
        """In which rows the guard fires, and what it measured there."""
        forces = rows.pad_force_n
        stronger = np.maximum(forces[:, 0], forces[:, 1])
        return stronger > p[:, 0], (stronger,)

    def evidence(self, measured: Sequence[float]) -> Evidence:
        """What was measured, beside the guard's limit."""
        return (at_most("pad_force", measured[0], self.force_n, "N"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldLost:
    """Nothing is between the pads any more: one feels nothing, or the jaw has closed past the object's width.

    It reads jaw and pads only, so it works with any perception. An arm without a wrist force sensor cannot weigh a
    light object; that signal is left out rather than passed.
    """

    # The jaw angle below which what was gripped no longer fits.
    least_jaw_rad: float
    force_n: float
    for_s: float = 0.05

    def parameters(self) -> tuple[float, ...]:
        """The guard's numbers, one row of the table that `evaluate` gets."""
        return (self.least_jaw_rad, self.force_n)

    @staticmethod
    def evaluate(rows: Rows, p: Array) -> tuple[Flags, Measured]:
        """In which rows the guard fires, and what it measured there."""
        forces = rows.pad_force_n
        weaker = np.minimum(forces[:, 0], forces[:, 1])
        jaw = rows.joint_position[:, rows.jaw]
        return (weaker < p[:, 1]) | (jaw < p[:, 0]), (weaker, jaw)

    def evidence(self, measured: Sequence[float]) -> Evidence:
        """What was measured, beside the guard's limit."""
        return (
            at_least("weaker_pad_force", measured[0], self.force_n, "N"),
            at_least("jaw_angle", measured[1], self.least_jaw_rad, "rad"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackingError:
    """The arm's joints together are further from their reference than this: something is in the way.

    A joint that is held back falls behind over many ticks, so this is looked at on every third.
    """

    error_rad: float = 0.08
    for_s: float = 0.05

    def parameters(self) -> tuple[float, ...]:
        """The guard's numbers, one row of the table that `evaluate` gets."""
        return (self.error_rad,)

    @staticmethod
    def evaluate(rows: Rows, p: Array) -> tuple[Flags, Measured]:
        """In which rows the guard fires, and what it measured there."""
        # The jaw is left out: it is meant to be held off its reference by what it grips.
        error = _norm(rows.joint_position[:, : rows.jaw] - rows.command[:, : rows.jaw])
        return error > p[:, 0], (error,)

    def evidence(self, measured: Sequence[float]) -> Evidence:
        """What was measured, beside the guard's limit."""
        return (at_most("tracking_error", measured[0], self.error_rad, "rad"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedHeight:
    """The tool is at or above this height (`rising`), or at or below it."""

    height_m: float
    rising: bool = True
    for_s: float = 0.0

    def parameters(self) -> tuple[float, ...]:
        """The guard's numbers, one row of the table that `evaluate` gets."""
        return (self.height_m, 1.0 if self.rising else -1.0)

    @staticmethod
    def evaluate(rows: Rows, p: Array) -> tuple[Flags, Measured]:
        """In which rows the guard fires, and what it measured there."""
        height = rows.tool_position[:, 2]
        return (height - p[:, 0]) * p[:, 1] >= 0, (height,)

    def evidence(self, measured: Sequence[float]) -> Evidence:
        """What was measured, beside the guard's limit."""
        relation: Relation = ">=" if self.rising else "<="
        return (
            Measurement(name="tool_height", value=float(measured[0]), relation=relation, limit=self.height_m, unit="m"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Slipped:
    """The watched object has moved in the hand by more than this since it was gripped at `offset_m` (tool frame)."""

    offset_m: tuple[float, float, float]
    slip_m: float
    for_s: float = 0.05

    def parameters(self) -> tuple[float, ...]:
        """The guard's numbers, one row of the table that `evaluate` gets."""
        return (*self.offset_m, self.slip_m)

    @staticmethod
    def evaluate(rows: Rows, p: Array) -> tuple[Flags, Measured]:
        """In which rows the guard fires, and what it measured there."""
        relative = rows.watched - rows.tool_position
        in_hand = np.einsum("naj,nj->na", rows.tool_axes, relative)
        slip = _norm(in_hand - p[:, :3])
        return slip > p[:, 3], (slip,)

    def evidence(self, measured: Sequence[float]) -> Evidence:
        """What was measured, beside the guard's limit."""
        return (at_most("slip", measured[0], self.slip_m, "m"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """The hand has moved away from where it gripped, and the watched object followed less than `ratio` of the way."""

    hand_start_m: tuple[float, float, float]
    object_start_m: tuple[float, float, float]
    ratio: float = 0.7
    # Below this the ratio says nothing.
    travel_m: float = 0.01
    for_s: float = 0.05

    def parameters(self) -> tuple[float, ...]:
        """The guard's numbers, one row of the table that `evaluate` gets."""
        return (*self.hand_start_m, *self.object_start_m, self.ratio, self.travel_m)

    @staticmethod
    def evaluate(rows: Rows, p: Array) -> tuple[Flags, Measured]:
        """In which rows the guard fires, and what it measured there."""
        travel = _norm(rows.tool_position - p[:, 0:3])
        followed = _norm(rows.watched - p[:, 3:6])
        ratio = followed / np.maximum(travel, 1e-9)
        return (travel >= p[:, 7]) & (ratio < p[:, 6]), (ratio, travel)

    def evidence(self, measured: Sequence[float]) -> Evidence:
        """What was measured, beside the guard's limit."""
        # Before the hand has travelled far enough there is no ratio to speak of.
        ratio = measured[0] if measured[1] >= self.travel_m else np.nan
        return (at_least("movement_ratio", ratio, self.ratio),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """The watched object is farther from the tool than anything held can be, sideways or in height."""

    sideways_m: float
    height_m: float
    for_s: float = 0.05

    def parameters(self) -> tuple[float, ...]:
        """The guard's numbers, one row of the table that `evaluate` gets."""
        return (self.sideways_m, self.height_m)

    @staticmethod
    def evaluate(rows: Rows, p: Array) -> tuple[Flags, Measured]:
        """In which rows the guard fires, and what it measured there."""
        relative = rows.watched - rows.tool_position
        sideways, height = _norm(relative[:, :2]), np.abs(relative[:, 2])
        return (sideways > p[:, 0]) | (height > p[:, 1]), (sideways, height)

    def evidence(self, measured: Sequence[float]) -> Evidence:
        """What was measured, beside the guard's limit."""
        return (
            at_most("apart_sideways", measured[0], self.sideways_m, "m"),
            at_most("apart_in_height", measured[1], self.height_m, "m"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsteady:
    """The watched object's distance from the tool varies more than that of something held."""

    variance_m2: float
    for_s: float = 0.05

    def parameters(self) -> tuple[float, ...]:
        """The guard's numbers, one row of the table that `evaluate` gets."""
        return (self.variance_m2,)

    @staticmethod
    def evaluate(rows: Rows, p: Array) -> tuple[Flags, Measured]:
        """In which rows the guard fires, and what it measured there."""
        return rows.spread > p[:, 0], (rows.spread.copy(),)

    def evidence(self, measured: Sequence[float]) -> Evidence:
        """What was measured, beside the guard's limit."""
        return (at_most("distance_variance", measured[0], self.variance_m2, "m²"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectMoved:
    """The watched object is farther than this from where it lay when the motion was planned.

    A sighting at infinity says that the object is not where it lay, and nothing more.
    """

    lay_at_m: tuple[float, float, float]
    limit_m: float
    for_s: float = 0.0

    def parameters(self) -> tuple[float, ...]:
        """The guard's numbers, one row of the table that `evaluate` gets."""
        return (*self.lay_at_m, self.limit_m)

    @staticmethod
    def evaluate(rows: Rows, p: Array) -> tuple[Flags, Measured]:
        """In which rows the guard fires, and what it measured there."""
        moved = _norm(rows.watched - p[:, :3])
        return moved > p[:, 3], (moved,)

    def evidence(self, measured: Sequence[float]) -> Evidence:
        """What was measured, beside the guard's limit."""
        return (at_most("object_moved", _finite(measured[0]), self.limit_m, "m"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceMoved:
    """The watched place is farther than this from where it was when the motion was planned."""

    MEASURED: ClassVar[str] = "place_moved"
    was_at_m: tuple[float, float, float]
    limit_m: float
    for_s: float = 0.0

    def parameters(self) -> tuple[float, ...]:
        """The guard's numbers, one row of the table that `evaluate` gets."""
        return (*self.was_at_m, self.limit_m)

    @staticmethod
    def evaluate(rows: Rows, p: Array) -> tuple[Flags, Measured]:
        """In which rows the guard fires, and what it measured there."""
        moved = _norm(rows.place - p[:, :3])
        return moved > p[:, 3], (moved,)

    def evidence(self, measured: Sequence[float]) -> Evidence:
        """What was measured, beside the guard's limit."""
        return (at_most(self.MEASURED, _finite(measured[0]), self.limit_m, "m"),)


def _finite(measured: float) -> float:
    return measured if np.isfinite(measured) else np.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Tugged:
    """Something tugs at the hand: along `toward`, in the frame of the wrist's sensors, or up to `within_rad` off it.

    What hand and load weigh, and what it takes to move them, is not counted: `mass_kg` times the acceleration at the
    wrist, which knows of gravity, too. `bias_n` is what was left of the force when nothing tugged.
    """

    force_n: float
    toward: tuple[float, float, float]
    within_rad: float
    mass_kg: float
    bias_n: tuple[float, float, float] = (0.0, 0.0, 0.0)
    for_s: float = 0.04

    def parameters(self) -> tuple[float, ...]:
        """The guard's numbers, one row of the table that `evaluate` gets."""
        return (self.force_n, *self.toward, float(np.cos(self.within_rad)), self.mass_kg, *self.bias_n)

    @staticmethod
    def evaluate(rows: Rows, p: Array) -> tuple[Flags, Measured]:
        """In which rows the guard fires, and what it measured there."""
        tug = p[:, 5:6] * rows.wrist_acceleration - rows.wrist_force - p[:, 6:9]
        strength = _norm(tug)
        along = np.vecdot(tug, p[:, 1:4])
        counted = np.where(along >= p[:, 4] * strength, strength, 0.0)
        # An absent signal is no tug of zero.
        counted = np.where(np.isnan(strength), np.nan, counted)
        return counted >= p[:, 0], (counted,)

    def evidence(self, measured: Sequence[float]) -> Evidence:
        """What was measured, beside the guard's limit."""
        return (at_least("tug", measured[0], self.force_n, "N"),)


Guard = (
    BothPadsTouch
    | OnePadTouches
    | ForceAbove
    | HoldLost
    | TrackingError
    | ReachedHeight
    | Slipped
    | LeftBehind
    | Apart
    | Unsteady
    | ObjectMoved
    | PlaceMoved
    | Tugged
)
GuardKind = (
    type[BothPadsTouch]
    | type[OnePadTouches]
    | type[ForceAbove]
    | type[HoldLost]
    | type[TrackingError]
    | type[ReachedHeight]
    | type[Slipped]
    | type[LeftBehind]
    | type[Apart]
    | type[Unsteady]
    | type[ObjectMoved]
    | type[PlaceMoved]
    | type[Tugged]
)
FEEL_THE_PADS = (BothPadsTouch, OnePadTouches, ForceAbove, HoldLost)
FOLLOW_AN_OBJECT = (Slipped, LeftBehind, Apart, Unsteady, ObjectMoved)
FOLLOW_A_PLACE = (PlaceMoved,)
# Kinds that are looked at only once in this number of ticks of their motion.
EVERY: dict[GuardKind, int] = {TrackingError: 3}
