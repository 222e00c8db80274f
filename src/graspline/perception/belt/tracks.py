"""Blocks on a belt followed from picture to picture: which is which, where each will be, and how fast the belt runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from graspline.errors import InputError
from graspline.perception.belt.blocks import BlockSeen
from graspline.perception.belt.box_fits import Size
from graspline.perception.belt.matching import Matched, match
from graspline.perception.belt.speed import BeltSpeed, Mark, with_marks

InView = Callable[[float, float], bool]

# A place less certain than this says that something is there, not where.
_MOST_SIGMA_M = 0.005
# Something that uncertain, this near to where a block should be, may be that block.
_NEAR_M = 0.06
# Missing in this many pictures that should show it, a block is gone.
_MISSING = 3
# Not seen for so long, a block is forgotten: it has left any belt.
_FORGOTTEN_S = 30.0
# How a block wanders on its belt.
_WANDER_M_PER_ROOT_S, _TURN_RAD_PER_ROOT_S = 0.0002, 0.002
# Errors of one picture and the next are alike: many pictures are no better than four.
_ALIKE = 0.5
# Off by more standard deviations than this, a block is where it is seen, whatever was believed.
_SNAP = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTrack:
    """One block: where it is at `time_s`, moving with the belt."""

    number: int
    colour: str
    # The sizes it was seen to have, and how often.
    sizes: tuple[tuple[Size, int], ...]
    x_m: float
    y_m: float
    time_s: float
    velocity_m_s: tuple[float, float]
    speed_sigma_m_s: float
    # In the range of `BlockSeen`.
    yaw_rad: float
    # One standard deviation of each coordinate and of the heading when it was last seen.
    sigma_m: float
    yaw_sigma_rad: float
    last_seen_s: float
    sightings: int = 1
    # Pictures in a row that should show it and do not.
    missing: int = 0
    # How often it was shoved, which says nothing of the belt.
    shoved: int = 0

    @property
    def size_m(self) -> Size:
        """Full extents, as most pictures have it."""
        return max(self.sizes, key=lambda each: each[1])[0]

    def at(self, time_s: float) -> tuple[float, float]:
        """The middle of the block in W."""
        passed = time_s - self.time_s
        return self.x_m + self.velocity_m_s[0] * passed, self.y_m + self.velocity_m_s[1] * passed

    def sigma_at(self, time_s: float) -> float:
        """One standard deviation of each coordinate."""
        unseen = abs(time_s - self.last_seen_s)
        drift, wander = self.speed_sigma_m_s * unseen, _WANDER_M_PER_ROOT_S * unseen**0.5
        return float(np.sqrt(self.sigma_m**2 + drift**2 + wander**2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracks:
    """All blocks believed to be on the belt, and the belt."""

    # A unit vector in W along which the belt runs when its speed is more than 0.
    direction: tuple[float, float]
    belt: BeltSpeed
    alive: tuple[BlockTrack, ...] = ()
    # Of the last picture.
    time_s: float = -np.inf
    next_number: int = 1

    @property
    def speed_m_s(self) -> float:
        """The speed of the belt."""
        return self.belt.speed_m_s

    @property
    def speed_sigma_m_s(self) -> float:
        """The error of the belt's speed (1σ)."""
        return self.belt.sigma_m_s


def no_tracks(direction: tuple[float, float], speed_m_s: float = 0.05, speed_sigma_m_s: float = 0.05) -> Tracks:
    """Before the first picture: what the belt is said to do, and how wrong that may be."""
    length = float(np.hypot(*direction))
    if not length > 0:
        raise InputError(f"a belt's direction must not be zero, got {direction}")
    unit = direction[0] / length, direction[1] / length
    return Tracks(direction=unit, belt=BeltSpeed(speed_m_s=speed_m_s, sigma_m_s=speed_sigma_m_s))


def without(tracks: Tracks, number: int) -> Tracks:
    """The same without a block that has left the belt; what it showed of the belt stays."""
    return replace(tracks, alive=tuple(track for track in tracks.alive if track.number != number))


def follow(tracks: Tracks, seen: Sequence[BlockSeen], time_s: float, in_view: InView) -> Tracks:
    """What is believed after one more picture; `in_view` tells whether a block at (x, y) would be seen as a whole."""
    passed = time_s - tracks.time_s
    if not passed > 0:
        raise InputError(f"images must be in order of time: one at {time_s} s came after one at {tracks.time_s} s")
    sure = [each for each in seen if each.whole and each.sigma_m <= _MOST_SIGMA_M]
    vague = [each for each in seen if not (each.whole and each.sigma_m <= _MOST_SIGMA_M)]
    matched = match(tracks.alive, sure, tracks.direction, tracks.belt, time_s, in_view)
    belt = with_marks(tracks.belt, _marks(tracks, matched, sure, time_s), time_s, min(passed, 1e3))
    travel = matched.travel_m if belt.since_s != tracks.belt.since_s else belt.speed_m_s * passed
    alive = [_carried(tracks, track, belt, travel, time_s) for track in tracks.alive]
    for index, track in enumerate(alive):
        if index in matched.pairs:
            alive[index] = _seen_again(track, sure[matched.pairs[index]], tracks.direction, index in matched.shoved)
        elif in_view(track.x_m, track.y_m) and not _may_be(track, vague):
            alive[index] = replace(track, missing=track.missing + 1)
    kept = [each for each in alive if each.missing < _MISSING and time_s - each.last_seen_s < _FORGOTTEN_S]
    fresh = [each for index, each in enumerate(sure) if index not in set(matched.pairs.values())]
    news = [_begun(tracks, belt, tracks.next_number + k, each, time_s) for k, each in enumerate(fresh)]
    return replace(tracks, belt=belt, alive=(*kept, *news), time_s=time_s, next_number=tracks.next_number + len(news))


