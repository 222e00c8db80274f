"""`graspline teachability` as one would use it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from graspline.datasets.format.rows import log_file

from .doors import call, refused, spawn


@pytest.fixture(scope="module")
def cubes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three episodes without cameras; nobody may change them."""
    root = tmp_path_factory.mktemp("teachability") / "cubes"
    words = ("--episodes", "3", "--cameras", "none", "--fps", "30", "--workers", "1")
    assert call("generate", "lift-cube", *words, "--out", root).code == 0
    return root


def test_everything_is_printed_in_eighty_columns(cubes: Path) -> None:
    answer = spawn("teachability", "cubes", "--neighbours", "2", cwd=cubes.parent)
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0].startswith("cubes: 3 episodes, ")
    assert max(map(len, lines)) <= 80
    for heading in ("Spread at the first grasp", "Path of each", "Pauses", "Idle frames", "Speed", "Assessment"):
        assert any(line.startswith(heading) for line in lines), heading
    assert any("generate more episodes" in line for line in lines)
    assert sum(line.strip().startswith("good: ") for line in lines) == 7


def test_json_is_one_object(cubes: Path) -> None:
    answer = call("teachability", cubes, "--neighbours", "2", "--by", "object", "--json")
    assert answer.code == 0
    (told,) = answer.lines
    assert told["episodes"] == 3
    assert told["scene"]["by"] == "object"
    assert {each["joint"] for each in told["scene"]["joints"]} >= {"shoulder_pan", "wrist_roll", "gripper"}
    assert told["pacing"]["paused_in"][0]["state"] == "hold"


def test_a_page_is_written_beside_the_table(cubes: Path, tmp_path: Path) -> None:
    page = tmp_path / "new" / "cubes.html"
    answer = call("teachability", cubes, "--neighbours", "2", "--out", page)
    assert answer.code == 0
    assert answer.err.strip() == f"saved: {page}"
    text = page.read_text()
    assert text.count("<svg") == 3
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_three_scenes_are_too_few_for_five_neighbours(cubes: Path) -> None:
    answer = call("teachability", cubes)
    assert answer.code == 0
    assert "Scenes are not compared: no scene has 5 others" in answer.out
    assert "Pauses" in answer.out


def test_wrong_options_and_folders_are_refused(cubes: Path, tmp_path: Path) -> None:
    assert refused("teachability", tmp_path / "nowhere") == [f"{tmp_path / 'nowhere'}: no such folder"]
    assert "not a LeRobot dataset" in refused("teachability", tmp_path)[0]
    assert refused("teachability", cubes, "--by", "things") == ["--by: 'things' is unknown; known: object, scene"]
    assert "ends in .html" in refused("teachability", cubes, "--out", "page.txt")[0]
    assert "--neighbours" in refused("teachability", cubes, "--neighbours", "0")[0]


def test_a_damaged_dataset_is_refused_by_file(cubes: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(cubes, tmp_path / "cubes"))
    (root / log_file(1)).unlink()
    page = tmp_path / "page.html"
    answer = call("teachability", root, "--out", page)
    assert answer.code == 4
    assert answer.err == f"graspline: {root / log_file(1)}: is missing\n"
    assert not page.exists()
