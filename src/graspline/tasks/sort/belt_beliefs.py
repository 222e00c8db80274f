"""What the states of `sort` hand to each other: beliefs about the belt, the catch in hand, and the tally."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, Measurement, at_least, at_most
from graspline.perception.belt.tracks import Tracks, without
from graspline.tasks.sort.hand_poses import DOWNSTREAM_M, UPSTREAM_M
from graspline.tasks.sort.parameters import Sort

Array = NDArray[np.float64]

# Blocks passed by this much are given up; a belt that runs backwards may bring them again. Those that were seen only
# once may have been nothing.
_PASSED_M, _RETURNED_M, _SEEN = 0.03, 0.5, 2
# A belt slower than this stands.
STANDING_M_S = 0.002
# The number of blocks in bins that are remembered.
_REMEMBERED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTally:
    """What has become of blocks, by what the task knows."""

    # Colours that were seen in the right bin, in that order.
    sorted: tuple[str, ...] = ()
    # Causes of those that were not.
    missed: tuple[str, ...] = ()
    ignored: int = 0
    # When grips were confirmed.
    gripped_s: tuple[float, ...] = ()

    @property
    def settled(self) -> int:
        """How many blocks are done with."""
        return len(self.sorted) + len(self.missed) + self.ignored

    def number_of(self, colour: str) -> int:
        """How many blocks of a colour were sorted."""
        return self.sorted.count(colour)

    @property
    def picks_per_min(self) -> float:
        """From the first grip to the last."""
        span_s = self.gripped_s[-1] - self.gripped_s[0] if len(self.gripped_s) > 1 else 0.0
        return 60 * (len(self.gripped_s) - 1) / span_s if span_s > 0 else 0.0

    def evidence(self, blocks: int, share: float) -> Evidence:
        """The whole account; what was not seen is missed, too."""
        wanted = blocks - self.ignored
        unseen = max(wanted - len(self.sorted) - len(self.missed), 0)
        causes = dict.fromkeys(self.missed, 0) | ({"unseen": unseen} if unseen else {})
        for cause in self.missed:
            causes[cause] += 1
        return (
            # Where every block is ignored nothing was sorted, and nothing shows that it could be.
            at_least("sorted_share", len(self.sorted) / wanted if wanted else 0.0, share),
            _count("blocks", blocks),
            at_least("wanted", wanted, 1),
            _count("sorted", len(self.sorted)),
            at_most("sorted_wrong", 0, 0),
            *(_count(f"missed_{cause}", count) for cause, count in sorted(causes.items())),
            _count("ignored", self.ignored),
            _count("picks_per_min", self.picks_per_min, "1/min"),
        )


def _count(name: str, value: float, unit: str = "") -> Measurement:
    """A number that is only reported."""
    return at_least(name, value, 0.0, unit)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pending:
    """A block that was let go over a bin and has not been seen there yet."""

    colour: str
    bin: str
    # Where it was let go, and when.
    point_m: Array
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenInBin:
    """A block that was seen in the bin of its colour for the first time, and where."""

    colour: str
    # How many of its colour have been seen there, this one included.
    number: int
    x_m: float
    y_m: float

    def __str__(self) -> str:
        return f"{self.colour} {self.number} at {self.x_m:.3f} {self.y_m:.3f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenInBins:
    """The blocks of one look at the bins that were seen there for the first time: what `sorted` is about."""

    blocks: tuple[SeenInBin, ...]

    def __str__(self) -> str:
        return ", ".join(str(each) for each in self.blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class BeltBeliefs:
    """Beliefs and tally."""

    tracks: Tracks
    tally: BlockTally = field(default_factory=BlockTally)
    # Blocks that were let go over a bin and have not been seen there yet, and the last ones that have.
    pending: tuple[Pending, ...] = ()
    placed: tuple[Pending, ...] = ()
    # Why blocks could not be taken when they were last considered, by track.
    refused: tuple[tuple[int, str], ...] = ()
    # When a block was last seen.
    active_s: float = 0.0

    def seeing(self, tracks: Tracks, time_s: float) -> BeltBeliefs:
        """After a look, which may have shown blocks."""
        seen = any(each.last_seen_s == time_s for each in tracks.alive)
        # Blocks on a belt that stands are no news, however long one looks at them.
        news = abs(tracks.speed_m_s) > STANDING_M_S or tracks.next_number != self.tracks.next_number
        return replace(self, tracks=tracks, active_s=time_s if seen and news else self.active_s)

    def refusing(self, refused: tuple[tuple[int, str], ...]) -> BeltBeliefs:
        """After these blocks could not be gone for, for these reasons."""
        return replace(self, refused=tuple({**dict(self.refused), **dict(refused)}.items()))

    def confirming(self, let_go: Pending) -> BeltBeliefs:
        """After a block was seen where it belongs."""
        return replace(
            self,
            tally=replace(self.tally, sorted=(*self.tally.sorted, let_go.colour)),
            pending=tuple(each for each in self.pending if each is not let_go),
            placed=(*self.placed, let_go)[-_REMEMBERED:],
        )


def given_up(line: BeltBeliefs, settings: Sort, time_s: float) -> BeltBeliefs:
    """Without blocks that have passed, each counted with the reason for which it was not taken."""
    for track in line.tracks.alive:
        downstream, (_, y) = -track.velocity_m_s[1] >= 0, track.at(time_s)
        if not (y < DOWNSTREAM_M - _PASSED_M if downstream else y > UPSTREAM_M + _RETURNED_M):
            continue
        tally = line.tally
        if track.sightings >= _SEEN and downstream:
            if settings.rules.bin_for(track.colour) is None:
                tally = replace(tally, ignored=tally.ignored + 1)
            else:
                tally = replace(tally, missed=(*tally.missed, dict(line.refused).get(track.number, "late")))
        line = replace(line, tracks=without(line.tracks, track.number), tally=tally)
    return line
