from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from graspline.datasets.format.recording import unpack
from graspline.datasets.format.rows import Rejected, log_file, rejected_in
from graspline.datasets.format.store import Dataset
from graspline.datasets.report.summary import summarise
from graspline.errors import DatasetProblem
from graspline.execution.notifications import EndsAs

MISSED = Rejected(seed=7, verdict="missed", state="close", cause="gap 0 m (limit >= 1 m)", lay_at_m=(0.2, -0.1))


def with_rejected(dataset: Dataset, *rejected: Rejected) -> Dataset:
    """The same dataset, had these attempts been made before its first episode."""
    first, *rest = dataset.rows
    row = {**first, "rejected_before": json.dumps([each.as_dict() for each in rejected])}
    return dataclasses.replace(dataset, rows=(row, *rest))


def change_log(root: Path, episode_id: int, **facts: object) -> None:
    path = root / log_file(episode_id)
    with np.load(path) as arrays:
        kept = {name: arrays[name] for name in arrays.files}
    told = {**json.loads(kept["facts"].tobytes()), **facts}
    kept["facts"] = np.frombuffer(json.dumps(told).encode(), np.uint8)
    np.savez_compressed(path, **kept)


def test_attempts_are_what_was_kept_and_what_was_not(made: Path) -> None:
    dataset = Dataset.open(made)
    summary = summarise(with_rejected(dataset, MISSED, dataclasses.replace(MISSED, seed=8, contradicted=True)))
    assert (summary.attempts, summary.successes, summary.first_try, summary.recovered) == (5, 3, 3, 0)
    assert summary.contradicted == 1
    assert [each.episode for each in summary.failures] == [None, None]


def test_a_rejected_attempt_is_read_back_as_it_was_written(made: Path) -> None:
    row = with_rejected(Dataset.open(made), MISSED).rows[0]
    assert rejected_in(row) == [MISSED]
    older = {name: value for name, value in MISSED.as_dict().items() if name != "lay_at_m"}
    assert rejected_in({"rejected_before": json.dumps([older])}) == [dataclasses.replace(MISSED, lay_at_m=())]


def test_time_in_states_adds_up_to_the_episode(made: Path) -> None:
    for each in summarise(Dataset.open(made)).episodes:
        began_s = each.entries[0][0]
        assert sum(each.spent_s().values()) == pytest.approx(each.row["end_s"] - began_s)
        assert each.state_at(0.0) == each.entries[0][1]
        assert each.state_at(each.row["end_s"]) == each.entries[-1][1]


def test_every_episode_takes_a_way_from_the_first_state_to_an_end(made: Path) -> None:
    taken = summarise(Dataset.open(made)).taken()
    assert taken["look", "seen", "plan"] == 3
    assert taken["verify", "verified", EndsAs("success")] == 3


def test_targets_lie_where_the_log_starts(made: Path) -> None:
    dataset = Dataset.open(made)
    for each in summarise(dataset).episodes:
        at = dataset.scene.joint_address("cube")
        start = unpack((made / log_file(each.row["episode_id"])).read_bytes()).log.start
        assert [(spot.x_m, spot.y_m) for spot in each.targets] == [tuple(start[at : at + 2])]


def test_only_values_that_differ_are_randomised(made: Path) -> None:
    dataset = Dataset.open(made)
    rows = tuple({**row, "randomized": json.dumps({"same": 1.0, "other": row["seed"]})} for row in dataset.rows)
    assert summarise(dataclasses.replace(dataset, rows=rows)).randomized() == {"other": [0.0, 1.0, 2.0]}


@pytest.mark.parametrize(
    "facts",
    [
        {"entries": []},
        {"entries": [["soon", "look"]]},
        {"truth": {"objects": {}, "places": {}}},
        {"transitions": [{"t_s": 1.0, "state": "dance", "outcome": "danced", "then": "look", "evidence": []}]},
        {"transitions": [{}]},
    ],
)
def test_a_log_that_does_not_tell_what_happened_is_a_problem_of_the_dataset(
    dataset: Path, facts: dict[str, object]
) -> None:
    change_log(dataset, 1, **facts)
    with pytest.raises(DatasetProblem, match="episode 1"):
        summarise(Dataset.open(dataset))
