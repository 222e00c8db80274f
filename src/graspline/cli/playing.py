"""What commands that play episodes share: the loop, the report and the exit code."""

from __future__ import annotations

import collections
import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from graspline.cli.interrupts import stopping
from graspline.cli.outputs import WIDTH, report_saved
from graspline.cli.questions import UnaskedQuestions
from graspline.cli.run_progress import RunProgress
from graspline.cli.seed_order import InOrder
from graspline.cli.streams import unread
from graspline.episodes.episode import INTERRUPTED, POLICY_ERROR, Episode
from graspline.episodes.films.film import FilmStopped, film
from graspline.episodes.questions import first_default
from graspline.episodes.statistics import rate_text
from graspline.evaluations.store import Line, shown
from graspline.evaluations.summary import in_order, mode_of
from graspline.evidence import Evidence, Measurement
from graspline.scenes.scene import Scene
from graspline.wording import counted

_SEEDS_SHOWN = 8
_NEAREST = "    --log info also prints the nearest order that would pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How the episodes that a command plays are reported."""

    episodes: int
    # Of the first; the others count up.
    seed: int
    scene: Scene
    as_json: bool
    video: Path | None
    require_success: float | None
    # A policy neither retries nor claims anything: whether it succeeded is what the simulator says.
    by_machine: bool = True
    # Whether lines of a log go to standard error meanwhile, which show how far it is.
    logged: bool = False
    # Episodes that were played before, which count like those that are played now.
    recorded: tuple[Line, ...] = ()

    def say(self, line: str) -> None:
        """One line for people; with --json nothing else may be on standard output."""
        print(line, file=sys.stderr if self.as_json else sys.stdout)

    @property
    def wanted_unread(self) -> bool:
        """Whether there is a reason to play on when what is printed is not read any more."""
        return not self.as_json or self.video is not None or self.require_success is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeResult:
    """What the summary needs of an episode; its log is let go."""

    seed: int
    verdict: str
    succeeded: bool
    sim_time_s: float
    # How a policy failed, by truth.
    mode: str = ""
    error: str = ""
    retries: int = 0
    refused: int = 0
    evidence: Evidence = ()
    declined: bool = False
    false_success: bool = False
    certified: bool | None = None
    # Whether the CPU came to the same result, success or not; None if it was not replayed there.
    agreed: bool | None = None
    # Why an order was rejected: the measurement that failed, and which setting would help.
    why: Measurement | None = None
    advice: str = ""


def outcome_of(episode: Episode) -> EpisodeResult:
    """What the summary needs of a played episode."""
    why = episode.evidence[0] if episode.declined and episode.evidence else None
    task, parameters = episode.scenario.task, episode.scenario.parameters
    return EpisodeResult(
        seed=episode.scenario.seed,
        verdict=episode.verdict,
        succeeded=episode.succeeded,
        sim_time_s=episode.sim_time_s,
        mode="" if episode.failure is None else episode.failure.mode,
        error=episode.error,
        retries=episode.retries,
        refused=episode.sampled.refused,
        evidence=episode.evidence if episode.failure is None else (*episode.evidence, *episode.failure.evidence),
        declined=episode.declined,
        false_success=episode.false_success,
        certified=episode.certified if episode.succeeded else None,
        agreed=episode.certified,
        why=why,
        advice=task.rejections.advise(parameters, why) if why is not None else "",
    )


def outcome_of_line(line: Line) -> EpisodeResult:
    """What the summary needs of an episode that was played before, from its line."""
    return EpisodeResult(
        seed=line["seed"],
        verdict=line["verdict"],
        succeeded=line["succeeded"],
        sim_time_s=line["sim_time_s"],
        mode=mode_of(line),
        error=line.get("error", ""),
        agreed=line.get("certified"),
    )


