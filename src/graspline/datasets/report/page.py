"""A dataset as one page: rates, failures, where things lay, times, pictures, and which ways the machine took."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TypeVar

import numpy as np

from graspline.datasets.edit.repack import Done, Progress, silent
from graspline.datasets.format.files import folder_bytes
from graspline.datasets.format.rows import Rejected
from graspline.datasets.format.store import Dataset, origin_in
from graspline.datasets.report.charts import box_plot, column_chart, histogram, rate_bar
from graspline.datasets.report.gallery import EpisodeSheet, choose, sheet_of
from graspline.datasets.report.heatmap import heat_map
from graspline.datasets.report.style import STYLE
from graspline.datasets.report.summary import DatasetSummary, FailedAttempt, Setback, TableObject, summarise
from graspline.episodes.statistics import wilson
from graspline.kinematics.table_reach import TableReach, table_reach
from graspline.machine.diagram import svg
from graspline.parameters import describe
from graspline.reports.pages import page, table
from graspline.version import VERSION
from graspline.wording import counted, duration

T = TypeVar("T")

MOST_SHEETS = 12
# More randomised values than this are folded away.
_MOST_UNFOLDED = 16

_KEPT = {"success": "successes", "all": "successes and failures", "takeover": "successes after a takeover"}


def report_page(dataset: Dataset, progress: Progress = silent) -> str:
    """The whole page, in one file that loads nothing."""
    sheets = min(len(dataset.rows), MOST_SHEETS) if dataset.settings.views else 0
    done = progress(len(dataset.rows) + sheets)
    summary = summarise(dataset, done)
    body = [
        *_head(dataset, summary),
        *_rates(dataset, summary),
        *_failures(summary),
        *_setbacks(summary),
        *_workspace(summary, table_reach(dataset.scene.robot)),
        *_sent(summary),
        *_timings(summary),
        *_gallery(dataset, summary, done),
        *_machine(dataset, summary),
        *_randomized(summary),
        f"<p><small>Made by graspline {escape(VERSION)}.</small></p>",
    ]
    return page(f"Dataset: {dataset.settings.task}", body, STYLE)


def _head(dataset: Dataset, summary: DatasetSummary) -> Iterable[str]:
    settings = dataset.settings
    frames = sum(each.row["length"] for each in summary.episodes)
    facts = {
        "episodes": f"{len(summary.episodes)}",
        "frames": f"{frames:,} at {settings.fps} Hz".replace(",", " "),
        "duration": duration(frames / settings.fps),
        "size": _size(folder_bytes(dataset.root)),
        "cameras": ", ".join(map(str, settings.views)) or "none",
        "kept": _KEPT[settings.keep],
        "seeds from": f"{settings.seed}",
        "faults": ", ".join(settings.faults) or "none",
        "pushed off paths": f"strength {settings.disturb['strength']:g}" if settings.disturb else "no",
        "robot": f"{settings.robot_type}, {settings.units}",
        "made by": f"graspline {settings.graspline}, MuJoCo {settings.mujoco}",
    }
    sources = origin_in(dataset.root).merged_from
    if sources:
        facts["merged from"] = ", ".join(f"{each['name']} ({each['episodes']})" for each in sources)
    sentences = dict.fromkeys(sentence for each in summary.episodes for sentence in each.row["tasks"])
    yield f"<p class='lead'>{escape(' '.join(sentences))}</p>"
    cells = (f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items())
    yield f"<dl class='facts'>{''.join(cells)}</dl>"
    _, parameters = settings.found_task()
    others = {name: value for name, value in settings.as_dict().items() if name != "parameters"}
    text = "\n".join([*(f"{name}: {value}" for name, value in others.items()), "", describe(parameters)])
    whose = "All settings of the first" if sources else "All settings"
    yield f"<details><summary>{whose}</summary><pre>{escape(text)}</pre></details>"


def _rates(dataset: Dataset, summary: DatasetSummary) -> Iterable[str]:
    yield "<h2>Success</h2>"
    struck = sum(each.struck for each in summary.episodes)
    rates = [
        ("attempts that succeeded", summary.successes, summary.attempts),
        ("succeeded first try", summary.first_try, summary.attempts),
    ]
    if summary.recovered:
        rates.append(("succeeded after a recovery", summary.recovered, summary.attempts))
    # Where only successes are kept, all episodes with a setback have recovered.
    if dataset.settings.keep == "all" and summary.setbacks:
        troubled = sum(bool(each.setbacks) for each in summary.episodes)
        rates.append(("of episodes with a setback, recovered", summary.recovered, troubled))
    rows = []
    for name, hits, trials in rates:
        low, high = wilson(hits, trials)
        rate, interval = f"{100 * hits / trials:.1f} %", f"{100 * low:.1f} to {100 * high:.1f} %"
        rows.append((name, f"{hits} / {trials}", rate, interval, rate_bar(hits, trials)))
    yield _scrolled(("", "count / total", "rate", "95 % interval (Wilson)", "rate as a bar, interval as a line"), rows)
    say = [f"{counted(summary.attempts, 'attempt')}: {len(summary.episodes)} kept, {len(summary.rejected)} not."]
    say += ["No recovery was needed."] if not (summary.recovered or summary.setbacks or summary.failures) else []
    say += [f"An injected fault took effect in {counted(struck, 'episode')}."] if struck else []
    if summary.deleted:
        were = "was" if summary.deleted == 1 else "were"
        say.append(f"{counted(summary.deleted, 'episode')} {were} deleted, and not counted, nor the attempts before.")
    yield f"<p>{' '.join(say)}</p>"
    if summary.contradicted:
        yield f"<p>False claims: <span class='bad'>&nbsp;{summary.contradicted}&nbsp;</span>, attempts that claimed a "
        yield "success which the simulator contradicts. They do not count as successes; please report this.</p>"


def _failures(summary: DatasetSummary) -> Iterable[str]:
    yield "<h2>Failures by verdict and state</h2>"
    if not summary.failures:
        yield "<p>No attempt failed.</p>"
        return
    rows = []
    for (verdict, state), alike in _grouped(summary.failures, lambda each: (each.why.verdict, each.why.state)):
        share = f"{100 * len(alike) / summary.attempts:.1f} %"
        rows.append((escape(verdict), escape(state), str(len(alike)), share, *_example(alike)))
    yield _scrolled(("verdict", "in state", "attempts", "of all", "for example", "what broke there"), rows)


def _example(alike: Sequence[FailedAttempt]) -> tuple[str, str]:
    """One that was kept, for it can be looked at, and one that says what was measured."""
    one = min(alike, key=lambda each: (each.episode is None, not each.why.cause))
    where = f"seed {one.why.seed}, not kept" if one.episode is None else f"episode {one.episode} (seed {one.why.seed})"
    return where, escape(one.why.cause) or "–"


def _setbacks(summary: DatasetSummary) -> Iterable[str]:
    if not summary.setbacks:
        return
    yield "<h2>What was tried again</h2>"
    yield "<p><small>In kept episodes: states that went wrong and spent a retry.</small></p>"
    rows = []
    for (state, outcome), alike in _grouped(summary.setbacks, lambda each: (each.state, each.outcome)):
        one: Setback = min(alike, key=lambda each: not each.cause)
        good = sum(each.made_good for each in alike)
        words = (escape(state), escape(outcome), str(len(alike)), str(good))
        rows.append((*words, f"episode {one.episode} (seed {one.seed})", escape(one.cause) or "–"))
    yield _scrolled(("state", "outcome", "times", "success after it", "for example", "what broke there"), rows)


def _workspace(summary: DatasetSummary, around: TableReach | None) -> Iterable[str]:
    if around is None or any(each.sent for each in summary.episodes):
        return
    yield "<h2>Where the objects were</h2>"
    failed = _spots(each.why for each in summary.failures)
    # Of an attempt that was not kept only the object it failed with is known.
    targets = [*(spot for each in summary.episodes for spot in each.targets), *_spots(summary.rejected)]
    places = [spot for each in summary.episodes for spot in each.places]
    yield "<p><small>The table from above at the start of each attempt, around the robot's base: how many of the "
    yield "objects it worked on lay in each cell. Rings give the distance from the pan axis; the dashed ring is the "
    yield "farthest point at which the outstretched arm touches the table.</small></p>"
    yield heat_map(targets, failed, places, around)
    unknown = len(summary.failures) - len(failed)
    if unknown:
        yield f"<p><small>Of {unknown} failed attempts the place is not known.</small></p>"


def _sent(summary: DatasetSummary) -> Iterable[str]:
    """What the world sent, where it sends anything."""
    sent = [each for each_episode in summary.episodes for each in each_episode.sent]
    if not sent:
        return
    colours = sorted({colour for colour, _ in sent})
    ends = sorted({where for _, where in sent})
    yield "<h2>What became of what was sent</h2>"
    yield f"<p><small>Of {len(sent)} objects in kept episodes, where they were at the end or had left by.</small></p>"
    rows = [
        (
            escape(colour),
            str(sum(each[0] == colour for each in sent)),
            *(str(sent.count((colour, end))) for end in ends),
        )
        for colour in colours
    ]
    yield _scrolled(("colour", "sent", *map(escape, ends)), rows)


def _spots(attempts: Iterable[Rejected]) -> list[TableObject]:
    """Where the objects lay that attempts failed with, as far as that is known."""
    return [
        TableObject(name=f"{each.verdict}, seed {each.seed}", x_m=each.lay_at_m[0], y_m=each.lay_at_m[1])
        for each in attempts
        if each.lay_at_m
    ]


def _timings(summary: DatasetSummary) -> Iterable[str]:
    lengths = [each.row["end_s"] for each in summary.episodes]
    retries = [each.row["retries"] for each in summary.episodes]
    columns = [(str(count), retries.count(count)) for count in range(max(retries) + 1)]
    yield "<h2>Times</h2><div class='pair'>"
    middle = f"mean {np.mean(lengths):.1f} s, median {np.median(lengths):.1f} s"
    yield f"<figure><figcaption>Length of an episode: {middle}, {min(lengths):.1f} to {max(lengths):.1f} s</figcaption>"
    yield f"{histogram(lengths, 'seconds, from')}</figure>"
    yield f"<figure><figcaption>Retries per episode: mean {np.mean(retries):.2f}</figcaption>"
    yield f"{column_chart(columns, 'retries')}</figure></div>"
    spent = summary.spent_s()
    longest, total = max(max(each) for each in spent.values()), sum(lengths)
    rows = [
        (
            escape(state),
            str(len(times)),
            f"{np.mean(times):.2f} s",
            f"{100 * sum(times) / max(total, 1e-9):.1f} %",
            box_plot(times, longest),
        )
        for state, times in spent.items()
    ]
    yield "<p><small>Time in a state per episode that entered it, all its visits together. A box holds the middle half "
    yield "of the episodes, its bar is the median, the line goes from the least to the most.</small></p>"
    yield _scrolled(("state", "episodes", "mean", "share of time", f"0 to {longest:.1f} s"), rows)


def _gallery(dataset: Dataset, summary: DatasetSummary, done: Done) -> Iterable[str]:
    yield "<h2>Pictures</h2>"
    if not dataset.settings.views:
        yield "<p>The dataset has no cameras, so there are no pictures.</p>"
        return
    view, chosen = dataset.settings.views[0], choose(summary.episodes, MOST_SHEETS)
    which = (
        "All episodes" if len(chosen) == len(summary.episodes) else f"{len(chosen)} of {len(summary.episodes)} episodes"
    )
    yield f"<p><small>{which}, failures and recoveries first, by camera {escape(view.camera)}.</small></p>"
    yield "<div class='gallery'>"
    for each in chosen:
        yield _figure(sheet_of(dataset, each, view))
        done()
    yield "</div>"


def _figure(sheet: EpisodeSheet) -> str:
    row = sheet.episode.row
    kind = "recovered" if row["recovered"] else "" if row["success"] else "failed"
    retries = f", {counted(row['retries'], 'retry', 'retries')}" if row["retries"] else ""
    words = f"episode {row['episode_index']}, seed {row['seed']}: <b>{escape(row['verdict'])}</b>"
    image = base64.b64encode(sheet.jpeg).decode("ascii")
    return (
        f"<figure class='{kind}'><img alt='moments of episode {row['episode_index']}' width='{sheet.width}' "
        f"height='{sheet.height}' src='data:image/jpeg;base64,{image}'>"
        f"<figcaption>{words}{retries}, {row['end_s']:.1f} s</figcaption></figure>"
    )


def _machine(dataset: Dataset, summary: DatasetSummary) -> Iterable[str]:
    task, parameters = dataset.settings.found_task()
    yield "<h2>Paths through the state machine</h2>"
    yield f"<p><small>How often each outcome led on, over {len(summary.episodes)} episodes; what never happened is "
    yield "pale.</small></p>"
    yield f"<div class='scroll'>{svg(task.machine(parameters), summary.taken())}</div>"


def _randomized(summary: DatasetSummary) -> Iterable[str]:
    found = summary.randomized()
    if not found:
        return
    rows = [
        (escape(name), f"{min(values):.4g}", f"{np.mean(values):.4g}", f"{max(values):.4g}", str(len(values)))
        for name, values in found.items()
    ]
    table = _scrolled(("value", "least", "mean", "most", "episodes"), rows)
    yield "<h2>Randomised values</h2>"
    unfolded = " open" if len(rows) <= _MOST_UNFOLDED else ""
    yield f"<details{unfolded}><summary>{len(rows)} values differ between episodes</summary>{table}</details>"


def _scrolled(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that moves sideways where the page is narrower."""
    return f"<div class='scroll'>{table(head, rows)}</div>"


def _grouped(items: Iterable[T], key: Callable[[T], tuple[str, str]]) -> list[tuple[tuple[str, str], list[T]]]:
    """Items with the same key together, the most frequent first."""
    groups: dict[tuple[str, str], list[T]] = {}
    for each in items:
        groups.setdefault(key(each), []).append(each)
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def _size(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
