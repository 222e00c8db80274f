"""`graspline workspace` and `graspline jaw` through their front door."""

from __future__ import annotations

from pathlib import Path

import yaml

from .doors import call, refused


def test_a_workspace_is_told_written_and_drawn(tmp_path: Path) -> None:
    answer = call("workspace", "so101", "--samples", "5000", "--out", str(tmp_path / "new"))
    assert answer.code == 0, answer
    assert "straight down, 5 % margin: radius 14 to 271 mm, height -205 to 74 mm" in answer.out
    written = yaml.safe_load((tmp_path / "new" / "workspace_bounds.yaml").read_text())
    assert written["robot"] == "so101"
    assert written["grasp"]["raw"] == {"radius_m": [0.0, 0.285], "height_m": [-0.22, 0.09]}
    assert written["general"]["samples"] == 5000
    drawn = (tmp_path / "new" / "workspace.html").read_text()
    assert drawn.count("<svg") == 2
    assert "<script" not in drawn


def test_the_other_arm_has_a_workspace_too(tmp_path: Path) -> None:
    answer = call("workspace", "ur5e", "--samples", "1000", "--out", str(tmp_path))
    assert answer.code == 0, answer
    # Never nearer to the axis than the wrist is aside of it.
    assert "straight down:             radius 135 to 925 mm, height -895 to 735 mm" in answer.out
    assert yaml.safe_load((tmp_path / "workspace_bounds.yaml").read_text())["axis_m"] == [0.0, 0.0]


def test_a_jaw_is_told_and_drawn_if_asked(tmp_path: Path) -> None:
    answer = call("jaw", "so101", "--out", str(tmp_path))
    assert answer.code == 0, answer
    assert "0°          15.8 mm" in answer.out
    assert "<svg" in (tmp_path / "jaw.html").read_text()
    other = call("jaw", "ur5e")
    assert other.code == 0, other
    assert "30°          58.2 mm" in other.out


def test_an_unknown_robot_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    said = [
        "unknown robot 'so100'; did you mean 'so101'? known: so101, ur5e; or pass your own as MODULE:NAME or as a "
        "description file (.yaml)"
    ]
    assert refused("jaw", "so100") == said
    assert refused("workspace", "so100", "--out", str(tmp_path / "new")) == said
    assert not (tmp_path / "new").exists()
