"""The recipe of examples/policies, from nothing to a verdict, where GRASPLINE_LEROBOT_PYTHON has lerobot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cli.doors import call
from graspline import load

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
    short = ("--policy-python", PYTHON, "--episodes", "2", "--max-seconds", "0.3", "--json")
    answer = call("eval", "lift-cube", "--policy", "lerobot:act", "--policy-device", "cpu", *short)
    assert answer.code == 0, answer.err
    assert [line["verdict"] for line in answer.lines] == ["out_of_time"] * 2
    # The same without lerobot's own loader.
    monkeypatch.setenv("ACT_CHECKPOINT", "act")
    monkeypatch.setenv("PYTHONPATH", str(FOLDER))
    again = call("eval", "lift-cube", "--policy", "act_policy:Policy", *sight, *short)
    assert again.code == 0, again.err
    assert [line["truth"] for line in again.lines] == [line["truth"] for line in answer.lines]


def test_images_rendered_apart_are_those_of_a_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sight = ("--cameras", "front:32x24,wrist:32x24")
    for name, cameras in (("with", sight), ("without", ("--cameras", "none"))):
        assert call("generate", "lift-cube", "--episodes", "2", "--out", name, *cameras).code == 0
    words = [*sight, "--every", "7", "--renderer", "rays"]
    program = [sys.executable, str(FOLDER / "render_frames.py"), "without", *words]
    told = subprocess.run(program, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    frames, images = (np.load(f"without/pictures/{name}.npy") for name in ("frames", "front"))
    assert set(np.diff(frames[:10])) == {7}
    film = np.stack([image for episode in load("with")[:] for image in episode.pictures("front")])
    # Encoding changes colours by a little, and rays a few edges.
    assert np.median(np.abs(images.astype(int) - film[frames])) <= 2
    log = train("without", "--out", "act", "--steps", "2")
    assert log[0]["images"] == 2 * len(frames)
