"""`graspline demo`: what it leaves, and what stops it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from PIL import Image

import graspline.cli.demo
from graspline.episodes.episode import Episode

from .doors import call, spawn, watch


@pytest.mark.slow
def test_a_demo_leaves_a_film_a_sheet_a_report_and_its_result(tmp_path: Path) -> None:
    answer = spawn("demo", "--out", tmp_path / "new" / "demo")
    assert answer.code == 0
    out = tmp_path / "new" / "demo"
    said = [line.removeprefix("saved: ") for line in answer.err.splitlines() if line.startswith("saved: ")]
    assert sorted(said) == sorted(str(path) for path in out.iterdir())
    assert sorted(path.name for path in out.iterdir()) == ["oranges.mp4", "oranges.png", "report.html", "result.json"]
    result = json.loads((out / "result.json").read_text())
    assert result["succeeded"]
    assert watch(out / "oranges.mp4").frames >= 4 * result["sim_time_s"]
    with Image.open(out / "oranges.png") as sheet:
        assert min(sheet.size) > 500
    assert "verdict: success" in answer.out
    assert answer.out.count("✓") == len(result["evidence"])
    for transition in result["transitions"]:
        assert f"{transition['state']:<14} {transition['outcome']}" in answer.out
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Verdict: success" in page
    assert "data:image/png;base64," in page
    assert all(each["name"] in page for each in result["evidence"])


def test_a_demo_whose_folder_is_in_the_way_plays_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for out in (file, file / "below"):
        answer = call("demo", "--out", out)
        assert (answer.code, answer.out) == (3, "")
        assert answer.err == f"graspline: --out: cannot make the folder {out}: a file is in the way\n"


def test_states_are_told_as_they_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(episode: Episode) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(graspline.cli.demo, "_report_verdict", stop)
    answer = call("demo", "--out", tmp_path)
    assert answer.code == 130
    told = answer.out.splitlines()
    assert told[0].startswith("oranges, seed 30: ")
    assert max(map(len, told)) <= 80
    states = [line.split()[2] for line in told if re.match(r" *\d", line)]
    assert states[:3] == ["idle", "plan", "approach"]
    assert told[-1].split()[2:] == ["confirm", "confirmed"]
