"""The page of a dataset: what it counts, what it shows, and that it loads nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graspline.cli.commands import app
from graspline.datasets.format.settings import settings_of
from graspline.datasets.format.store import Dataset
from graspline.datasets.report.page import report_page
from graspline.datasets.write.generate import generate
from graspline.errors import GrasplineError
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube, RetryParameters

from ..conftest import EPISODES, InlinePool
from .test_summary import MISSED, with_rejected


class Tags(HTMLParser):
    """The tags that are open, and every address that is named."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def made_with_a_drop(root: Path, grasps: int) -> str:
    """The page of one episode in which the cube is struck from the hand, with `grasps` further attempts at a grasp."""
    parameters = LiftCube(retries=RetryParameters(grasps=grasps))
    settings = settings_of(LIFT_CUBE, parameters, fps=10, keep="all", seed=1, faults=("drop@lift+0.3",))
    generate(root, settings, 1, InlinePool())
    return report_page(Dataset.open(root))


@pytest.fixture(scope="module")
def shown(made: Path) -> str:
    return report_page(Dataset.open(made))


def test_a_page_is_whole_and_loads_nothing(shown: str) -> None:
    tags = Tags(shown)
    assert tags.open == []
    assert [each.split(",")[0] for each in tags.addresses] == EPISODES * ["data:image/jpeg;base64"]
    assert "http" not in re.sub(r"xmlns='[^']*'", "", shown)
    assert "url(" not in shown.replace("url(#", "")


def test_a_page_says_what_the_dataset_is(shown: str) -> None:
    assert "Lift the cube and hold it still." in shown
    assert "front:64x48" in shown
    assert "state_limit_s" in shown
    assert "3 / 3" in shown
    assert "No attempt failed." in shown
    assert "What was tried again" not in shown
    assert "edge_m" in shown


def test_a_page_counts_the_ways_through_the_machine(shown: str) -> None:
    assert "seen ×3" in shown
    assert "verified ×3" in shown
    assert "class='never'" in shown


def test_attempts_that_were_not_kept_are_told_by_verdict_and_state(made: Path) -> None:
    page = report_page(with_rejected(Dataset.open(made), MISSED, MISSED))
    assert "3 / 5" in page
    assert "<td>missed</td><td>close</td><td>2</td><td>40.0 %</td><td>seed 7, not kept</td>" in page
    assert "gap 0 m (limit &gt;= 1 m)" in page
    assert page.count("<title>missed, seed 7</title>") == 2


def test_a_recovery_is_told_with_what_broke(tmp_path: Path) -> None:
    page = made_with_a_drop(tmp_path, grasps=2)
    assert "What was tried again" in page
    assert re.search(r"<td>lift</td><td>(dropped|slipped)</td><td>1</td><td>1</td><td>episode 0 \(seed 1\)</td>", page)
    assert "An injected fault took effect in 1 episode." in page
    assert "succeeded after a recovery" in page
    assert "The dataset has no cameras" in page
    assert "<img" not in page


def test_a_failure_that_was_kept_is_told_with_what_broke(tmp_path: Path) -> None:
    page = made_with_a_drop(tmp_path, grasps=0)
    assert re.search(r"<td>(dropped|slipped)</td><td>lift</td><td>1</td><td>100.0 %</td><td>episode 0 ", page)
    assert "0 / 1" in page
    assert "class='cross'" in page


def test_a_page_is_saved_beside_the_dataset_by_a_real_command(dataset: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "graspline", "report", str(dataset)], capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert f"saved: {dataset / 'report.html'}" in done.stderr
    assert (dataset / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def refused(*words: str | Path) -> int:
    """The exit code of a command that fails."""
    raised = CliRunner().invoke(app, ["report", *map(str, words)]).exception
    assert isinstance(raised, GrasplineError), raised
    return raised.exit_code


def test_what_is_no_dataset_is_refused_and_left_alone(tmp_path: Path) -> None:
    assert refused(tmp_path) == 2
    assert refused(tmp_path / "nothing") == 2
    assert list(tmp_path.iterdir()) == []


def test_a_page_has_a_name_of_a_page(made: Path, tmp_path: Path) -> None:
    assert refused(made, "--out", tmp_path / "report.pdf") == 2


def test_a_page_that_cannot_be_written_is_a_problem_of_the_machine(made: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refused(made, "--out", tmp_path / "file" / "report.html") == 3


def test_a_missing_log_is_a_problem_of_the_dataset(dataset: Path) -> None:
    next((dataset / "graspline/logs").iterdir()).unlink()
    assert refused(dataset) == 4
    assert not (dataset / "report.html").exists()


def test_no_recovery_is_shown_as_not_needed_and_not_as_a_rate_of_zero(shown: str) -> None:
    assert "succeeded first try" in shown
    assert "after a recovery" not in shown
    assert "No recovery was needed." in shown
