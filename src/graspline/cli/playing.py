"""What commands that play episodes share: the loop, the report and the exit code."""

from __future__ import annotations

import collections
import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from graspline.cli.in_order import InOrder
from graspline.cli.interrupts import stopping
from graspline.cli.outputs import tell_saved
from graspline.cli.progress import RunProgress
from graspline.cli.questions import UnaskedQuestions
from graspline.cli.streams import unread
from graspline.episodes.film import FilmStopped, film
from graspline.episodes.questions import first_default
from graspline.episodes.run import INTERRUPTED, POLICY_ERROR, Episode
from graspline.episodes.statistics import rate_text
from graspline.scenes.scene import Scene

_SEEDS_SHOWN = 8
_NEAREST = "    --log info also tells the nearest order that would pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is told of the episodes a command plays."""

    episodes: int
    # Of the first; the others count up.
    seed: int
    scene: Scene
    as_json: bool
    video: Path | None
    require_success: float | None
    # A policy neither retries nor claims anything: whether it succeeded is what the simulator says.
    by_machine: bool = True

    @property
    def wanted_unread(self) -> bool:
        """Whether there is a reason to play on when what is printed is not read any more."""
        return not self.as_json or self.video is not None or self.require_success is not None


class Told:
    """What the summary needs of an episode; its log is let go."""

    def __init__(self, episode: Episode) -> None:
        self.verdict, self.succeeded, self.retries = episode.verdict, episode.succeeded, episode.retries
        self.sim_time_s, self.refused, self.error = episode.sim_time_s, episode.draw.refused, episode.error
        self.evidence = episode.evidence
        # Why an order was turned down: the measurement that failed.
        self.why = episode.evidence[0] if episode.declined and episode.evidence else None
        task, parameters = episode.scenario.task, episode.scenario.parameters
        self.advice = task.advise(parameters, self.why) if self.why is not None else ""
        self.declined, self.false_success, self.seed = episode.declined, episode.false_success, episode.scenario.seed
        self.certified = episode.certified if episode.succeeded else None


def play(report: Report, episodes: Callable[[Callable[[], bool], RunProgress], Iterator[Episode]]) -> int:
    """Tell of each episode as it ends and of all in the end; returns the exit code.

    `episodes` gets a function that turns true once a stop is requested, and the bar that shows how far it is.
    """
    began, played, lines = time.monotonic(), list[Told](), InOrder(report.seed)
    unasked = UnaskedQuestions()
    with (
        stopping() as stop,
        # One episode has no rate; a line would say nothing that the summary does not.
        RunProgress("episodes", report.episodes, beside_output=report.as_json, lines=report.episodes > 1) as progress,
        # Whatever happens: what has ended is told.
        contextlib.closing(lines),
    ):
        for episode in episodes(stop, progress):
            progress.add(episode)
            if report.as_json:
                lines.add(episode.scenario.seed, episode.as_dict())
            if report.video is not None and episode.verdict != INTERRUPTED:
                _film(report, report.video, episode, stop, progress)
            played.append(Told(episode))
            unasked.note(first_default(episode.answers))
            if unread() and not report.wanted_unread:
                return _exit_code(played, interrupted=stop(), require_success=None)
        interrupted = stop() or any(each.verdict == INTERRUPTED for each in played)
    played.sort(key=lambda each: each.seed)
    _summarise(played, time.monotonic() - began, report)
    unasked.tell()
    return _exit_code(played, interrupted=interrupted, require_success=report.require_success)


def _film(report: Report, video: Path, episode: Episode, stop: Callable[[], bool], progress: RunProgress) -> None:
    path = _video_path(video, episode, report.episodes)
    try:
        with progress.part(f"rendering film {path.name}") as shown:
            film(episode, report.scene, path, stop=stop, progress=shown)
    except FilmStopped:
        print(f"{path}: not rendered to its end, and dropped", file=sys.stderr)
    else:
        tell_saved(path)


def _video_path(path: Path, episode: Episode, episodes: int) -> Path:
    return path if episodes == 1 else path.with_stem(f"{path.stem}-{episode.scenario.seed}")


def _summarise(played: list[Told], wall_s: float, report: Report) -> None:
    """A few lines on standard error; with --json nothing else may be on standard output."""
    say = (lambda line: print(line, file=sys.stderr)) if report.as_json else print
    if report.episodes == 1 and played:
        _summarise_one(played[0], wall_s, report, say)
    else:
        _summarise_all(played, wall_s, report, say)
    _tell_errors(played)


