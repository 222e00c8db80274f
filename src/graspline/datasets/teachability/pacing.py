"""How demonstrations move: pauses, idle frames, speed and jerk. Needs nothing but actions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.datasets.teachability.demonstrations import Demonstrations
from graspline.datasets.teachability.findings import JointSpeed, Middle, Pacing, PausedIn

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]

# A span without motion is a pause if it is longer.
PAUSE_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stills:
    """Spans of frames in which no joint's action moves, one entry for each span."""

    episodes: Indices
    # Frames from `begins` up to `ends`, counted over the whole dataset.
    begins: Indices
    ends: Indices
    # Whether it is at the start of its episode, or else at the end.
    leads: Flags
    trails: Flags

    @property
    def frames(self) -> Indices:
        """How many frames each pause has."""
        return self.ends - self.begins


def speeds_of(demonstrations: Demonstrations) -> Array:
    """Speed of each joint's action, units per second, (F, nu); the first frame of an episode has that of the second."""
    return _rates(demonstrations, demonstrations.actions)


def tool_speeds_of(demonstrations: Demonstrations) -> Array:
    """Speed of the commanded tool, mm/s, (F,)."""
    return np.linalg.norm(_rates(demonstrations, demonstrations.tool_mm), axis=1)


def jerks_of(demonstrations: Demonstrations) -> Array:
    """Third difference of each joint's action, units/s³, of all frames that have three before them, (…, nu)."""
    jerks = np.diff(demonstrations.actions, n=3, axis=0) * demonstrations.fps**3
    episode = demonstrations.episode_of
    return np.abs(jerks[episode[3:] == episode[:-3]])


def _rates(demonstrations: Demonstrations, values: Array) -> Array:
    rates = np.zeros_like(values)
    rates[1:] = np.diff(values, axis=0) * demonstrations.fps
    begins = demonstrations.first[:-1]
    rates[begins] = np.where((demonstrations.lengths > 1)[:, None], rates[np.minimum(begins + 1, len(values) - 1)], 0.0)
    return np.abs(rates)


def stills_of(demonstrations: Demonstrations, still_per_s: float) -> Stills:
    """All spans in which every joint's action is slower than `still_per_s`, units per second."""
    still: Flags = np.all(speeds_of(demonstrations) < still_per_s, axis=1)
    episode = demonstrations.episode_of
    edge = np.concatenate([[True], (still[1:] != still[:-1]) | (episode[1:] != episode[:-1])])
    begins = np.flatnonzero(edge)
    ends = np.append(begins[1:], len(still))
    chosen = still[begins]
    begins, ends = begins[chosen], ends[chosen]
    episodes = episode[begins]
    leads = begins == demonstrations.first[episodes]
    return Stills(
        episodes=episodes,
        begins=begins,
        ends=ends,
        leads=leads,
        trails=(ends == demonstrations.first[episodes + 1]) & ~leads,
    )


def pacing(demonstrations: Demonstrations, still_per_s: float) -> Pacing:
    """Pauses, idle frames, speed and jerk of all episodes."""
    stills = stills_of(demonstrations, still_per_s)
    long = stills.frames > PAUSE_S * demonstrations.fps
    total, episodes = len(demonstrations.actions), len(demonstrations)
    tool = tool_speeds_of(demonstrations) if len(demonstrations.tool_mm) else np.zeros(0)
    tool_median, tool_p95 = _quantiles(tool[tool >= still_per_s])
    return Pacing(
        still_per_s=still_per_s,
        frames=Middle.of(demonstrations.lengths.astype(float)),
        seconds=Middle.of(demonstrations.lengths / demonstrations.fps),
        pauses=int(long.sum()),
        pauses_per_episode=float(long.sum() / episodes),
        paused_s_per_episode=float(stills.frames[long].sum() / demonstrations.fps / episodes),
        paused_in=_paused_in(demonstrations, stills.begins[long], stills.ends[long]),
        idle_first=float(stills.frames[stills.leads].sum() / total),
        idle_middle=float(stills.frames[~stills.leads & ~stills.trails].sum() / total),
        idle_last=float(stills.frames[stills.trails].sum() / total),
        joints=_joint_speeds(demonstrations, still_per_s),
        tool_median=tool_median,
        tool_p95=tool_p95,
    )


def _paused_in(demonstrations: Demonstrations, begins: Indices, ends: Indices) -> tuple[PausedIn, ...]:
    count = len(demonstrations.state_names)
    paused = np.zeros(len(demonstrations.actions) + 1, dtype=np.int64)
    paused[begins] += 1
    paused[ends] -= 1
    frames = np.bincount(demonstrations.states[np.cumsum(paused[:-1]) > 0], minlength=count)
    starts = np.bincount(demonstrations.states[begins], minlength=count)
    found = [
        PausedIn(state=name, pauses=int(starts[at]), seconds=float(frames[at] / demonstrations.fps))
        for at, name in enumerate(demonstrations.state_names)
        if frames[at]
    ]
    return tuple(sorted(found, key=lambda each: -each.seconds))


def _joint_speeds(demonstrations: Demonstrations, still_per_s: float) -> tuple[JointSpeed, ...]:
    speeds, jerks = speeds_of(demonstrations), jerks_of(demonstrations)
    found = []
    for at, joint in enumerate(demonstrations.joints):
        median, p95 = _quantiles(speeds[speeds[:, at] >= still_per_s, at])
        _, jerk = _quantiles(jerks[:, at])
        found.append(JointSpeed(joint=joint, unit=demonstrations.units[at], median=median, p95=p95, jerk_p95=jerk))
    return tuple(found)


def _quantiles(values: Array) -> tuple[float, float]:
    if not len(values):
        return float("nan"), float("nan")
    median, p95 = np.quantile(values, (0.5, 0.95))
    return float(median), float(p95)
