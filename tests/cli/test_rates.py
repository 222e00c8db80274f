"""`graspline rates`: a point, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from .doors import call, refused


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["grab"], "rates does not work with grab; choose sort"),
        (["sort", "--at", "3"], "expected a speed, a colon and densities"),
        (["sort", "--at", "0.05:x"], "expected a speed, a colon and densities"),
        (["sort", "--at", "9:4"], "--at 9:4: belt.speed_m_s"),
        (
            ["sort", "--at", "0.05:inf"],
            "--at 0.05:inf: belt.density_per_m=inf: 'inf' is not a number (allowed 0.2 to 14, per metre)",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments: list[str], said: str, tmp_path: Path) -> None:
    (problem,) = refused("rates", *arguments, "--out", tmp_path / "out")
    assert said in problem
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_point_is_measured_and_drawn(tmp_path: Path) -> None:
    order = ("--at", "0.05:9", "--episodes", "1", "--set", "belt.blocks=2")
    answer = call("rates", "sort", *order, "--json", "--out", tmp_path)
    assert answer.code == 0, answer.err
    ((point,),) = (each["points"] for each in answer.lines)
    assert (point["sent"], point["sorted_right"], point["false_sorted"]) == (2, 2, 0)
    assert (tmp_path / "rates.svg").read_text().startswith("<svg")
