"""Files that commands write."""

from __future__ import annotations

from pathlib import Path

import pytest

import graspline.cli.report
from graspline.cli.outputs import wrapped, write_whole

from .doors import call


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "half a character: \udc80")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_page_that_is_being_read_stays_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_whole(path, "old")
    with path.open() as reading:
        write_whole(path, "new")
        assert reading.read() == "old"
    assert path.read_text() == "new"


def test_a_report_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is refused by the encoder after the old file would have been emptied."""
    monkeypatch.setattr(graspline.cli.report.Dataset, "open", lambda folder: None)
    monkeypatch.setattr(graspline.cli.report, "report_page", lambda dataset: "half a character: \udc80")
    (tmp_path / "report.html").write_text("old")
    assert call("report", tmp_path).code == 5
    assert (tmp_path / "report.html").read_text() == "old"


def test_long_lines_are_wrapped_but_no_number_is_parted_from_its_unit() -> None:
    lines = wrapped("drops detected after " + ", ".join(f"state_{n} {n} ms" for n in range(12)))
    assert len(lines) > 1
    assert all(len(line) <= 80 for line in lines)
    assert not any(line.strip().startswith("ms") for line in lines)
    assert all(line.startswith("  ") for line in lines[1:])
    assert " ".join(line.strip() for line in lines).count("ms") == 12
