from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from graspline.evaluations.gallery import chosen
from graspline.evaluations.page import evaluation_page
from graspline.evaluations.summary import summarise

from .playing import evaluation, line


def test_the_page_says_the_rate_the_modes_in_order_and_where(tmp_path: Path) -> None:
    modes = ["", "", "dropped", "never_reached", "missed", "missed", "policy_error"] * 6
    found = evaluation(tmp_path, [line(seed, mode) for seed, mode in enumerate(modes)])
    summary = summarise(found)
    assert (summary.episodes, summary.succeeded) == (42, 12)
    assert list(summary.modes) == ["never_reached", "missed", "dropped", "policy_error"]
    assert len(summary.modes["missed"]) == 12
    page = evaluation_page(found, summary, [], "no camera")
    HTMLParser().feed(page)
    assert all(each in page for each in ("12 / 42", "28.6 %", "17.2 to 43.6 %"))
    assert page.index("never_reached") < page.index("<b>missed") < page.index("<b>dropped")
    assert page.count("class='dot'") == 12 + 1
    assert page.count("class='cross'") == 30 + 1
    assert "no camera" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_names_are_text_on_the_page(tmp_path: Path) -> None:
    found = evaluation(tmp_path, [line(1, "<b>odd</b>", error="<script>")], policy="<script>:x")
    page = evaluation_page(found, summarise(found), [])
    assert "<script>" not in page
    assert "<b>odd</b>" not in page.replace("&lt;b&gt;odd&lt;/b&gt;", "")


def test_an_evaluation_without_episodes_has_a_page_too(tmp_path: Path) -> None:
    found = evaluation(tmp_path, [])
    assert "No episode failed." in evaluation_page(found, summarise(found), [])


def test_with_too_few_episodes_the_page_says_what_it_takes_and_shows_no_charts(tmp_path: Path) -> None:
    found = evaluation(tmp_path, [line(seed, "missed" if seed % 2 else "") for seed in range(8)])
    summary = summarise(found)
    page = evaluation_page(found, summary, [])
    assert "at least 20 episodes, with at least 3 successes and 3 failures" in page
    assert "not tested" not in page
    assert "<figcaption>cube." not in page


def test_charts_explain_the_counts_below_their_bars(tmp_path: Path) -> None:
    found = evaluation(tmp_path, [line(seed, "missed" if seed % 3 else "") for seed in range(30)])
    page = evaluation_page(found, summarise(found), [])
    assert "below it, successes / episodes" in page
    assert "<figcaption>cube." in page


def test_numbers_of_the_summary_are_plain(tmp_path: Path) -> None:
    found = evaluation(tmp_path, [line(seed, "missed" if seed % 3 else "") for seed in range(30)])
    plain = summarise(found).as_dict()
    assert plain["summary"]["rate"] == 10 / 30
    (missed,) = plain["failures"]
    assert (missed["mode"], missed["episodes"], missed["share"]) == ("missed", 20, 20 / 30)
    assert {each["name"] for each in plain["factors"]} == {"cube.x_m", "cube.y_m"}
    assert all(each["p_corrected"] is not None for each in plain["factors"])


def test_a_few_of_many_are_chosen_evenly() -> None:
    assert chosen([4, 5]) == [4, 5]
    assert chosen(list(range(11))) == [0, 5, 10]
