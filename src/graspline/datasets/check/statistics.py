"""Whether statistics are those of the numbers they stand for; a trainer normalises with nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.datasets.check.contents import Contents
from graspline.datasets.check.findings import Findings
from graspline.datasets.format.rows import Row, row_file, row_slot, stats_in
from graspline.datasets.format.stats import QUANTILES, Stats, all_merged, stats_of
from graspline.datasets.format.store import STATS
from graspline.episodes.units import joint_names

# Another processor may sum in another order.
_CLOSE = 1e-6
# What reading of malformed statistics raises.
_UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def check_episode_stats(row: Row, values: Mapping[str, NDArray[Any]], found: Findings) -> None:
    """Those in a row against the episode's columns of numbers."""
    stored = _stats_or_none(row)
    where, episode = row_file(row_slot(row)), row["episode_index"]
    if stored is None:
        # That is reported for the statistics of all.
        return
    for feature, numbers in values.items():
        if feature not in stored:
            found.problem(where, f"statistics of {feature} are missing", episode)
            continue
        wrong = _different(stored[feature], stats_of(numbers))
        if wrong:
            found.problem(where, f"statistics of {feature} ({', '.join(wrong)}) are not those of its frames", episode)


def check_all_stats(contents: Contents, found: Findings) -> None:
    """`meta/stats.json` against what all rows say together, pictures included."""
    parts = _parts(contents, found)
    if contents.stats is None:
        return
    try:
        stored = {name: Stats.from_lists(lists) for name, lists in contents.stats.items()}
    except _UNREADABLE:
        found.problem(STATS, "holds something else than statistics")
        return
    for name in ("observation.state", "action"):
        names = joint_names(contents.dataset.scene.robot)
        if name in stored and len(stored[name].std) == len(names):
            for joint in np.flatnonzero(stored[name].std == 0):
                found.note(STATS, f"{names[joint]} of {name} never changes, so its deviation is 0")
    if parts is None:
        return
    wrong = _disagreements(stored, parts)
    # A writer that was stopped just before it wrote the index has counted one more here.
    following = [_stats_or_none(row) or {} for row in contents.uncounted[:1]]
    if wrong and following and not _disagreements(stored, [*parts, *following]):
        found.note(STATS, "counts an episode more than the index: a writer was stopped there, the next run goes on")
        return
    for each in wrong:
        found.problem(STATS, each)


def _parts(contents: Contents, found: Findings) -> list[dict[str, Stats]] | None:
    """The statistics of all rows; None if they do not go together, which is reported."""
    parts: list[dict[str, Stats]] = []
    for row in contents.rows:
        where, episode, part = row_file(row_slot(row)), row["episode_index"], _stats_or_none(row)
        if part is None:
            found.problem(where, "its statistics cannot be read", episode)
            continue
        for view in contents.dataset.settings.views:
            if view.key in part:
                _check_picture_stats(part[view.key], view.key, row, found)
            else:
                found.problem(where, f"statistics of {view.key} are missing", episode)
        parts.append(part)
        if part.keys() != parts[0].keys():
            other = ", ".join(sorted(part.keys() ^ parts[0].keys()))
            found.problem(where, f"it alone, or the first episode alone, has statistics of {other}", episode)
    alike = all(part.keys() == parts[0].keys() for part in parts)
    return parts if alike and len(parts) == len(contents.rows) and contents.whole else None


def _check_picture_stats(stats: Stats, key: str, row: Row, found: Findings) -> None:
    where, episode = row_file(row_slot(row)), row["episode_index"]
    if stats.count != row["length"]:
        found.problem(where, f"statistics of {key} are of {stats.count} frames", episode)
    levels = [stats.min, *(stats.quantiles[name] for name in QUANTILES), stats.max]
    if not (
        all(len(each) == 3 for each in levels) and (np.diff([np.zeros(3), *levels, np.ones(3)], axis=0) >= 0).all()
    ):
        found.problem(where, f"statistics of {key} are not in order from 0 to 1", episode)


def _stats_or_none(row: Row) -> dict[str, Stats] | None:
    try:
        return stats_in(row)
    except _UNREADABLE:
        return None


def _disagreements(stored: Mapping[str, Stats], parts: Sequence[Mapping[str, Stats]]) -> list[str]:
    try:
        expected = all_merged(parts)
    except (KeyError, ValueError):
        # Of other shapes; that is reported for the episode.
        return ["does not go with the statistics of the episodes"]
    messages = [f"{name} is missing" for name in expected if name not in stored]
    messages += [f"{name} is in no episode" for name in stored if name not in expected]
    for name in expected.keys() & stored.keys():
        # To the last bit: merging rounds everywhere alike.
        wrong = [which for which, value in expected[name].as_lists().items() if stored[name].as_lists()[which] != value]
        if wrong:
            messages.append(f"statistics of {name} ({', '.join(wrong)}) are not those of all episodes together")
    return sorted(messages)


def _different(one: Stats, other: Stats) -> list[str]:
    """Names of the numbers in which two differ."""
    lists = one.as_lists(), other.as_lists()
    return [name for name in lists[1] if not _close(lists[0].get(name), lists[1][name])]


def _close(one: Any, other: Any) -> bool:
    found, expected = np.asarray(one, np.float64), np.asarray(other, np.float64)
    # As np.allclose, which takes ten times as long for a few numbers.
    return found.shape == expected.shape and bool((np.abs(found - expected) <= _CLOSE * (1 + np.abs(expected))).all())
