"""Which block seen in a picture is which of those seen before, on a belt whose speed may have changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graspline.perception.belt.blocks import BlockSeen
from graspline.perception.belt.box_fits import Size
from graspline.perception.belt.speed import BeltSpeed

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
InView = Callable[[float, float], bool]
Pairs = dict[int, int]

# A belt keeps blocks where they are across it and turned as they are: what is off by more than three standard
# deviations and this is another block, or one that was shoved.
_ACROSS_SLACK_M, _TURN_SLACK_RAD, _SIGMAS = 0.002, float(np.radians(3.0)), 3.0
# Along the belt, where a speed not quite known adds to it. Less than half of the smallest block, and so less than half
# of any spacing.
_ALONG_SLACK_M, _ALONG_MOST_M = 0.004, 0.016
# No belt runs faster.
_MOST_SPEED_M_S = 0.6
# A block that should be seen and is not weighs half of one that is. The belt is believed to have done something else
# than expected if that explains so much more.
_MISSING_WEIGHT, _BETTER = 0.5, 0.9
# A hand or another block may shove a block this far.
_SHOVED_M = 0.10
# What is left of a block's own way on the belt, beyond five standard deviations, is a small shove.
_NUDGE_SIGMAS, _NUDGE_M = 5.0, 0.0005


class ObservedBlock(Protocol):
    """What must be known of a block to recognise it."""

    @property
    def colour(self) -> str:
        """The name of the colour."""
        ...

    @property
    def size_m(self) -> Size:
        """The sizes along the object's own axes."""
        ...

    @property
    def x_m(self) -> float:
        """The position along x."""
        ...

    @property
    def y_m(self) -> float:
        """The position along y."""
        ...

    @property
    def time_s(self) -> float:
        """The simulated time."""
        ...

    @property
    def yaw_rad(self) -> float:
        """The rotation about the vertical."""
        ...

    @property
    def sigma_m(self) -> float:
        """The error of the position (1σ)."""
        ...

    @property
    def yaw_sigma_rad(self) -> float:
        """The error of the yaw (1σ)."""
        ...

    @property
    def last_seen_s(self) -> float:
        """When it was seen last."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """Known blocks by index to seen ones by theirs, those of them that were shoved, and how far the belt moved."""

    pairs: Pairs
    shoved: frozenset[int]
    travel_m: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Compared:
    """(K, S): how far seen blocks are from where known ones were; errors of a known block's place along the belt."""

    along_m: Array
    across_m: Array
    sigma_m: Array
    along_sigma_m: Array
    # Colour and size are the same; and so are the place across the belt and the heading.
    same: Flags
    alike: Flags
    colour: Flags


def match(
    known: Sequence[ObservedBlock],
    seen: Sequence[BlockSeen],
    direction: tuple[float, float],
    belt: BeltSpeed,
    time_s: float,
    in_view: InView,
) -> Matched:
    """One to one. Known blocks are where they were at one earlier time, which is the same for all of them."""
    if not known:
        return Matched(pairs={}, shoved=frozenset(), travel_m=0.0)
    passed = time_s - known[0].time_s
    expected = belt.speed_m_s * passed
    compared = _compare(known, seen, direction, belt, time_s)
    places = np.array([[each.x_m, each.y_m] for each in known])

    def explains(pairs: Pairs, travel: float) -> float:
        moved = places + travel * np.array(direction)
        missing = sum(k not in pairs and in_view(float(x), float(y)) for k, (x, y) in enumerate(moved))
        return len(pairs) - _MISSING_WEIGHT * missing

    travel, pairs = expected, _pairs(compared, expected)
    best = explains(pairs, travel) + _BETTER
    for other in _other_travels(compared, pairs, _MOST_SPEED_M_S * passed):
        tried = _pairs(compared, other)
        score = explains(tried, other)
        if score > best:
            best, travel, pairs = score, other, tried
    travel, shoved = _common(compared, pairs, travel, expected)
    jumped = _jumped(compared, pairs, travel, places + travel * np.array(direction), in_view)
    return Matched(pairs={**pairs, **jumped}, shoved=shoved | set(jumped), travel_m=travel)


