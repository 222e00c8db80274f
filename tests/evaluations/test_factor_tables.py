from __future__ import annotations

import numpy as np
import pytest

from graspline.evaluations.factor_tables import BINS, Factor, factor_tables

EPISODES = 300


def episodes(random: np.random.Generator, factors: int = 6) -> list[dict[str, float]]:
    return [
        {f"f{index}": float(value) for index, value in enumerate(row)}
        for row in random.uniform(size=(EPISODES, factors))
    ]


def by_name(found: list[Factor]) -> dict[str, Factor]:
    return {each.name: each for each in found}


def test_a_factor_that_decides_stands_out_and_comes_first() -> None:
    random = np.random.default_rng(1)
    scenes = episodes(random)
    outcomes = [float(each["f3"] + random.normal(0, 0.3) > 0.5) for each in scenes]
    found = factor_tables(scenes, outcomes)
    assert found[0].name == "f3"
    assert [each.stands_out for each in found] == [True] + [False] * 5
    assert sum(each.episodes for each in found[0].bins) == EPISODES
    assert found[0].bins[0].mean < 0.2 < 0.8 < found[0].bins[-1].mean


def test_a_factor_that_hurts_at_both_ends_stands_out_too() -> None:
    random = np.random.default_rng(2)
    scenes = episodes(random)
    outcomes = [float(abs(each["f1"] - 0.5) < 0.25) for each in scenes]
    assert [each.name for each in factor_tables(scenes, outcomes) if each.stands_out] == ["f1"]


def test_chance_makes_a_factor_stand_out_in_about_one_of_twenty_evaluations() -> None:
    random = np.random.default_rng(3)
    false = 0
    for _ in range(40):
        outcomes = (random.uniform(size=EPISODES) < 0.4).astype(float).tolist()
        false += factor_tables(episodes(random, 12), outcomes)[0].stands_out
    assert false <= 6


def test_the_correction_only_raises_p_values() -> None:
    random = np.random.default_rng(4)
    outcomes = (random.uniform(size=EPISODES) < 0.5).astype(float).tolist()
    for each in factor_tables(episodes(random), outcomes):
        assert each.p is not None
        assert each.p_corrected is not None
        assert 0 < each.p <= each.p_corrected <= 1


def test_the_same_episodes_give_the_same_numbers() -> None:
    def tested() -> list[Factor]:
        random = np.random.default_rng(5)
        return factor_tables(episodes(random), (random.uniform(size=EPISODES) < 0.5).astype(float).tolist())

    assert tested() == tested()


def test_bins_hold_about_equally_many_and_do_not_overlap() -> None:
    random = np.random.default_rng(6)
    (found,) = factor_tables([{"x": float(each)} for each in random.normal(size=EPISODES)], [0.0] * 297 + [1.0] * 3)
    assert len(found.bins) == BINS
    assert {each.episodes for each in found.bins} == {EPISODES // BINS}
    assert all(one.high < two.low for one, two in zip(found.bins, found.bins[1:], strict=False))


def test_a_factor_with_few_values_has_a_bin_for_each_and_an_absent_one_has_none() -> None:
    scenes = [{"kind": float(index % 3)} if index % 2 else {} for index in range(60)]
    (found,) = factor_tables(scenes, [float(index % 2) for index in range(60)])
    assert [(each.low, each.high, each.episodes) for each in found.bins] == [(0, 0, 10), (1, 1, 10), (2, 2, 10)]
    # Whether it is there decides here.
    assert found.stands_out


def test_what_does_not_vary_or_says_the_same_twice_is_left_out() -> None:
    scenes = [{"x": float(index), "same": float(index), "still": 1.0} for index in range(30)]
    assert list(by_name(factor_tables(scenes, [float(index % 2) for index in range(30)]))) == ["x"]


@pytest.mark.parametrize("outcomes", [[1.0] * 60, [1.0] * 58 + [0.0] * 2, [1.0, 0.0] * 5])
def test_too_few_episodes_or_too_few_that_differ_are_not_tested(outcomes: list[float]) -> None:
    scenes = [{"x": float(index)} for index in range(len(outcomes))]
    (found,) = factor_tables(scenes, outcomes)
    assert (found.p, found.p_corrected, found.stands_out) == (None, None, False)


def test_nothing_played_gives_nothing() -> None:
    assert factor_tables([], []) == []
