"""A short run of the campaign in `benchmarks/kills.py`, which checks everything after every kill."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "kills.py"


@pytest.mark.slow
def test_nothing_committed_is_lost_whatever_is_killed() -> None:
    # One kill of each kind, the disk that fills up included.
    words = ["--kills", "6", "--episodes", "4"]
    done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["kills"] == 6
    assert told["datasets_equal_to_undisturbed"] >= 1