def _compare(
    known: Sequence[ObservedBlock],
    seen: Sequence[BlockSeen],
    direction: tuple[float, float],
    belt: BeltSpeed,
    time_s: float,
) -> _Compared:
    here = np.array([[each.x_m, each.y_m] for each in known]).reshape(-1, 2)
    there = np.array([[each.x_m, each.y_m] for each in seen]).reshape(-1, 2)
    apart = there[None] - here[:, None]
    along = apart @ np.array(direction)
    across = apart @ np.array([-direction[1], direction[0]])
    own, others = np.array([each.sigma_m for each in known]), np.array([each.sigma_m for each in seen])
    sigma = np.hypot(own[:, None], others[None])
    unseen = np.array([time_s - each.last_seen_s for each in known])
    colour = np.array([[a.colour == b.colour for b in seen] for a in known], bool).reshape(along.shape)
    size = np.array([[a.size_m == b.size_m for b in seen] for a in known], bool).reshape(along.shape)
    straight = np.array([[_is_turned_alike(a, b) for b in seen] for a in known], bool).reshape(along.shape)
    same = colour & size
    return _Compared(
        along_m=along,
        across_m=across,
        sigma_m=sigma,
        along_sigma_m=np.hypot(sigma, (belt.sigma_m_s * unseen)[:, None]),
        same=same,
        alike=same & straight & (np.abs(across) <= _ACROSS_SLACK_M + _SIGMAS * sigma),
        colour=colour,
    )


def _is_turned_alike(known: ObservedBlock, seen: BlockSeen) -> bool:
    period = np.pi / 2 if seen.size_m[0] == seen.size_m[1] else np.pi
    turn = (seen.yaw_rad - known.yaw_rad + period / 2) % period - period / 2
    return abs(turn) <= _TURN_SLACK_RAD + _SIGMAS * float(np.hypot(seen.yaw_sigma_rad, known.yaw_sigma_rad))


def _pairs(compared: _Compared, travel_m: float) -> Pairs:
    """Those that moved so far with the belt, the nearest first."""
    off = np.abs(compared.along_m - travel_m)
    limit = np.minimum(_ALONG_SLACK_M + _SIGMAS * compared.along_sigma_m, _ALONG_MOST_M)
    # A block of which the size was mistaken once is still itself if it is where it should be.
    mistaken = compared.colour & (np.abs(compared.across_m) <= _ALONG_SLACK_M) & (off <= _ALONG_SLACK_M)
    fits = (compared.alike & (off <= limit)) | mistaken
    cost = np.where(fits, np.hypot(off, compared.across_m) + np.where(compared.alike, 0.0, 1.0), np.inf)
    return _one_to_one(cost)


def _one_to_one(cost: Array) -> Pairs:
    """The cheapest pair, then the cheapest of what is left, and so on; infinite costs are left out."""
    pairs: Pairs = {}
    taken: set[int] = set()
    for flat in np.argsort(cost, axis=None, kind="stable"):
        k, s = divmod(int(flat), cost.shape[1])
        if not np.isfinite(cost[k, s]):
            break
        if k not in pairs and s not in taken:
            pairs[k] = s
            taken.add(s)
    return pairs


def _other_travels(compared: _Compared, pairs: Pairs, most_m: float) -> list[float]:
    """How far the belt may have moved instead, were a block that is not explained one of those that are missed."""
    open_pairs = compared.alike.copy()
    open_pairs[list(pairs)] = False
    open_pairs[:, list(pairs.values())] = False
    travels: list[float] = []
    for travel in sorted(compared.along_m[open_pairs & (np.abs(compared.along_m) <= most_m)].tolist(), key=abs):
        if all(abs(travel - other) > _ALONG_SLACK_M / 2 for other in travels):
            travels.append(travel)
    return travels


def _common(compared: _Compared, pairs: Pairs, travel_m: float, expected_m: float) -> tuple[float, frozenset[int]]:
    """How far the blocks moved that moved alike, and which did not."""
    if not pairs:
        return travel_m, frozenset()
    ways = np.array([compared.along_m[pair] for pair in pairs.items()])
    # Of two that disagree, the one is believed that did as expected.
    common = float(np.median(ways)) if len(ways) > 2 else float(ways[np.argmin(np.abs(ways - expected_m))])
    nudged = [
        k
        for (k, s), way in zip(pairs.items(), ways, strict=True)
        if abs(way - common) > _NUDGE_M + _NUDGE_SIGMAS * compared.along_sigma_m[k, s]
    ]
    return common, frozenset(nudged)


def _jumped(compared: _Compared, pairs: Pairs, travel_m: float, moved: Array, in_view: InView) -> Pairs:
    """Blocks that are not where they should be, but nearby, when nothing else could be meant."""
    apart = np.hypot(compared.along_m - travel_m, compared.across_m)
    near = compared.same & (apart <= _SHOVED_M)
    near[:, list(pairs.values())] = False
    for k, (x, y) in enumerate(moved):
        if k in pairs or not in_view(float(x), float(y)):
            near[k] = False
    only = near & (near.sum(axis=0, keepdims=True) == 1) & (near.sum(axis=1, keepdims=True) == 1)
    return {int(k): int(s) for k, s in np.argwhere(only)}
