"""Which board a thing goes to, and files that do not say it."""

from __future__ import annotations

from pathlib import Path

import pytest

from graspline.errors import InputError
from graspline.scenes.fittings import BOARDS
from graspline.scenes.household import KNOWN
from graspline.tasks.tidy.areas import area_of, areas_of
from graspline.tasks.tidy.parameters import PlacingParameters


def written(tmp_path: Path, text: str) -> str:
    file = tmp_path / "areas.yaml"
    file.write_text(text)
    return str(file)


def test_every_known_thing_and_all_others_have_a_board() -> None:
    for name in (*(item.name for item in KNOWN), "unknown", "something_else"):
        assert area_of(PlacingParameters(), name) in BOARDS
    assert area_of(PlacingParameters(), "cracker_box") == "board_low"


def test_another_set_is_active_if_asked_for() -> None:
    assert areas_of("", "one_board") == {"unknown": "board_middle"}
    assert area_of(PlacingParameters(area="one_board"), "cracker_box") == "board_middle"


def test_a_file_of_ones_own_is_used(tmp_path: Path) -> None:
    file = written(tmp_path, "mine:\n  mug: board_high\n  unknown: board_low\n")
    placing = PlacingParameters(areas_file=file, area="mine")
    assert (area_of(placing, "mug"), area_of(placing, "apple")) == ("board_high", "board_low")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mine: {mug: board_low}\n", "mine needs a line for `unknown`"),
        ("mine: {unknown: cellar}\n", ":1: mine.unknown: area: 'cellar' is unknown; known: board_high"),
        ("mine: {unknown: 3}\n", "mine.unknown: area: '3' is unknown"),
        ("mine: {unknown:}\n", "mine.unknown: area: 'None' is unknown"),
        ("mine: {mugg: board_low, unknown: board_low}\n", "mine: object: 'mugg' is unknown; did you mean 'mug'?"),
        ("mine: board_low\n", "mine needs a line for `unknown`"),
        ("mine:\n", "mine needs a line for `unknown`"),
        ("yours: {unknown: board_low}\n", "placing.area: 'mine' is unknown; known: yours"),
        ("- mine\n", "at the top level; expected keys"),
        ("", "has no sets of areas"),
        ("mine: {unknown: board_low\n", "not valid YAML"),
        ("mine: !!python/object:os.system {}\n", "tag '!!python/object:os.system' is not supported"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        areas_of(written(tmp_path, text), "mine")
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    with pytest.raises(InputError, match=r"missing\.yaml: cannot be read: No such file"):
        areas_of(str(missing), "shelf")
    with pytest.raises(InputError, match="Is a directory"):
        areas_of(str(tmp_path), "shelf")
    (tmp_path / "latin.yaml").write_bytes(b"mine: {unknown: gr\xf6\xdfer}\n")
    with pytest.raises(InputError, match=r"latin\.yaml:1: not UTF-8 text"):
        areas_of(str(tmp_path / "latin.yaml"), "mine")
    for name, why in (("a\0b", "null byte"), ("/dev/zero", "larger than 1 MB")):
        with pytest.raises(InputError, match=why):
            areas_of(name, "mine")


def test_a_file_that_was_changed_is_read_again(tmp_path: Path) -> None:
    for board in ("board_low", "board_high"):
        placing = PlacingParameters(areas_file=written(tmp_path, f"mine: {{unknown: {board}}}\n"), area="mine")
        assert area_of(placing, "mug") == board
