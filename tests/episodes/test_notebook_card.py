"""How episodes show themselves."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.evidence import EvidenceTable, at_least
from graspline.tasks.catalogue import find_task


@pytest.fixture(scope="module")
def episode() -> Episode:
    task = find_task("lift-cube")
    (played,) = run_scenarios([Scenario(task=task, parameters=task.parameters(), seed=7, faults=("drop@lift",))])
    return played


def test_an_episode_and_its_scenario_print_in_one_line(episode: Episode) -> None:
    assert repr(episode) == f"<Episode lift-cube seed 7: success, {episode.sim_time_s:.1f} s simulated, 1 retry>"
    assert repr(replace(episode, retries=0)).endswith("no retries>")
    assert repr(episode.scenario) == "<Scenario lift-cube seed 7, faults drop@lift>"


def test_a_card_has_verdict_instruction_evidence_faults_and_states(episode: Episode) -> None:
    shown = episode._repr_html_()
    for words in (">success<", "Lift the cube and hold it still.", "goal met by ground truth", "drop@lift"):
        assert words in shown
    assert " mm<" in shown
    assert f"{len(episode.transitions)} states" in shown
    assert shown.count("<td") > 4 * len(episode.transitions)


def test_a_card_never_hides_a_false_success_or_an_error(episode: Episode) -> None:
    false = replace(episode, goal_by_truth=(at_least("raised", 0.0, 0.05, "m"),))
    assert "goal NOT met by ground truth: a false success" in false._repr_html_()
    assert "background:#b3261e" in false._repr_html_()
    failed = replace(false, verdict="dropped", succeeded=False, error="<oops>")
    assert ">dropped<" in failed._repr_html_()
    assert "goal not met" in failed._repr_html_()
    assert "error: &lt;oops&gt;" in failed._repr_html_()


def test_evidence_of_an_episode_shows_itself_also_after_a_journey_to_another_process(episode: Episode) -> None:
    travelled = pickle.loads(pickle.dumps(episode))
    for evidence in (travelled.evidence, episode.evidence, episode.goal_by_truth):
        assert isinstance(evidence, EvidenceTable)
        assert "raised" in evidence._repr_html_()
    assert travelled.evidence == episode.evidence


def test_the_diagram_of_an_episode_counts_what_happened(episode: Episode) -> None:
    diagram = episode.diagram()
    assert repr(diagram) == "<Diagram of lift-cube: 11 states>"
    assert "seen ×2" in diagram.svg
    assert "slipped ×1" in diagram.svg or "dropped ×1" in diagram.svg
    assert "class='never'" in diagram.svg
