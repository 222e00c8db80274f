"""What was found, as plain values: for the terminal, the page and JSON."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Whether scenes are compared whole, or by the object alone that is grasped.
Comparison = Literal["scene", "object"]

# What a dataset should keep to: spread of every joint at the grasp, and way of the wrist over the least.
GOOD_SPREAD_DEG = 15.0
GOOD_TURN_RATIO = 1.2
# Neighbours that choose otherwise are ties while most scenes have none, or few more than the least turn would give.
MOST_TIES = 0.5
TIES_OVER_LEAST_TURN = 1.2
# Scenes farther apart than this are not similar enough for their difference to be a choice.
SIMILAR_MM = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Middle:
    """Median and 90th percentile of some values; nan of none."""

    median: float
    p90: float

    @classmethod
    def of(cls, values: Array) -> Middle:
        """The middle of the values that are not NaN."""
        known = values[~np.isnan(values)]
        if not len(known):
            return cls(median=float("nan"), p90=float("nan"))
        median, p90 = np.quantile(known, (0.5, 0.9))
        return cls(median=float(median), p90=float(p90))


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSpread:
    """Spread of one joint among similar scenes at the first grasp."""

    joint: str
    unit: str
    spread: Middle
    # With the yaw of the object taken out of the roll joint; of other joints the same.
    chosen: Middle
    # Median of `chosen` over scenes none of whose neighbours chose otherwise.
    outside_ties: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Of scenes and others that are this similar to them, how many chose otherwise."""

    from_mm: float
    to_mm: float
    pairs: int
    otherwise: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties:
    """Scenes some of whose neighbours chose otherwise."""

    scenes: int
    # Distance to the nearest scene that chose otherwise, of these scenes.
    nearest_mm: Middle
    by_distance: tuple[Pairs, ...]
    # The same share if every hand had taken the grasp of the least roll in the same scenes, and the median spread of
    # the roll joint then; None where any roll is as good.
    least_turn_scenes: int | None
    least_turn_spread: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDifference:
    """Spread among similar scenes within one state, or over the whole time if it has no name."""

    state: str
    # Share of all frames.
    share: float
    joints: dict[str, Middle]

    def widest(self, units: dict[str, str]) -> tuple[str, Middle] | None:
        """The joint that turns and differs most."""
        turning = {name: each for name, each in self.joints.items() if units[name] == "deg" and each.median >= 0}
        return max(turning.items(), key=lambda each: each[1].median, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointTurn:
    """Way of one joint from the start to the first grasp, beside the least."""

    joint: str
    unit: str
    path: Middle
    least: Middle
    # Of each episode its way over its least way, which counts at least 1 degree or millimetre.
    ratio: Middle

    @property
    def of_medians(self) -> float:
        """Not a number where next to no way was needed."""
        return self.path.median / self.least.median if self.least.median >= 1.0 else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenePoint:
    """One scene, for pictures: where the grasped object lay, how far the hand rolled, and how far it had to."""

    x_mm: float
    y_mm: float
    roll: float
    least_roll: float
    tied: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneFindings:
    """What compares episodes by the scenes they start in."""

    scenes: int
    # Episodes that could not be compared: nothing was held, or too few scenes of the same objects.
    without_grasp: int
    without_neighbours: int
    neighbours: int
    by: Comparison
    # Of each scene, to the last of its neighbours.
    distance_mm: Middle
    roll: str
    joints: tuple[JointSpread, ...]
    ties: Ties
    states: tuple[StateDifference, ...]
    whole: StateDifference
    turns: tuple[JointTurn, ...]
    points: tuple[ScenePoint, ...]

    @property
    def roll_turn(self) -> JointTurn:
        """How far the roll joint turns."""
        return next(each for each in self.turns if each.joint == self.roll)

    @property
    def similar(self) -> bool:
        """Whether neighbours are so similar that they can be judged."""
        return self.distance_mm.median <= SIMILAR_MM

    @property
    def most_ties(self) -> int:
        """Scenes that may have a neighbour that chose otherwise, for these to be ties."""
        return int(max(MOST_TIES * self.scenes, TIES_OVER_LEAST_TURN * (self.ties.least_turn_scenes or 0)))

    @property
    def few_ties(self) -> bool:
        """Whether ties are no more frequent than allowed."""
        return self.ties.scenes <= self.most_ties

    def judged_spread(self, joint: JointSpread) -> float:
        """The median over scenes outside ties; over all of them if there are too many for ties."""
        return joint.outside_ties if self.few_ties else joint.chosen.median

    def spread_is_good(self, joint: JointSpread) -> bool | None:
        """Within 15 degrees; None if neighbours are too different to tell."""
        return self.judged_spread(joint) <= GOOD_SPREAD_DEG if self.similar else None

    @property
    def turn_is_good(self) -> bool | None:
        """Within 1.2 times the least; None where any roll is as good."""
        ratio = self.roll_turn.ratio.median
        return None if np.isnan(ratio) else ratio <= GOOD_TURN_RATIO


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSpeed:
    """Speed of one joint's action over the frames in which it moves, and its jerk over all of them."""

    joint: str
    unit: str
    median: float
    p95: float
    jerk_p95: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedIn:
    """Pauses that begin in one state, and the time paused in it, of all episodes together."""

    state: str
    pauses: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """How episodes move."""

    still_per_s: float
    frames: Middle
    seconds: Middle
    # Of all episodes together.
    pauses: int
    pauses_per_episode: float
    paused_s_per_episode: float
    # By state, the longest first.
    paused_in: tuple[PausedIn, ...]
    # Shares of all frames in which nothing moves: before the first motion, between motions, after the last one.
    idle_first: float
    idle_middle: float
    idle_last: float
    joints: tuple[JointSpeed, ...]
    # Of the tool, mm/s; nan where it is not known.
    tool_median: float
    tool_p95: float

    @property
    def idle(self) -> float:
        """The share of frames in which nothing moves."""
        return self.idle_first + self.idle_middle + self.idle_last


@dataclass(frozen=True, slots=True, kw_only=True)
class TeachabilityFindings:
    """Everything that is measured of one dataset."""

    episodes: int
    frames: int
    fps: float
    pacing: Pacing
    # None where it is unknown; then `why` says why.
    scene: SceneFindings | None = None
    why: str = field(default="")

    def as_dict(self) -> dict[str, Any]:
        """For JSON: what is not a number is null."""
        plain = dataclasses.asdict(self)
        if self.scene is not None:
            turn = self.scene.roll_turn
            del plain["scene"]["points"]
            plain["scene"]["roll_turn_of_medians"] = turn.of_medians
            plain["scene"]["good"] = {
                "spread_at_grasp": {each.joint: self.scene.spread_is_good(each) for each in self.judged},
                "few_ties": self.scene.few_ties if self.scene.similar else None,
                "roll_turn": self.scene.turn_is_good,
            }
        return _finite(plain)

    @property
    def judged(self) -> tuple[JointSpread, ...]:
        """Joints whose spread has a limit: those that turn."""
        return () if self.scene is None else tuple(each for each in self.scene.joints if each.unit == "deg")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