def play(report: Report, episodes: Callable[[Callable[[], bool], RunProgress], Iterator[Episode]]) -> int:
    """Report each episode as it ends and all of them at the end; returns the exit code.

    `episodes` gets a function that turns true once a stop is requested, and the bar that shows how far it is.
    """
    began, played, lines = time.monotonic(), list[EpisodeResult](), InOrder(report.seed)
    filming_s = 0.0
    unasked = UnaskedQuestions()
    with (
        stopping() as stop,
        # One episode has no rate; a line would say nothing that the summary does not.
        RunProgress(
            "episodes", report.episodes, beside_output=report.as_json, lines=report.episodes > 1, bar=not report.logged
        ) as progress,
        # Whatever happens, episodes that have ended are printed.
        contextlib.closing(lines),
    ):
        for line in report.recorded:
            progress.add_recorded(succeeded=line["succeeded"])
            if report.as_json:
                lines.add(line["seed"], shown(line))
        for episode in episodes(stop, progress):
            progress.add(episode)
            if report.as_json:
                lines.add(episode.scenario.seed, episode.as_dict())
            if report.video is not None and episode.verdict != INTERRUPTED:
                filming_s += _film(report, report.video, episode, stop, progress)
            played.append(outcome_of(episode))
            unasked.note(first_default(episode.answers))
            unasked.note_answers(given=bool(episode.scenario.answers), asked=bool(episode.answers))
            if unread() and not report.wanted_unread:
                return _exit_code(played, interrupted=stop(), require_success=None)
        interrupted = stop() or any(each.verdict == INTERRUPTED for each in played)
    outcomes = sorted([*map(outcome_of_line, report.recorded), *played], key=lambda each: each.seed)
    _summarise(outcomes, played, time.monotonic() - began - filming_s, report)
    unasked.report()
    return _exit_code(outcomes, interrupted=interrupted, require_success=report.require_success)


def _film(report: Report, video: Path, episode: Episode, stop: Callable[[], bool], progress: RunProgress) -> float:
    """Write the film of one episode; returns how many seconds that took."""
    began, path = time.monotonic(), _video_path(video, episode, report.episodes)
    try:
        with progress.part(f"rendering {path.name}", said="opening the renderer") as shown:
            film(episode, report.scene, path, stop=stop, progress=shown)
    except FilmStopped:
        with progress.hidden():
            print(f"{path}: rendering was interrupted, no file was kept", file=sys.stderr)
    else:
        with progress.hidden():
            report_saved(path)
    return time.monotonic() - began


def _video_path(path: Path, episode: Episode, episodes: int) -> Path:
    return path if episodes == 1 else path.with_stem(f"{path.stem}-{episode.scenario.seed}")


def _summarise(outcomes: list[EpisodeResult], played: list[EpisodeResult], wall_s: float, report: Report) -> None:
    """A few lines about all episodes, and how fast those were that were played now."""
    if report.episodes == 1 and len(outcomes) == 1:
        _summarise_one(outcomes[0], wall_s, report, report.say)
    else:
        _summarise_all(outcomes, report, report.say)
        _report_pace(played, wall_s, report.say)
    _report_errors(outcomes)


def _summarise_one(outcome: EpisodeResult, wall_s: float, report: Report, say: Callable[[str], object]) -> None:
    """One episode has no rate: how it ended, and what was measured."""
    retries = f", {counted(outcome.retries, 'retry', 'retries')}" if outcome.retries else ""
    how = f"order rejected: {outcome.verdict}" if outcome.declined else outcome.verdict
    how += f" ({outcome.mode})" if outcome.mode and outcome.mode != outcome.verdict else ""
    say(f"{how} after {outcome.sim_time_s:.1f} s{retries} (seed {outcome.seed}, computed in {wall_s:.1f} s)")
    for measurement in outcome.evidence:
        if not measurement.absent:
            say(f"  {'✓' if measurement.passed else '✗'} {measurement}")
    if outcome.why is not None:
        say(_NEAREST)
    if outcome.false_success and report.by_machine:
        say("false claim: the simulator contradicts this success")
    if outcome.agreed is not None and not report.by_machine:
        say(f"replayed on the CPU: {'same result' if outcome.agreed else 'different result'}")
    elif outcome.certified is not None:
        say(f"replayed on the CPU: {'certified' if outcome.certified else 'not certified'}")


def _summarise_all(played: list[EpisodeResult], report: Report, say: Callable[[str], object]) -> None:
    finished = [each for each in played if each.verdict != INTERRUPTED]
    accepted = [each for each in finished if not each.declined]
    if len(accepted) < len(finished):
        say(f"orders accepted: {len(accepted)} of {len(finished)}" + ("; of these" if accepted else ""))
    if accepted:
        count = len(accepted)
        say(f"succeeded: {rate_text(sum(each.succeeded for each in accepted), count)}")
        if report.by_machine:
            first = sum(each.succeeded and each.retries == 0 for each in accepted)
            say(f"succeeded first try: {rate_text(first, count)}")
    if report.by_machine:
        for verdict, number in collections.Counter(each.verdict for each in played if not each.succeeded).most_common():
            say(f"  {verdict}: {number} ({_seeds([each.seed for each in played if each.verdict == verdict])})")
    else:
        _report_modes(played, len(finished), say)
    _report_why(played, say)
    if finished and report.by_machine:
        false = [each.seed for each in finished if each.false_success]
        say(f"false claims: {len(false)}" + (f" ({_seeds(false)})" if false else ""))
        asked = [each for each in finished if each.certified is not None]
        if asked:
            say(f"certified on the CPU: {rate_text(sum(bool(each.certified) for each in asked), len(asked))}")
        sampled = len(played) + sum(each.refused for each in played)
        if sampled > len(played):
            say(f"scenes: {len(played)} kept of {sampled} sampled")
    if not report.by_machine:
        _report_agreed([each for each in finished if each.agreed is not None], say)


