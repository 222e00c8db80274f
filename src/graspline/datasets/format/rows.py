"""The row of one episode: where its parts are, its statistics, and what decided it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from graspline.datasets.format.recording import Recording
from graspline.datasets.format.stats import NAMES, Stats
from graspline.episodes.camera_views import View
from graspline.episodes.episode import Transition
from graspline.execution.notifications import EndsAs

# Files per folder, as LeRobot counts them.
CHUNK = 1000

Row = dict[str, Any]


class EpisodeColumn(NamedTuple):
    """Type and meaning of a column."""

    kind: pa.DataType
    about: str


EPISODE_COLUMNS: dict[str, EpisodeColumn] = {
    "episode_id": EpisodeColumn(pa.int64(), "number that is never given twice, whatever is deleted or merged"),
    "seed": EpisodeColumn(pa.int64(), "seed of the scene"),
    "verdict": EpisodeColumn(pa.string(), "outcome the episode ended with"),
    "success": EpisodeColumn(pa.bool_(), "a success that ground truth confirmed"),
    "state_hash": EpisodeColumn(pa.string(), "hash of the final state, which a replay reproduces"),
    "retries": EpisodeColumn(pa.int64(), "how often something was tried again"),
    "recovered": EpisodeColumn(pa.bool_(), "a success with at least one retry"),
    "target_objects": EpisodeColumn(pa.list_(pa.string()), "objects that were worked on, in order"),
    "start_s": EpisodeColumn(pa.float64(), "when work on the first object began, in seconds"),
    "end_s": EpisodeColumn(pa.float64(), "when the episode ended, in seconds"),
    "scenario": EpisodeColumn(pa.string(), "task, every parameter, faults and versions, as JSON"),
    "randomized": EpisodeColumn(pa.string(), "every sampled value, as JSON"),
    "strikes": EpisodeColumn(pa.string(), "injected faults that took effect, as JSON"),
    "ended_by": EpisodeColumn(pa.string(), "`policy` or `expert`"),
    "takeover": EpisodeColumn(pa.string(), "time, reason and evidence of a takeover, as JSON; `{}` without one"),
    "first_tick": EpisodeColumn(pa.int64(), "tick of the log at which frame 0 begins"),
    "rejected_before": EpisodeColumn(pa.string(), "attempts since the last kept one that were not kept, as JSON"),
}
_PLACES = ("data/chunk_index", "data/file_index", "meta/episodes/chunk_index", "meta/episodes/file_index")
_COUNTS = ("episode_index", "length", "dataset_from_index", "dataset_to_index")
# Of an episode's film as it was encoded; packing and cutting do not change it.
DIGEST = "sha256"
# Columns of JSON, and what it is.
JSON_COLUMNS: dict[str, type] = {
    "scenario": dict,
    "randomized": dict,
    "strikes": list,
    "takeover": dict,
    "rejected_before": list,
}


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """Which file of which chunk."""

    chunk: int
    file: int

    def next(self) -> Slot:
        """The slot after this one."""
        return Slot(self.chunk + 1, 0) if self.file + 1 == CHUNK else Slot(self.chunk, self.file + 1)

    def __str__(self) -> str:
        return f"chunk-{self.chunk:03d}/file-{self.file:03d}"


def data_file(slot: Slot) -> str:
    """The path of a data file."""
    return f"data/{slot}.parquet"


def row_file(slot: Slot) -> str:
    """The path of a file with episode rows."""
    return f"meta/episodes/{slot}.parquet"


def video_file(key: str, slot: Slot) -> str:
    """The path of a camera's video file."""
    return f"videos/{key}/{slot}.mp4"


def log_file(episode_id: int) -> str:
    """Named by the episode's lasting number, which survives renumbering."""
    return f"graspline/logs/episode-{episode_id:06d}.npz"


def data_slot(row: Mapping[str, Any]) -> Slot:
    """The slot of the data file that has this episode's frames."""
    return Slot(row["data/chunk_index"], row["data/file_index"])


def row_slot(row: Mapping[str, Any]) -> Slot:
    """The slot of the file that has this row."""
    return Slot(row["meta/episodes/chunk_index"], row["meta/episodes/file_index"])


def video_slot(row: Mapping[str, Any], key: str) -> Slot:
    """The slot of the video file that has this episode's images of one camera."""
    return Slot(row[f"videos/{key}/chunk_index"], row[f"videos/{key}/file_index"])


