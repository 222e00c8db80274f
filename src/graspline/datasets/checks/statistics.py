"""Whether statistics are those of the numbers they stand for; a trainer normalises with nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.datasets.checks.contents import Contents
from graspline.datasets.checks.findings import Findings
from graspline.datasets.rows import Row, row_file, row_slot, stats_in
from graspline.datasets.stats import QUANTILES, Stats, all_merged, stats_of
from graspline.datasets.store import STATS
from graspline.episodes.units import joint_names

# Another processor may sum in another order.
_CLOSE = 1e-6
# What reading statistics raises that are none.
_UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def check_episode_stats(row: Row, values: Mapping[str, NDArray[Any]], found: Findings) -> None:
    """Those in a row against the episode's columns of numbers."""
    stored = stats_in_or_none(row)
    where, episode = row_file(row_slot(row)), row["episode_index"]
    if stored is None:
        found.problem(where, "its statistics cannot be read", episode)
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
    if not contents.stats:
        return
    rows = contents.rows
    _check_picture_stats(contents, found)
    try:
        stored = {name: Stats.from_lists(lists) for name, lists in contents.stats.items()}
    except _UNREADABLE:
        found.problem(STATS, "holds something else than statistics")
        return
    together = _together(rows)
    # A writer that was killed just before the index was written has counted one more here.
    with_next = _together((*rows, *contents.uncounted[:1]))
    if together is None or not contents.whole:
        # That is told already, row by row.
        return
    if with_next is not None and contents.uncounted and not list(_disagreements(stored, with_next)):
        found.note(STATS, f"counts an episode more than the index: a writer was stopped there, and {_HARMLESS}")
        return
    for each in _disagreements(stored, together):
        found.problem(STATS, each)
    for name in ("observation.state", "action"):
        names = joint_names(contents.dataset.scene.robot)
        if name in stored and len(stored[name].std) == len(names):
            for joint in np.flatnonzero(stored[name].std == 0):
                found.note(STATS, f"{names[joint]} of {name} never changes, so its deviation is 0")


_HARMLESS = "the next run puts it right"


def stats_in_or_none(row: Row) -> dict[str, Stats] | None:
    try:
        return stats_in(row)
    except _UNREADABLE:
        return None


def _check_picture_stats(contents: Contents, found: Findings) -> None:
    for row in contents.rows:
        stored = stats_in_or_none(row) or {}
        for view in contents.dataset.settings.views:
            where, episode = row_file(row_slot(row)), row["episode_index"]
            if view.key not in stored:
                found.problem(where, f"statistics of {view.key} are missing", episode)
                continue
            one = stored[view.key]
            if one.count != row["length"]:
                found.problem(where, f"statistics of {view.key} are of {one.count} frames", episode)
            in_order = [one.min, *(one.quantiles[name] for name in QUANTILES), one.max]
            sound = (
                all(len(each) == 3 for each in in_order)
                and not (np.diff([0 * one.min, *in_order, 0 * one.max + 1], axis=0) < 0).any()
            )
            if not sound:
                found.problem(where, f"statistics of {view.key} are not in order from 0 to 1", episode)


def _together(rows: Sequence[Row]) -> dict[str, Stats] | None:
    parts = [stats_in_or_none(row) for row in rows]
    try:
        return all_merged(part for part in parts if part is not None) if None not in parts else None
    except (KeyError, ValueError, ZeroDivisionError):
        return None


def _disagreements(stored: Mapping[str, Stats], expected: Mapping[str, Stats]) -> list[str]:
    told = [f"{name} is missing" for name in expected if name not in stored]
    told += [f"{name} is in no episode" for name in stored if name not in expected]
    for name in expected.keys() & stored.keys():
        wrong = _different(stored[name], expected[name])
        if wrong:
            told.append(f"statistics of {name} ({', '.join(wrong)}) are not those of all episodes together")
    return sorted(told)


def _different(one: Stats, other: Stats) -> list[str]:
    """Names of the numbers in which two differ."""
    lists = one.as_lists(), other.as_lists()
    return [name for name in lists[1] if not _close(lists[0].get(name), lists[1][name])]


def _close(one: Any, other: Any) -> bool:
    found, expected = np.asarray(one, np.float64), np.asarray(other, np.float64)
    return found.shape == expected.shape and bool(np.allclose(found, expected, rtol=_CLOSE, atol=_CLOSE))