def _summarise_one(told: Told, wall_s: float, report: Report, say: Callable[[str], object]) -> None:
    """One episode has no rate: how it ended, and what was measured."""
    retries = "" if told.retries == 0 else f", {_counted(told.retries, 'retry', 'retries')}"
    how = f"turned down: {told.verdict}" if told.declined else told.verdict
    say(f"{how} after {told.sim_time_s:.1f} s{retries} (seed {told.seed}, took {wall_s:.1f} s)")
    for measurement in told.evidence:
        if not measurement.absent:
            say(f"  {'✓' if measurement.passed else '✗'} {measurement}")
    if told.why is not None:
        say(_NEAREST)
    if told.false_success and report.by_machine:
        say("the simulator contradicts this claim")
    if told.certified is not None:
        say(f"the CPU {'certifies' if told.certified else 'does not certify'} it")


def _summarise_all(played: list[Told], wall_s: float, report: Report, say: Callable[[str], object]) -> None:
    finished = [each for each in played if each.verdict != INTERRUPTED]
    accepted = [each for each in finished if not each.declined]
    if len(accepted) < len(finished):
        say(f"orders accepted {len(accepted)} of {len(finished)}" + ("; of these" if accepted else ""))
    if accepted:
        count = len(accepted)
        say(f"succeeded {rate_text(sum(each.succeeded for each in accepted), count)}")
        if report.by_machine:
            first = sum(each.succeeded and each.retries == 0 for each in accepted)
            say(f"without a retry {rate_text(first, count)}")
    for verdict, number in collections.Counter(each.verdict for each in played if not each.succeeded).most_common():
        say(f"  {verdict}: {number} ({_seeds([each.seed for each in played if each.verdict == verdict])})")
    _tell_why(played, say)
    if finished and report.by_machine:
        false = [str(each.seed) for each in finished if each.false_success]
        say(f"claims that the simulator contradicts: {len(false)}" + (f" (seeds {', '.join(false)})" if false else ""))
        asked = [each for each in finished if each.certified is not None]
        if asked:
            say(
                f"successes that the CPU certifies {rate_text(sum(bool(each.certified) for each in asked), len(asked))}"
            )
        sampled = len(played) + sum(each.refused for each in played)
        if sampled > len(played):
            say(f"scenes kept: {len(played)} of {sampled} sampled")
    if finished:
        simulated = sum(each.sim_time_s for each in played)
        say(f"{simulated:.0f} s simulated in {wall_s:.1f} s, {len(finished) / wall_s:.1f} episodes per second")


def _tell_why(played: list[Told], say: Callable[[str], object]) -> None:
    """What orders were turned down for: the measurement of a single one, of many how often each."""
    why = [each.why for each in played if each.why is not None]
    if len(why) == 1:
        say(f"    turned down for {why[0]}")
        say(_NEAREST)
    elif why:
        counts = collections.Counter(each.name for each in why).most_common()
        say("    turned down for " + ", ".join(f"{name} {number}" for name, number in counts))
    for advice in dict.fromkeys(each.advice for each in played if each.advice):
        say(f"    {advice}")


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _tell_errors(played: list[Told]) -> None:
    """Every error once, with the episodes it struck: a policy's mistake mostly strikes them all."""
    struck: dict[tuple[str, str], list[int]] = {}
    for each in played:
        if each.error:
            struck.setdefault((each.verdict, each.error), []).append(each.seed)
    for (verdict, error), seeds in struck.items():
        print(f"{_seeds(seeds)} {verdict}:\n{error}", file=sys.stderr)


def _seeds(seeds: list[int]) -> str:
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    more = ", …" if len(seeds) > _SEEDS_SHOWN else ""
    return f"seeds {', '.join(map(str, seeds[:_SEEDS_SHOWN]))}{more}"


def _exit_code(played: list[Told], *, interrupted: bool, require_success: float | None) -> int:
    if interrupted:
        return 130
    if any(each.verdict == "crashed" for each in played):
        return 5
    if any(each.verdict == POLICY_ERROR for each in played):
        return 2
    accepted = [each for each in played if not each.declined]
    share = sum(each.succeeded for each in accepted) / max(len(accepted), 1)
    return 1 if require_success is not None and share < require_success else 0