def files_of(row: Mapping[str, Any], keys: Sequence[str]) -> list[str]:
    """Every file that holds something of an episode; `keys` are the features that are videos."""
    return [
        data_file(data_slot(row)),
        row_file(row_slot(row)),
        log_file(row["episode_id"]),
        *(video_file(key, video_slot(row, key)) for key in keys),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """An attempt that did not become an episode."""

    seed: int
    verdict: str
    state: str
    cause: str
    # Claimed as a success, but not one by the simulator.
    contradicted: bool = False
    # Where the object that it was about lay at the start: x and y in W; empty if it was about none.
    lay_at_m: tuple[float, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "seed": self.seed,
            "verdict": self.verdict,
            "state": self.state,
            "cause": self.cause,
            "contradicted": self.contradicted,
            "lay_at_m": list(self.lay_at_m),
        }


def rejected_of(recording: Recording) -> Rejected:
    """What is kept of a recording that is not kept itself."""
    return Rejected(
        seed=recording.seed,
        verdict=recording.verdict,
        state=_state_at_end(recording.transitions, recording.entries),
        cause=recording.cause,
        contradicted=recording.contradicted,
        lay_at_m=_lay_at_m(recording.truth, (*recording.targets, *(each.about for each in recording.transitions))),
    )


def _state_at_end(transitions: Sequence[Transition], entries: Sequence[tuple[float, str]]) -> str:
    """The state in which an attempt was decided, not the way home after it."""
    ends = [each for each in transitions if isinstance(each.then, EndsAs)]
    return ends[0].state if ends else entries[-1][1] if entries else ""


def _lay_at_m(truth: Mapping[str, Any], mentioned: Sequence[str]) -> tuple[float, ...]:
    """Where the object mentioned last lay at the start."""
    named = [name for name in mentioned if name in truth["objects"]]
    return tuple(truth["objects"][named[-1]]["start_position_m"][:2]) if named else ()


def episode_row(
    recording: Recording,
    *,
    index: int,
    episode_id: int,
    length: int,
    first_row: int,
    fps: int,
    digests: Mapping[str, str],
    slot: Slot,
    stats: Mapping[str, Stats],
    rejected: Sequence[Rejected],
) -> Row:
    """`digests` are those of the films, by feature."""
    labels = labels_of(recording)
    row: Row = {
        "episode_index": index,
        "tasks": labels.pop("tasks"),
        "length": length,
        "dataset_from_index": first_row,
        "dataset_to_index": first_row + length,
        **{name: slot.chunk if name.endswith("chunk_index") else slot.file for name in _PLACES},
    }
    for key, digest in digests.items():
        row[f"videos/{key}/chunk_index"], row[f"videos/{key}/file_index"] = slot.chunk, slot.file
        row[f"videos/{key}/from_timestamp"], row[f"videos/{key}/to_timestamp"] = 0.0, length / fps
        row[f"videos/{key}/{DIGEST}"] = digest
    row |= {
        "episode_id": episode_id,
        **labels,
        "rejected_before": json.dumps([each.as_dict() for each in rejected]),
    }
    for feature, found in stats.items():
        row |= {f"stats/{feature}/{name}": value for name, value in found.as_lists().items()}
    return row


def labels_of(recording: Recording) -> Row:
    """What a row says of the episode itself, wherever it lies."""
    return {
        "tasks": [recording.instruction.sentence],
        "seed": recording.seed,
        "verdict": recording.verdict,
        "success": recording.succeeded,
        "state_hash": recording.state_hash,
        "retries": recording.retries,
        "recovered": bool(recording.recoveries) and recording.succeeded,
        "target_objects": list(recording.targets),
        "start_s": recording.start_s,
        "end_s": recording.sim_time_s,
        "scenario": json.dumps(recording.scenario),
        "randomized": json.dumps(recording.log.variation.described),
        "strikes": json.dumps([[each.t_s, each.fault, each.target, each.missed] for each in recording.strikes]),
        "ended_by": recording.ended_by,
        "takeover": json.dumps(_takeover(recording.takeover)),
        "first_tick": recording.first_tick,
    }


def _takeover(each: Transition | None) -> dict[str, Any]:
    """When and why the expert took over; nothing if it did not."""
    if each is None:
        return {}
    return {"t_s": each.t_s, "reason": each.outcome, "evidence": [one.as_dict() for one in each.evidence]}


def row_problems(row: Mapping[str, Any], views: Sequence[View]) -> list[str]:
    """What a row lacks or has of another type; without problems everything but its statistics can be relied on."""
    of_views = [
        f"videos/{view.key}/{name}"
        for view in views
        for name in ("chunk_index", "file_index", "from_timestamp", "to_timestamp", DIGEST)
    ]
    problems = []
    for name in (*_COUNTS, "tasks", *_PLACES, *of_views, *EPISODE_COLUMNS):
        if name not in row:
            problems.append(f"column {name} is missing")
        elif not _fits(row[name], _type_of(name, row[name])):
            problems.append(f"{name} is {row[name]!r}")
        elif name in JSON_COLUMNS and not isinstance(_json_or_none(row[name]), JSON_COLUMNS[name]):
            problems.append(f"{name} is not JSON of the right kind: {row[name][:40]!r}")
        elif name == "tasks" and len(row[name]) != 1:
            problems.append(f"tasks is {row[name]!r}, expected one sentence")
        elif name == "length" and row[name] < 1:
            problems.append(f"length is {row[name]}")
    return problems


def order_problems(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, str]]:
    """Where rows do not follow each other without gaps: the position, and what is wrong there.

    LeRobot finds a row by its position, and frames by their number.
    """
    first = 0
    for number, row in enumerate(rows):
        begin, end = row["dataset_from_index"], row["dataset_to_index"]
        if row["episode_index"] != number:
            yield number, f"row {number} is that of episode {row['episode_index']}"
        if begin != first:
            yield number, f"begins at frame {begin}, expected {first}"
        if end != begin + row["length"]:
            yield number, f"is {row['length']} frames long from {begin} to {end}"
        first = end


