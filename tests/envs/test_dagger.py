"""Rounds of train, roll out, take over and add, with a training that takes no time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from graspline.datasets.check.doctor import examine

SCRIPT = Path(__file__).parents[2] / "examples/policies/dagger.py"
# Learns where the arm is on average, and goes there.
TRAINING = """
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

data, out = map(Path, sys.argv[1:])
tables = [pq.read_table(path, columns=["action"]) for path in sorted((data / "data").rglob("*.parquet"))]
mean = np.concatenate([np.array(table.column("action").to_pylist()) for table in tables]).mean(axis=0)
out.mkdir(parents=True)
np.save(out / "mean.npy", mean)
(out / "policy.py").write_text('''
from pathlib import Path

import numpy as np

MEAN = np.load(Path(__file__).with_name("mean.npy"))


def act(observation):
    return MEAN
''')
"""


def rounds(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(SCRIPT), "lift-cube", "--out", "rounds", "--demonstrations", "2", "--takeovers", "1"]
    words += ["--evaluate", "1", "--max-seconds", "0.5", "--common", "--cameras none --fps 10"]
    words += ["--train", f"{sys.executable} train.py {{data}} {{out}}", "--policy", "{module}.policy:act", *more]
    return subprocess.run(words, cwd=folder, env=dict(os.environ), capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_rounds_add_takeovers_are_told_and_go_on_where_they_stopped(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    first = rounds(tmp_path, "--rounds", "0")
    assert first.returncode == 0, first.stderr
    again = rounds(tmp_path, "--rounds", "1")
    assert again.returncode == 0, again.stderr
    # What round 0 had finished is not done again.
    assert "sets/round_0 --episodes" not in again.stderr
    assert [line.split(":")[0] for line in again.stdout.splitlines()] == ["round 0", "round 1"]
    rows = [json.loads(line) for line in (tmp_path / "rounds/rounds.jsonl").read_text().splitlines()]
    assert [(row["round"], row["episodes"], row["evaluated"]) for row in rows] == [(0, 2, 1), (1, 3, 1)]
    assert examine(tmp_path / "rounds/merged/round_1").problems == ()
    other = rounds(tmp_path, "--rounds", "1", "--takeovers", "5")
    assert other.returncode == 2
    assert "--takeovers: rounds was begun with '1'" in other.stderr


@pytest.mark.slow
def test_a_training_that_fails_stops_the_rounds_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("raise SystemExit(7)")
    answer = rounds(tmp_path, "--rounds", "0")
    assert answer.returncode == 2
    assert "ended with 7" in answer.stderr
    assert "Traceback" not in answer.stderr
