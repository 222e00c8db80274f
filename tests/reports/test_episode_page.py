"""The page of one episode: every number on it, the moments that tell the story, and nothing loaded from anywhere."""

from __future__ import annotations

import dataclasses
import re
from html import escape
from html.parser import HTMLParser

import pytest

from graspline import Scenario, find_task, run_scenarios
from graspline.episodes.episode import Episode
from graspline.evidence import at_most
from graspline.reports.episode_page import Chronicle, Ending, report_page, telling_moments

PNG = b"not really a picture"


@pytest.fixture(scope="module")
def played() -> tuple[Episode, list[Ending]]:
    task, history = find_task("lift-cube"), Chronicle()
    scenario = Scenario(task=task, parameters=task.parameters(), seed=1)
    (episode,) = run_scenarios([scenario], record_states=True, onlookers=[history])
    return episode, history.endings


class Tags(HTMLParser):
    """The tags that are open, and every address that is named."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "img", "br", "!doctype"):
            self.open.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_chronicle_notes_every_transition_and_what_truth_says_of_each_claim(
    played: tuple[Episode, list[Ending]],
) -> None:
    episode, endings = played
    assert [(each.ended.state, each.ended.outcome) for each in endings] == [
        (each.state, each.outcome) for each in episode.transitions
    ]
    claims = episode.scenario.task.claims.outcomes
    for each in endings:
        assert each.claim == claims.get((each.ended.state, each.ended.outcome))
        assert bool(each.by_truth) == (each.claim is not None)


@pytest.mark.parametrize("count", [2, 4, 12, 40])
def test_moments_go_from_the_first_tick_to_the_last_without_a_repeat(
    played: tuple[Episode, list[Ending]], count: int
) -> None:
    episode, endings = played
    moments = telling_moments(episode, endings, count)
    ticks = [each.tick for each in moments]
    assert len(ticks) == count
    assert ticks == sorted(set(ticks))
    assert (ticks[0], ticks[-1]) == (0, len(episode.log.states) - 1)
    assert moments[-1].words.endswith(episode.verdict)


def test_moments_show_what_was_claimed(played: tuple[Episode, list[Ending]]) -> None:
    episode, endings = played
    words = " ".join(each.words for each in telling_moments(episode, endings))
    # The last picture tells the verdict.
    claimed = [each for each in endings if each.claim is not None and each.time_s < episode.sim_time_s]
    assert claimed
    assert all(each.words in words for each in claimed)


def test_a_page_shows_verdict_evidence_and_transitions_and_loads_nothing(played: tuple[Episode, list[Ending]]) -> None:
    episode, endings = played
    page = report_page(episode, endings, PNG)
    tags = Tags(page)
    assert tags.open == []
    assert [each.split(",")[0] for each in tags.addresses] == ["data:image/png;base64"]
    assert "http" not in re.sub(r"xmlns='[^']*'", "", page)
    assert f"Verdict: {episode.verdict}" in page
    for each in episode.evidence:
        assert each.name in page
        assert escape(each.value_text) in page
        assert escape(each.limit_text) in page
    for each in episode.transitions:
        assert f"<td>{each.state}</td><td>{each.outcome}</td>" in page


def test_a_page_says_where_the_simulator_disagrees(played: tuple[Episode, list[Ending]]) -> None:
    episode, endings = played
    missed = dataclasses.replace(episode, goal_by_truth=(at_most("<off>", 2.0, 1.0, "m"),))
    page = report_page(missed, endings, PNG)
    assert "According to the simulator the goal was not reached." in page
    assert "<off>" not in page
