from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graspline.errors import InputError
from graspline.evaluations.comparison import compare
from graspline.evaluations.comparison_page import comparison_page, summary_lines

from .playing import evaluation, line


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "a", tmp_path / "b"


def mode(fails: bool) -> str:
    return "missed" if fails else ""


def two(folders: tuple[Path, Path], first: Callable[[int], bool], second: Callable[[int], bool]) -> None:
    """Two evaluations of forty episodes each; what fails is given."""
    evaluation(folders[0], [line(seed, mode(first(seed))) for seed in range(40)], policy="a:A")
    evaluation(folders[1], [line(seed, mode(second(seed))) for seed in range(40)], policy="b:B")


def test_rates_difference_and_discordant_seeds_are_those_of_the_lines(folders: tuple[Path, Path]) -> None:
    two(folders, lambda seed: seed < 20, lambda seed: seed in (18, 19, 20))
    found = compare(*folders)
    assert found.rates == (20, 37)
    assert found.difference == pytest.approx(17 / 40)
    assert found.interval[0] < 17 / 40 < found.interval[1]
    assert (found.only(0), found.only(1)) == ((20,), tuple(range(18)))
    # Two-sided, 1 of 19: 2 (1 + 19) / 2^19.
    assert found.p == pytest.approx(40 / 2**19)
    assert found.endings()["missed", "success"] == tuple(range(18))
    assert "B is better" in "\n".join(summary_lines(found))


def test_equal_outcomes_differ_by_nothing(folders: tuple[Path, Path]) -> None:
    two(folders, lambda seed: seed < 7, lambda seed: seed < 7)
    found = compare(*folders)
    assert (found.difference, found.p, found.only(0), found.only(1)) == (0.0, 1.0, (), ())
    assert found.interval[0] < 0 < found.interval[1]
    assert "may be due to chance" in "\n".join(summary_lines(found))
    assert "None: both succeeded on the same." in comparison_page(found)


def test_only_common_seeds_are_compared_and_that_is_said(folders: tuple[Path, Path]) -> None:
    evaluation(folders[0], [line(seed) for seed in range(30)])
    evaluation(folders[1], [line(seed, "dropped") for seed in range(20, 60)], seed=20)
    found = compare(*folders)
    assert [each.seed for each in found.pairs] == list(range(20, 30))
    said = "compared on 10 common seeds; left out: 20 of A, 30 of B"
    assert said in summary_lines(found)
    assert said[1:] in comparison_page(found)


def test_seeds_apart_are_refused(folders: tuple[Path, Path]) -> None:
    evaluation(folders[0], [line(seed) for seed in range(3)])
    evaluation(folders[1], [line(seed) for seed in range(5, 9)], seed=5)
    with pytest.raises(InputError, match="no seed in common: the first has 0 to 2, the second 5 to 8"):
        compare(*folders)


@pytest.mark.parametrize(
    "others, said",
    [
        ({"faults": ["drop@follow"]}, "faults: the first has [], the second ['drop@follow']"),
        ({"options": {"max_seconds": 60.0}}, "max_seconds: the first has 8.0, the second 60.0"),
    ],
)
def test_other_terms_are_refused_by_name(folders: tuple[Path, Path], others: dict[str, Any], said: str) -> None:
    evaluation(folders[0], [line(1)])
    evaluation(folders[1], [line(1)], **others)
    with pytest.raises(InputError) as refused:
        compare(*folders)
    assert said in str(refused.value)


def test_another_policy_with_other_cameras_may_be_compared(folders: tuple[Path, Path]) -> None:
    evaluation(folders[0], [line(1)])
    evaluation(folders[1], [line(1)], policy="x:Y", options={"fps": 10, "cameras": "front:64x48", "max_seconds": 8.0})
    assert len(compare(*folders).pairs) == 1


def test_scenes_that_differ_are_refused_by_seed_and_factor(folders: tuple[Path, Path]) -> None:
    evaluation(folders[0], [line(1), line(2)])
    evaluation(folders[1], [line(1), line(2, factors={"cube.x_m": 0.3, "cube.y_m": -0.08})])
    with pytest.raises(InputError, match=r"the scene of seed 2, cube.x_m: the first has 0.14, the second 0.3"):
        compare(*folders)


def test_a_difference_in_one_place_is_found_there(folders: tuple[Path, Path]) -> None:
    def scene(seed: int, name: str) -> dict[str, Any]:
        return line(seed, name, factors={"near": float(seed % 50), "other": float((seed * 37) % 101)})

    evaluation(folders[0], [scene(seed, "") for seed in range(200)])
    evaluation(folders[1], [scene(seed, mode(seed % 50 > 35)) for seed in range(200)])
    found = compare(*folders)
    assert [each.name for each in found.factors if each.stands_out] == ["near"]
    assert "the difference depends on near" in summary_lines(found)


def test_lines_fit_a_narrow_terminal_and_the_numbers_are_json(folders: tuple[Path, Path]) -> None:
    two(folders, lambda seed: seed < 30, lambda seed: seed >= 30)
    found = compare(*folders)
    assert all(len(each) <= 80 for each in summary_lines(found)[2:])
    plain = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert (plain["seeds"], plain["both"], plain["neither"]) == (40, 0, 0)
    assert len(plain["only_first"]) == 10
    page = comparison_page(found)
    assert "McNemar" in page
    assert "src=" not in page
