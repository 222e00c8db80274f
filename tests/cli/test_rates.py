"""`graspline rates`: a point, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .doors import graspline


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["grab"], "grab has no belt; tasks that have one: sort"),
        (["sort", "--at", "3"], "expected a speed, a colon and densities"),
        (["sort", "--at", "0.05:x"], "expected a speed, a colon and densities"),
        (["sort", "--at", "9:4"], "belt.speed_m_s"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments: list[str], said: str, tmp_path: Path) -> None:
    done = graspline("rates", *arguments, "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.slow
def test_a_point_is_measured_and_drawn(tmp_path: Path) -> None:
    done = graspline(
        "rates", "sort", "--at", "0.05:9", "--episodes", "1", "--set", "belt.blocks=2", "--json", "--out", str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    (point,) = json.loads(done.stdout)["points"]
    assert (point["sent"], point["sorted_right"], point["false_sorted"]) == (2, 2, 0)
    assert (tmp_path / "rates.svg").read_text().startswith("<svg")
