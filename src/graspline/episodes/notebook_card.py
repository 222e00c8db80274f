"""How an episode shows itself: one line in a terminal, a card in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graspline.evidence import evidence_html, passes
from graspline.notebook import Html, badge, card, folded, table
from graspline.wording import counted

if TYPE_CHECKING:
    from graspline.episodes.episode import Episode


def episode_line(episode: Episode) -> str:
    """Task, seed, verdict, duration and retries."""
    scenario = episode.scenario
    return f"<Episode {scenario.task.name} seed {scenario.seed}: {episode.verdict}, {_duration(episode)}>"


def episode_card(episode: Episode) -> Html:
    """The verdict and its evidence; the states it went through are folded."""
    scenario, good = episode.scenario, episode.succeeded and not episode.false_success
    lines = [episode.instruction.sentence, f"{_duration(episode)}, {_by_truth(episode)}"]
    lines += [f"faults injected: {', '.join(scenario.faults)}"] if scenario.faults else []
    lines += [f"error: {episode.error}"] if episode.error else []
    parts = [evidence_html(episode.evidence)] if episode.evidence else []
    return card(
        f"{scenario.task.name}, seed {scenario.seed}",
        badge(episode.verdict, "good" if good else "plain" if episode.declined else "bad"),
        lines,
        [*parts, folded(counted(len(episode.transitions), "state"), _states(episode))],
    )


def _duration(episode: Episode) -> str:
    retries = counted(episode.retries, "retry", "retries") if episode.retries else "no retries"
    return f"{episode.sim_time_s:.1f} s simulated, {retries}"


def _by_truth(episode: Episode) -> str:
    """Whether the simulator agrees with the verdict."""
    holds = passes(episode.goal_by_truth)
    if episode.succeeded:
        return "goal met by ground truth" if holds else "goal NOT met by ground truth: a false success"
    return "goal met by ground truth, though not claimed" if holds else "goal not met"


def _states(episode: Episode) -> Html:
    rows = [(f"{each.t_s:.2f} s", each.state, each.outcome, each.about, str(each.then)) for each in episode.transitions]
    return table(("ended at", "state", "outcome", "about", "next"), rows)