def _report_pace(played: list[EpisodeResult], wall_s: float, say: Callable[[str], object]) -> None:
    finished = [each for each in played if each.verdict != INTERRUPTED]
    if finished:
        simulated = sum(each.sim_time_s for each in played)
        say(f"{simulated:.0f} s simulated in {wall_s:.1f} s ({_pace(len(finished) / wall_s)})")


def _report_modes(played: list[EpisodeResult], finished: int, say: Callable[[str], object]) -> None:
    """How policies failed, by how far they got, with the share of all episodes that finished."""
    seeds: dict[str, list[int]] = {}
    for each in played:
        if not each.succeeded:
            seeds.setdefault(each.mode or each.verdict, []).append(each.seed)
    width = max(map(len, seeds), default=0)
    for mode in in_order(seeds):
        number = len(seeds[mode])
        share = f"{100 * number / finished:5.1f} %" if finished and mode != INTERRUPTED else " " * 7
        start = f"  {mode:<{width}} {number:>5} {share}  "
        say(start + _seeds(seeds[mode], WIDTH - len(start)))


def _report_agreed(asked: list[EpisodeResult], say: Callable[[str], object]) -> None:
    """The rate on the CPU, from the same actions, and which episodes end differently there."""
    if not asked:
        return
    otherwise = [each for each in asked if not each.agreed]
    succeeded = sum(each.succeeded == each.agreed for each in asked)
    say(f"succeeded when replayed on the CPU: {rate_text(succeeded, len(asked))}")
    if otherwise:
        say(f"  different result: {len(otherwise)} ({_seeds([each.seed for each in otherwise])})")


def _report_why(played: list[EpisodeResult], say: Callable[[str], object]) -> None:
    """Why orders were rejected: the measurement of a single one, of many how often each."""
    why = [each.why for each in played if each.why is not None]
    if len(why) == 1:
        say(f"    rejected for {why[0]}")
        say(_NEAREST)
    elif why:
        counts = collections.Counter(each.name for each in why).most_common()
        say("    rejected for " + ", ".join(f"{name} {number}" for name, number in counts))
    for advice in dict.fromkeys(each.advice for each in played if each.advice):
        say(f"    {advice}")


def _pace(per_s: float) -> str:
    """Episodes in the time in which there are some."""
    if per_s >= 1:
        return f"{per_s:.1f} episodes per second"
    return f"{60 * per_s:.1f} episodes per minute"


def _report_errors(played: list[EpisodeResult]) -> None:
    """Every error once, with the episodes that raised it: a policy's mistake is mostly raised in all of them."""
    raised: dict[tuple[str, str], list[int]] = {}
    for each in played:
        if each.error:
            raised.setdefault((each.verdict, each.error), []).append(each.seed)
    for (verdict, error), seeds in raised.items():
        print(f"{_seeds(seeds)} {verdict}:\n{error}", file=sys.stderr)


def _seeds(seeds: list[int], width: int = WIDTH) -> str:
    """The first few of them, as many as fit a width."""
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    texts = []
    for count in range(1, min(len(seeds), _SEEDS_SHOWN) + 1):
        more = ", …" if len(seeds) > count else ""
        texts.append(f"seeds {', '.join(map(str, seeds[:count]))}{more}")
    return next((each for each in reversed(texts) if len(each) <= width), texts[0])


def _exit_code(played: list[EpisodeResult], *, interrupted: bool, require_success: float | None) -> int:
    if interrupted:
        return 130
    if any(each.verdict == "crashed" for each in played):
        return 5
    if any(each.verdict == POLICY_ERROR for each in played):
        return 2
    accepted = [each for each in played if not each.declined]
    share = sum(each.succeeded for each in accepted) / max(len(accepted), 1)
    return 1 if require_success is not None and share < require_success else 0
