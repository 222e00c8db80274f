"""Whether the index counts what is there, declares what is in the files, and rows follow each other without gaps."""

from __future__ import annotations

import collections
import json
import re
from typing import Any

from graspline.datasets.check.contents import Contents
from graspline.datasets.check.findings import Findings
from graspline.datasets.format.index import INFO, info_of
from graspline.datasets.format.rows import order_problems, rejected_in, row_file, row_slot
from graspline.datasets.format.sentences import TASKS, sentences_of

# The writer's policy: any size will do.
_SIZES = ("chunks_size", "data_files_size_in_mb", "video_files_size_in_mb")
_TOTALS = ("total_episodes", "total_frames", "total_tasks")
_RANGE = re.compile(r"(\d+):(\d+)")


def check_index(contents: Contents, found: Findings) -> None:
    """The index agrees with the rows of all episodes."""
    info, rows = contents.info, contents.rows
    if info is not None:
        frames = sum(row["length"] for row in rows)
        sentences = len(sentences_of(rows))
        expected = info_of(contents.dataset.settings, contents.dataset.scene, len(rows), frames, sentences)
        if not contents.whole:
            # What could not be read cannot be counted; that it could not is a problem already.
            expected = {name: value for name, value in expected.items() if name not in _TOTALS}
        for name, value in expected.items():
            _check_entry(name, info, value, found)
        _check_splits(info.get("splits"), len(rows) if contents.whole else None, found)
    if contents.whole:
        _check_sentences(contents, found)
        _check_order(contents, found)
    _check_scenarios(contents, found)
    _check_rejected(contents, found)
    _check_duplicates(contents, found)


def _check_entry(name: str, info: dict[str, Any], expected: Any, found: Findings) -> None:
    if name not in info:
        found.problem(INFO, f"{name} is missing")
    elif name in _SIZES:
        if type(info[name]) is not int or info[name] < 1:
            found.problem(INFO, f"{name} is {info[name]!r}, expected a whole number above 0")
    elif name == "features":
        _check_features(info[name], expected, found)
    elif name != "splits" and not _same(info[name], expected):
        found.problem(INFO, f"{name} is {info[name]!r}, expected {expected!r}")


def _check_features(features: Any, expected: dict[str, Any], found: Findings) -> None:
    if not isinstance(features, dict):
        found.problem(INFO, f"features is {features!r}, expected an object")
        return
    for name, wanted in expected.items():
        feature = features.get(name)
        if not isinstance(feature, dict):
            found.problem(INFO, f"feature {name} is missing")
            continue
        for part, value in wanted.items():
            if not _same(feature.get(part), value):
                found.problem(INFO, f"feature {name}: {part} is {feature.get(part)!r}, expected {value!r}")


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON, in which 1, 1.0 and true are three things."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _check_splits(splits: Any, episodes: int | None, found: Findings) -> None:
    """A dataset may be divided at will, into ranges of episodes that are there."""
    if not isinstance(splits, dict) or not splits:
        found.problem(INFO, f"splits is {splits!r}, expected ranges of episodes by name")
        return
    for name, text in splits.items():
        matched = _RANGE.fullmatch(text) if isinstance(text, str) else None
        if matched is None or int(matched[1]) > int(matched[2]):
            found.problem(INFO, f"split {name} is {text!r}, expected a range such as 0:10")
        elif episodes is not None and int(matched[2]) > episodes:
            found.problem(INFO, f"split {name} is {text!r}, and there are {episodes} episodes")


def _check_order(contents: Contents, found: Findings) -> None:
    for number, what in order_problems(contents.rows):
        row = contents.rows[number]
        found.problem(row_file(row_slot(row)), what, row["episode_index"])


def _check_sentences(contents: Contents, found: Findings) -> None:
    """Each episode has one sentence, and the list has all of them in the order of their first use."""
    if contents.sentences is None:
        return
    for row in contents.rows:
        if row["tasks"][0] not in contents.sentences:
            message = f"its task {row['tasks']} is not in {TASKS}"
            found.problem(row_file(row_slot(row)), message, row["episode_index"])
    used = sentences_of(contents.rows)
    # A writer that was killed has written the sentence of an episode that is not counted yet.
    uncounted = sentences_of([*contents.rows, *contents.uncounted])
    if contents.sentences not in (used, uncounted) and set(used) <= set(contents.sentences):
        found.problem(TASKS, f"has {list(contents.sentences)}, and the episodes, in order, {list(used)}")


def _check_scenarios(contents: Contents, found: Findings) -> None:
    """Every episode was played with the settings of the dataset; those of a merged one had their own."""
    settings = contents.dataset.settings.as_dict()
    for row in contents.rows:
        scenario = {"from_policy": {}, **json.loads(row["scenario"])}
        whole = ("task", "origin", "parameters", "faults", "from_policy", "graspline", "mujoco")
        common = ("task",) if contents.merged else whole
        expected = {"seed": row["seed"], **{name: settings[name] for name in common}}
        wrong = [name for name, value in expected.items() if not _same(scenario.get(name), value)]
        if not contents.merged and not _same(scenario.get("disturb", {}), settings["disturb"]):
            wrong.append("disturb")
        if wrong:
            message = f"its scenario has another {' and '.join(wrong)} than the dataset"
            found.problem(row_file(row_slot(row)), message, row["episode_index"])


def _check_rejected(contents: Contents, found: Findings) -> None:
    for row in contents.rows:
        try:
            rejected_in(row)
        except ValueError as error:
            found.problem(row_file(row_slot(row)), f"rejected_before: {error}", row["episode_index"])


def _check_duplicates(contents: Contents, found: Findings) -> None:
    """No episode may be in twice. Merged datasets may share seeds, if their scenarios differ."""
    unique = ("episode_id", "state_hash", "scenario" if contents.merged else "seed")
    for column in unique:
        by_value = collections.defaultdict[Any, list[int]](list)
        for row in contents.rows:
            by_value[row[column]].append(row["episode_index"])
        for value, episodes in by_value.items():
            if len(episodes) > 1:
                shown = "" if column == "scenario" else f" {value}"
                found.problem(
                    "meta/episodes", f"episodes {', '.join(map(str, episodes))} have the same {column}{shown}"
                )
