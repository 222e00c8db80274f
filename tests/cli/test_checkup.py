"""`graspline doctor` and `graspline replay` as one would use them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from graspline.datasets.format.rows import log_file
from graspline.datasets.format.store import INFO, OURS

from .doors import call, refused, spawn

LEFT = "a writer that was stopped leaves such, and the next run overwrites it"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two episodes without pictures; nobody may change them."""
    root = tmp_path_factory.mktemp("datasets") / "made"
    words = ("--episodes", "2", "--cameras", "none", "--fps", "10", "--workers", "1")
    assert call("generate", "lift-cube", *words, "--out", root).code == 0
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "made"))


def test_a_healthy_dataset_is_described(made: Path) -> None:
    answer = spawn("doctor", made)
    assert (answer.code, answer.err) == (0, "")
    first, *lines = answer.out.splitlines()
    assert first == f"{made}: healthy"
    assert [line.partition(":")[0] for line in lines] == ["  episodes", "  frames", "  cameras", "  size"]
    assert lines[0] == "  episodes: 2, of which 2 successful (100.0 %)"
    assert re.fullmatch(r"  frames: \d+ at 10 fps \(\d+ s\)", lines[1])
    assert lines[2] == "  cameras: none"


def test_all_problems_are_printed_each_on_its_line(root: Path) -> None:
    (root / log_file(1)).unlink()
    info = json.loads((root / INFO).read_text())
    (root / INFO).write_text(json.dumps({**info, "fps": 25, "total_frames": 1}))
    (root / log_file(2)).write_bytes(b"")
    answer = call("doctor", root)
    assert answer.code == 4
    assert answer.out.splitlines() == [
        f"{INFO}: total_frames is 1, expected {info['total_frames']}",
        f"{INFO}: fps is 25, expected 10",
        f"{log_file(1)}: episode 1: is missing",
        f"note: {log_file(2)}: no episode names it: {LEFT}",
        f"{root}: 3 problems",
    ]
    told = call("doctor", root, "--json", "--fast")
    assert told.code == 4
    (diagnosis,) = told.lines
    assert not diagnosis["healthy"]
    assert diagnosis["problems"][2] == {"where": log_file(1), "episode": 1, "what": "is missing"}
    assert len(diagnosis["notes"]) == 1
    assert diagnosis["summary"]["episodes"] == 2


def test_a_note_alone_is_no_failure(root: Path) -> None:
    (root / log_file(2)).write_bytes(b"")
    answer = call("doctor", root, "--fast")
    assert answer.code == 0
    assert answer.out.startswith("note: ")
    assert f"{root}: healthy" in answer.out


@pytest.mark.parametrize("command", ["doctor", "replay"])
def test_what_is_no_dataset_of_ours_is_refused(command: str, root: Path, tmp_path: Path) -> None:
    (root / OURS).unlink()
    (problem,) = refused(command, root)
    assert f"{OURS} is missing" in problem
    assert refused(command, tmp_path / "nowhere") == [f"{tmp_path / 'nowhere'}: no such folder"]


@pytest.mark.parametrize("command", ["doctor", "replay"])
def test_an_index_that_is_cut_in_half_is_told(command: str, root: Path) -> None:
    text = (root / INFO).read_text()
    (root / INFO).write_text(text[: len(text) // 2])
    answer = call(command, root)
    assert answer.code == 4
    assert f"{INFO}: cannot be read" in answer.out + answer.err
    assert "Traceback" not in answer.err


def test_episodes_replay_to_the_same_state(made: Path) -> None:
    answer = spawn("replay", made)
    assert (answer.code, answer.out, answer.err) == (0, "2 of 2 episodes replayed to the same state, bit for bit\n", "")
    one = call("replay", made, "--episode", "1", "--json")
    assert one.code == 0
    assert one.lines == [{"episodes": 1, "equal": 1, "different": {}, "notes": []}]
    assert refused("replay", made, "--episode", "2") == ["--episode 2: the dataset has episodes 0 to 1"]


def test_an_episode_that_replays_otherwise_is_told(root: Path) -> None:
    shutil.copy(root / log_file(0), root / log_file(1))
    answer = call("replay", root)
    assert answer.code == 4
    *differences, last = answer.out.splitlines()
    assert last == "1 of 2 episodes replayed to the same state, bit for bit"
    assert all(line.startswith("episode 1: ") for line in differences)
    assert any("the replay ends in state" in line for line in differences)
    told = call("replay", root, "--json")
    assert told.code == 4
    assert list(told.lines[0]["different"]) == ["1"]
    assert told.lines[0]["equal"] == 1
