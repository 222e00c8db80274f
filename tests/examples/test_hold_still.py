"""The policy that stays where it is runs anywhere, and never succeeds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from graspline.examples.hold_still import act


def test_it_asks_for_the_joints_that_it_sees() -> None:
    joints = np.array([1.0, -2.0, 3.0], np.float32)
    assert act({"agent_pos": joints}) is joints


def test_it_is_found_from_an_empty_folder(tmp_path: Path) -> None:
    words = (
        "eval lift-cube --policy graspline.examples.hold_still:act --cameras none --episodes 1 --max-seconds 1 --json"
    )
    done = subprocess.run(
        [sys.executable, "-m", "graspline", *words.split()], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "out_of_time"