def _marks(tracks: Tracks, matched: Matched, sure: list[BlockSeen], time_s: float) -> tuple[Mark, ...]:
    """What this picture says of the belt. A block seen for the first time is marked, too."""
    numbers = {there: here for here, there in matched.pairs.items()}
    fresh = tracks.next_number
    marks: list[Mark] = []
    for index, each in enumerate(sure):
        if index in numbers:
            track = tracks.alive[numbers[index]]
            block = track.number, track.shoved + (numbers[index] in matched.shoved)
        else:
            block, fresh = (fresh, 0), fresh + 1
        along = each.x_m * tracks.direction[0] + each.y_m * tracks.direction[1]
        marks.append(Mark(block=block, time_s=time_s, along_m=along, sigma_m=each.sigma_m))
    return tuple(marks)


def _velocity(tracks: Tracks, belt: BeltSpeed) -> tuple[float, float]:
    return belt.speed_m_s * tracks.direction[0], belt.speed_m_s * tracks.direction[1]


def _carried(tracks: Tracks, track: BlockTrack, belt: BeltSpeed, travel_m: float, time_s: float) -> BlockTrack:
    """A track moved on by the belt to the time of this picture."""
    return replace(
        track,
        x_m=track.x_m + travel_m * tracks.direction[0],
        y_m=track.y_m + travel_m * tracks.direction[1],
        time_s=time_s,
        velocity_m_s=_velocity(tracks, belt),
        speed_sigma_m_s=belt.sigma_m_s,
    )


def _seen_again(track: BlockTrack, seen: BlockSeen, direction: tuple[float, float], shoved: bool) -> BlockTrack:
    """Belief and sighting weighed against each other, along the belt and across it, and the heading."""
    period = np.pi / 2 if seen.size_m[0] == seen.size_m[1] else np.pi
    apart = np.array([seen.x_m - track.x_m, seen.y_m - track.y_m])
    turn = (seen.yaw_rad - track.yaw_rad + period / 2) % period - period / 2
    believed, unseen = track.sigma_at(track.time_s), track.time_s - track.last_seen_s
    wander = float(np.hypot(track.sigma_m, _WANDER_M_PER_ROOT_S * unseen**0.5))
    turned = float(np.hypot(track.yaw_sigma_rad, _TURN_RAD_PER_ROOT_S * unseen**0.5))
    along = np.array(direction)
    across = np.array([-along[1], along[0]])
    shares = (
        _share(believed, seen.sigma_m, float(apart @ along)),
        _share(wander, seen.sigma_m, float(apart @ across)),
        _share(turned, seen.yaw_sigma_rad, float(turn)),
    )
    if shoved or seen.size_m != track.size_m:
        shares = 1.0, 1.0, 1.0
    moved = shares[0] * float(apart @ along) * along + shares[1] * float(apart @ across) * across
    yaw = track.yaw_rad + shares[2] * turn
    counts = dict(track.sizes)
    counts[seen.size_m] = counts.get(seen.size_m, 0) + 1
    return replace(
        track,
        sizes=tuple(counts.items()),
        x_m=track.x_m + float(moved[0]),
        y_m=track.y_m + float(moved[1]),
        yaw_rad=float(period / 2 - (period / 2 - yaw) % period),
        sigma_m=seen.sigma_m * float(np.sqrt(max(*shares[:2], _ALIKE**2))),
        yaw_sigma_rad=seen.yaw_sigma_rad * float(np.sqrt(max(shares[2], _ALIKE**2))),
        last_seen_s=track.time_s,
        sightings=track.sightings + 1,
        missing=0,
        shoved=track.shoved + shoved,
    )


def _share(believed_sigma: float, seen_sigma: float, apart: float) -> float:
    """How much of the way from belief to sighting the truth is thought to be."""
    if abs(apart) > _SNAP * float(np.hypot(believed_sigma, seen_sigma)):
        return 1.0
    return max(believed_sigma**2 / (believed_sigma**2 + seen_sigma**2), _ALIKE**2)


def _may_be(track: BlockTrack, vague: list[BlockSeen]) -> bool:
    near = (np.hypot(each.x_m - track.x_m, each.y_m - track.y_m) < _NEAR_M for each in vague)
    return any(near)


def _begun(tracks: Tracks, belt: BeltSpeed, number: int, seen: BlockSeen, time_s: float) -> BlockTrack:
    return BlockTrack(
        number=number,
        colour=seen.colour,
        sizes=((seen.size_m, 1),),
        x_m=seen.x_m,
        y_m=seen.y_m,
        time_s=time_s,
        velocity_m_s=_velocity(tracks, belt),
        speed_sigma_m_s=belt.sigma_m_s,
        yaw_rad=seen.yaw_rad,
        sigma_m=seen.sigma_m,
        yaw_sigma_rad=seen.yaw_sigma_rad,
        last_seen_s=time_s,
    )
