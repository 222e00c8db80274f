"""Progress from 0 to 1 over time: jerk-limited by ruckig, or the cubic of one polynomial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import ruckig
from numpy.typing import NDArray

Array = NDArray[np.float64]
Scaling = Literal["ruckig", "cubic"]

# Peaks of the cubic 3 s² - 2 s³ over a time of 1.
CUBIC_SPEED, CUBIC_PUSH = 1.5, 6.0
_ONE = ruckig.Ruckig(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How fast progress may change: its first, second and third derivative."""

    speed: float
    push: float
    jerk: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TimeScaling:
    """From 0 to 1, at rest at both ends; at once where nothing is to be done."""

    duration_s: float
    # None for the cubic.
    profile: ruckig.Trajectory | None = None

    def at(self, times_s: Array) -> tuple[Array, Array]:
        """Progress and its rate at these times, (T,) each; 0 before it begins and 1 after it has ended."""
        if not self.duration_s:
            return np.where(times_s < 0.0, 0.0, 1.0), np.zeros_like(times_s)
        times = np.clip(times_s, 0.0, self.duration_s)
        if self.profile is None:
            share = times / self.duration_s
            return share * share * (3 - 2 * share), 6 * share * (1 - share) / self.duration_s
        phases = self.profile.profiles[0][0]
        begins = np.cumsum([0.0, *phases.t[:-1]])
        phase = np.searchsorted(begins, times, side="right") - 1
        t = times - begins[phase]
        p, v, a, j = (np.array(each)[phase] for each in (phases.p, phases.v, phases.a, phases.j))
        return np.clip(p + t * (v + t * (a / 2 + t * (j / 6))), 0.0, 1.0), v + t * (a + t * (j / 2))

    def when(self, progress: float) -> float:
        """The time at which this much is done."""
        if progress <= 0.0:
            return 0.0
        if progress >= 1.0:
            return self.duration_s
        if self.profile is not None:
            found = self.profile.get_first_time_at_position(0, progress)
            return self.duration_s if found is None else float(found)
        # The root of 2 s³ - 3 s² + p in [0, 1].
        return self.duration_s * float(0.5 - np.sin(np.arcsin(1 - 2 * progress) / 3))


AT_ONCE = TimeScaling(duration_s=0.0)


def soonest(rates: Rates, scaling: Scaling = "ruckig") -> TimeScaling:
    """The shortest progress that keeps these rates; the cubic's jerk is not bounded."""
    if scaling == "cubic":
        return TimeScaling(duration_s=max(CUBIC_SPEED / rates.speed, (CUBIC_PUSH / rates.push) ** 0.5))
    request = ruckig.InputParameter(1)
    request.target_position = [1.0]
    request.max_velocity, request.max_acceleration, request.max_jerk = [rates.speed], [rates.push], [rates.jerk]
    profile = ruckig.Trajectory(1)
    _ONE.calculate(request, profile)
    return TimeScaling(duration_s=profile.duration, profile=profile)
