"""Whether a robot's files are still those that something was recorded with."""

from __future__ import annotations

from pathlib import Path

import pytest

from graspline.robots.digest import digest_of

from .unknown_arms import TONGS, TONGS_DESCRIPTION, written


@pytest.fixture
def tongs(tmp_path: Path) -> Path:
    return written(tmp_path, "tongs", TONGS, TONGS_DESCRIPTION)


def test_robots_that_are_found_by_name_have_none() -> None:
    assert digest_of("so101") == digest_of("my_lab.robots:ARM") == ""


def test_comments_and_places_of_files_do_not_count(tongs: Path, tmp_path: Path) -> None:
    before = digest_of(str(tongs))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    assert digest_of(str(written(folder, "tongs", TONGS, f"# Checked.\n{TONGS_DESCRIPTION}"))) == before


@pytest.mark.parametrize(
    ("model", "description"),
    [
        (TONGS, TONGS_DESCRIPTION.replace("home: [0.0, -0.4", "home: [0.0, -0.3")),
        (TONGS.replace('mass="0.4"', 'mass="0.41"'), TONGS_DESCRIPTION),
    ],
)
def test_a_change_of_the_description_or_the_model_is_seen(tongs: Path, model: str, description: str) -> None:
    before = digest_of(str(tongs))
    assert digest_of(str(written(tongs.parent, "tongs", model, description))) != before
