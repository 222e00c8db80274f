"""The recipe of examples/policies, from nothing to a verdict, where GRASPLINE_LEROBOT_PYTHON has lerobot."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from cli.doors import call

PYTHON = os.environ.get("GRASPLINE_LEROBOT_PYTHON", "")
FOLDER = Path(__file__).parents[2] / "examples" / "policies"
SMALL = "--batch 2 --chunk 8 --play 4 --dim 16 --feedforward 16 --layers 1 --log-every 1 --held-out 0.5 --device cpu"
# Runs a program as if these packages were not installed.
BARE = "import runpy, sys; sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(','))); sys.argv.pop(0); "
BARE += "sys.path.insert(0, sys.argv[0].rpartition('/')[0]); runpy.run_path(sys.argv[0], run_name='__main__')"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="GRASPLINE_LEROBOT_PYTHON names no Python with lerobot"),
]


def train(*words: str, missing: str = "nothing") -> list[dict[str, object]]:
    """Lines of its log, those of earlier calls too."""
    program = [PYTHON, "-c", BARE, missing, str(FOLDER / "train_act.py")]
    told = subprocess.run([*program, *words, *SMALL.split()], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    return [json.loads(line) for line in Path("act/log.jsonl").read_text().splitlines()]


def test_generate_train_and_eval_work_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sight = ("--cameras", "front:32x24,wrist:32x24")
    assert call("generate", "lift-cube", "--episodes", "2", "--out", "cubes", *sight).code == 0
    train("cubes", "--out", "act", "--steps", "2")
    # The same command goes on; the mix of datasets, and a machine with little installed.
    log = train("cubes:1", "cubes:3", "--out", "act", "--steps", "3", missing="av,draccus,datasets,gymnasium")
    assert {"resumed_at": 2} in log
    assert [line["step"] for line in log if "l1" in line] == [1, 2, 3]
    assert sorted(each.name for each in Path("act/checkpoints").iterdir()) == ["000002", "000003", "last"]
    assert not Path("act/checkpoints/000002/training_state").exists()
    answer = call(
        *("eval", "lift-cube", "--policy", "lerobot:act", "--policy-python", PYTHON, "--policy-device", "cpu"),
        *("--episodes", "2", "--max-seconds", "0.3", "--json"),
    )
    assert answer.code == 0, answer.err
    assert [line["verdict"] for line in answer.lines] == ["out_of_time"] * 2
