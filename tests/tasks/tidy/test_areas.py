"""Which board a thing goes to, and files that do not say it."""

from __future__ import annotations

from pathlib import Path

import pytest

from graspline.errors import InputError
from graspline.scenes.fittings import BOARDS, SHELF
from graspline.scenes.household import KNOWN
from graspline.tasks.tidy.areas import area_of, areas_of
from graspline.tasks.tidy.parameters import PlacingParameters


def written(tmp_path: Path, text: str) -> str:
    file = tmp_path / "areas.yaml"
    file.write_text(text)
    return str(file)


def test_every_known_thing_and_all_others_have_a_board() -> None:
    for name in (*(item.name for item in KNOWN), "unknown", "something_else"):
        assert area_of(PlacingParameters(), name).board in BOARDS
    assert area_of(PlacingParameters(), "cracker_box").level == SHELF.level("board_low")


def test_another_set_is_active_if_asked_for() -> None:
    assert {name: area.name for name, area in areas_of("", "one_board").items()} == {"unknown": "board_middle"}
    assert area_of(PlacingParameters(area="one_board"), "cracker_box").name == "board_middle"


def test_a_file_of_ones_own_is_used(tmp_path: Path) -> None:
    file = written(tmp_path, "mine:\n  mug: board_high\n  unknown: board_low\n")
    placing = PlacingParameters(areas_file=file, area="mine")
    assert (area_of(placing, "mug").name, area_of(placing, "apple").name) == ("board_high", "board_low")


def test_a_file_defines_areas_of_its_own_by_board_and_rectangle(tmp_path: Path) -> None:
    corner = "  corner:\n    board: board_high\n    depth_m: [0.0, 0.2]\n    across_m: [0.1, 0.3]\n"
    file = written(
        tmp_path, f"areas:\n{corner}  lowest: {{board: board_low}}\nmine:\n  mug: lowest\n  unknown: corner\n"
    )
    areas = areas_of(file, "mine")
    assert (areas["unknown"].name, areas["unknown"].board) == ("corner", "board_high")
    level, board = areas["unknown"].level, SHELF.level("board_high")
    front = board.position_m[0] - board.half_extents_m[0]
    assert level.position_m == pytest.approx((front + 0.1, 0.2, board.position_m[2]))
    assert level.half_extents_m == pytest.approx((0.1, 0.1))
    assert areas["unknown"].least_side_m == pytest.approx(0.2)
    assert areas["mug"].level.half_extents_m == pytest.approx(SHELF.level("board_low").half_extents_m)
    assert areas["mug"].level.position_m == pytest.approx(SHELF.level("board_low").position_m)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("{depth_m: [0, 0.2]}", ":2: areas.mine_own: board: required, but not given"),
        ("{board: cellar}", ":2: areas.mine_own: board: unknown choice 'cellar'; known: board_high, board_low"),
        ("{board: board_loww}", "did you mean 'board_low'?"),
        ("{board: board_low, depth: [0, 0.2]}", ":2: areas.mine_own: unknown key 'depth'; did you mean 'depth_m'?"),
        (
            "{board: board_low, depth_m: [0, 0.5]}",
            "depth_m: [0, 0.5] reaches above 0.328 (allowed 0 to 0.328, metres)",
        ),
        ("{board: board_low, across_m: [0.3, 0.1]}", "its low end 0.3 is above its high end 0.1"),
        ("{board: board_low, across_m: 0.1}", "across_m: 0.1 is not"),
        ("{board: board_low, across_m: [0.1, 0.12]}", "areas.mine_own.across_m: from 0.1 to 0.12 m there is no room"),
        ("board_low", ":2: areas.mine_own: expected the keys board, depth_m, across_m"),
        ("", ":2: areas.mine_own: expected the keys board, depth_m, across_m"),
    ],
)
def test_an_area_that_is_not_on_the_shelf_is_refused_with_its_line(tmp_path: Path, keys: str, words: str) -> None:
    file = written(tmp_path, f"areas:\n  mine_own: {keys}\nmine:\n  unknown: mine_own\n")
    with pytest.raises(InputError) as refused:
        areas_of(file, "mine")
    assert words in str(refused.value)
    assert str(refused.value).startswith(file)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("areas: {board_low: {board: board_low}}\nmine: {unknown: board_low}\n", "this is the name of a board"),
        ("areas: 3\nmine: {unknown: board_low}\n", ":1: areas: expected names of areas"),
        (
            "areas: {left: {board: board_low}}\nmine: {unknown: lift}\n",
            ":2: mine.unknown: area: 'lift' is unknown; did you mean 'left'?",
        ),
        ("areas: {left: {board: board_low}}\n", "has no sets of areas"),
    ],
)
def test_areas_with_names_of_boards_or_without_a_set_are_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        areas_of(written(tmp_path, text), "mine")
    assert words in str(refused.value)


def test_definitions_are_no_set_of_areas(tmp_path: Path) -> None:
    file = written(tmp_path, "areas: {left: {board: board_low}}\nmine: {unknown: left}\n")
    with pytest.raises(InputError, match=r"placing\.area: 'areas' is unknown; known: mine"):
        areas_of(file, "areas")


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
        assert area_of(placing, "mug").name == board