def _fits(value: Any, kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    plain = {pa.int64(): int, pa.float64(): float, pa.string(): str, pa.bool_(): bool}[kind]
    return type(value) is plain and (plain is not float or math.isfinite(value))


def _json_or_none(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def stats_in(row: Mapping[str, Any]) -> dict[str, Stats]:
    """The statistics a row carries, by feature."""
    lists: dict[str, dict[str, Any]] = {}
    for name, value in row.items():
        if name.startswith("stats/"):
            feature, _, which = name.removeprefix("stats/").rpartition("/")
            lists.setdefault(feature, {})[which] = value
    return {feature: Stats.from_lists(found) for feature, found in lists.items()}


def stats_problems(row: Mapping[str, Any], widths: Mapping[str, int]) -> list[str]:
    """What keeps a row's statistics from being merged with others; `widths` is how many numbers a feature has."""
    problems = []
    for feature, width in widths.items():
        lists = {name: row.get(f"stats/{feature}/{name}") for name in NAMES}
        missing = [name for name, value in lists.items() if value is None]
        if missing:
            problems.append(f"statistics of {feature} ({', '.join(missing)}) are missing")
            continue
        try:
            found = Stats.from_lists(lists)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            problems.append(f"statistics of {feature} cannot be read")
            continue
        sizes = {len(each) for each in (found.min, found.max, found.mean, found.std, *found.quantiles.values())}
        if sizes != {width} or found.count < 1:
            problems.append(f"statistics of {feature} are not those of {width} numbers")
    return problems


def rejected_in(row: Mapping[str, Any]) -> list[Rejected]:
    """The attempts before an episode that were not kept; raises ValueError if the row tells something else."""
    found = []
    for plain in json.loads(row["rejected_before"]):
        try:
            each = Rejected(**{**plain, "lay_at_m": tuple(plain.get("lay_at_m", ()))})
        except (AttributeError, TypeError):
            raise ValueError(f"{plain!r} is no rejected attempt") from None
        words = (each.verdict, each.state, each.cause)
        whole = type(each.seed) is int and type(each.contradicted) is bool and all(type(word) is str for word in words)
        if not whole or len(each.lay_at_m) not in (0, 2) or any(type(at) is not float for at in each.lay_at_m):
            raise ValueError(f"{plain!r} is no rejected attempt")
        found.append(each)
    return found


def rows_table(rows: Sequence[Row]) -> pa.Table:
    """Rows with the same columns as one table; columns that are not declared keep the type their values have."""
    names = list(rows[0])
    schema = pa.schema([(name, _type_of(name, rows[0][name])) for name in names])
    return pa.Table.from_pylist([dict(row) for row in rows], schema=schema)


def _type_of(name: str, value: Any) -> pa.DataType:
    if name in EPISODE_COLUMNS:
        return EPISODE_COLUMNS[name].kind
    if name.startswith("stats/"):
        if name.endswith("/count"):
            return pa.list_(pa.int64())
        nested = pa.list_(pa.float64())
        return pa.list_(pa.list_(nested)) if isinstance(value[0], list) else nested
    if name == "tasks":
        return pa.list_(pa.string())
    if name.endswith(f"/{DIGEST}"):
        return pa.string()
    return pa.float64() if name.endswith("_timestamp") else pa.int64()
