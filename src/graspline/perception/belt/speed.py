"""How fast a belt runs, from blocks seen on it again and again; a change of speed is noticed and the past forgotten."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

# Marks older than this say nothing of the present; a longer past would hardly sharpen a speed known to 0.3 %.
_WINDOW_S = 4.0
# The last pictures, this many, are compared with all before them.
_RECENT = (1, 2, 3, 5)
# Speeds this many standard deviations apart are two speeds. Ten pictures a second, four comparisons each: at 4 one in
# 15,000 would be false were errors normal.
_DIFFERENT = 4.5
# What is not known of a belt that is not watched: a motor's drift.
_DRIFT_M_S_PER_ROOT_S = 0.0005
_SIGMA_FLOOR_M_S = 0.0001


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A block seen once: which, when, and how far along the belt. A block that was shoved is another one."""

    block: tuple[int, int]
    time_s: float
    along_m: float
    sigma_m: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BeltSpeed:
    """Along the belt's direction, less than 0 where it runs backward; one standard deviation."""

    speed_m_s: float
    sigma_m_s: float
    # Marks from before are of another speed.
    since_s: float = -np.inf
    # The speed before that, as long as what is believed now is a mixture of both.
    before_m_s: float | None = None
    marks: tuple[Mark, ...] = ()

    @property
    def times_s(self) -> tuple[float, ...]:
        """Of the pictures with marks at this speed, in order."""
        return tuple(sorted({mark.time_s for mark in self.marks if mark.time_s >= self.since_s}))


def with_marks(belt: BeltSpeed, marks: tuple[Mark, ...], time_s: float, passed_s: float) -> BeltSpeed:
    """What is believed after one more picture, so long after the one before."""
    kept = tuple(mark for mark in belt.marks if mark.time_s > time_s - _WINDOW_S)
    held = float(np.hypot(belt.sigma_m_s, _DRIFT_M_S_PER_ROOT_S * np.sqrt(max(passed_s, 0.0))))
    belt = replace(belt, marks=(*kept, *marks), sigma_m_s=held)
    now = _unless_changed(_without_mixture(belt)) if marks else belt
    found = _fit(now.marks, now.since_s, np.inf)
    if found is None:
        return now
    speed, sigma = found.speed_m_s, max(found.sigma_m_s, _SIGMA_FLOOR_M_S)
    if now.before_m_s is not None:
        # Of all speeds between the old one and one twice as far from it.
        sigma = float(np.hypot(sigma, speed - now.before_m_s))
    elif sigma > held and now.since_s == belt.since_s and abs(speed - belt.speed_m_s) < _DIFFERENT * sigma:
        # What was known before is known better.
        return now
    return replace(now, speed_m_s=speed, sigma_m_s=sigma)


def _without_mixture(belt: BeltSpeed) -> BeltSpeed:
    """Forget the picture before a change once there are two after it: on the way between, the belt had both speeds."""
    times = belt.times_s
    if belt.before_m_s is None or len(times) < 3:
        return belt
    return replace(belt, since_s=times[1], before_m_s=None)


def _unless_changed(belt: BeltSpeed) -> BeltSpeed:
    """The past forgotten up to the picture before and after which one speed each explains the marks best."""
    times = belt.times_s
    least, since = np.inf, None
    for count in _RECENT:
        if len(times) <= count:
            break
        recent = _fit(belt.marks, times[-1 - count], np.inf)
        if recent is None:
            continue
        before = _fit(belt.marks, belt.since_s, times[-1 - count])
        before = before or _Fit(speed_m_s=belt.speed_m_s, sigma_m_s=belt.sigma_m_s, misfit=0.0)
        apart = abs(recent.speed_m_s - before.speed_m_s) / float(np.hypot(recent.sigma_m_s, before.sigma_m_s))
        if apart > _DIFFERENT and recent.misfit + before.misfit < least:
            least, since = recent.misfit + before.misfit, times[-1 - count]
    if since is None:
        return belt
    return replace(belt, since_s=since, before_m_s=belt.speed_m_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    speed_m_s: float
    sigma_m_s: float
    # The sum of squares of what is left, in standard deviations.
    misfit: float


def _fit(marks: tuple[Mark, ...], from_s: float, to_s: float) -> _Fit | None:
    """The one speed of all blocks, each with a place of its own; None if no block was seen twice."""
    blocks: dict[tuple[int, int], list[Mark]] = {}
    for mark in marks:
        if from_s <= mark.time_s <= to_s:
            blocks.setdefault(mark.block, []).append(mark)
    moment = spread = square = 0.0
    for seen in blocks.values():
        if len(seen) < 2:
            continue
        rows = np.array([(mark.time_s, mark.along_m, mark.sigma_m) for mark in seen])
        weights = rows[:, 2] ** -2.0
        lever, place = (rows[:, :2] - weights @ rows[:, :2] / weights.sum()).T
        moment += float((weights * lever) @ place)
        spread += float((weights * lever) @ lever)
        square += float((weights * place) @ place)
    if not spread > 0:
        return None
    speed = moment / spread
    return _Fit(speed_m_s=speed, sigma_m_s=spread**-0.5, misfit=max(square - speed * moment, 0.0))
