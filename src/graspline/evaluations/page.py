"""An evaluation as one page: the rate, how it failed, what success depends on, where, and pictures of failures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from graspline.datasets.report.charts import rate_bar, rate_columns
from graspline.datasets.report.heatmap import outcome_map
from graspline.datasets.report.style import STYLE
from graspline.datasets.report.summary import TableObject
from graspline.episodes.failures import MODES
from graspline.episodes.statistics import wilson
from graspline.evaluations.factor_tables import LEAST_DIFFERENT, LEAST_EPISODES, LEVEL, Factor, shuffles_for
from graspline.evaluations.gallery import FailureSheet
from graspline.evaluations.store import Evaluation, Line
from graspline.evaluations.summary import EvaluationSummary, mode_of
from graspline.evidence import Measurement
from graspline.kinematics.table_reach import table_reach
from graspline.parameters import describe
from graspline.reports.pages import page, table
from graspline.version import VERSION
from graspline.wording import counted, duration

# Factors that get a chart; the others are folded into a table.
_CHARTS = 8
_SEEDS = 12


def evaluation_page(
    evaluation: Evaluation, summary: EvaluationSummary, sheets: Sequence[FailureSheet], no_pictures: str = ""
) -> str:
    """The whole page, in one file that loads nothing; `no_pictures` says why there are none."""
    body = [
        *_head(evaluation, summary),
        *_success(summary),
        *_failures(evaluation, summary),
        *_where(evaluation),
        *_factors(summary),
        *_gallery(evaluation, summary, sheets, no_pictures),
        f"<p><small>Made by graspline {escape(VERSION)}.</small></p>",
    ]
    return page(f"Evaluation: {evaluation.settings.task}", body, STYLE)


def facts(pairs: dict[str, str]) -> str:
    """Names with values, as an HTML list."""
    cells = (f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs.items())
    return f"<dl class='facts'>{''.join(cells)}</dl>"


def scrolled(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that moves sideways where the page is narrower."""
    return f"<div class='scroll'>{table(head, rows)}</div>"


def rate_row(name: str, hits: int, trials: int) -> tuple[str, ...]:
    """A rate with its interval, as cells."""
    low, high = wilson(hits, trials)
    rate = f"{100 * hits / max(trials, 1):.1f} %"
    return name, f"{hits} / {trials}", rate, f"{100 * low:.1f} to {100 * high:.1f} %", rate_bar(hits, max(trials, 1))


def seeds_text(seeds: Sequence[int]) -> str:
    """The first seeds, and how many more there are."""
    more = f" and {len(seeds) - _SEEDS} more" if len(seeds) > _SEEDS else ""
    return ", ".join(map(str, seeds[:_SEEDS])) + more


def _head(evaluation: Evaluation, summary: EvaluationSummary) -> Iterable[str]:
    settings = evaluation.settings
    sentences = dict.fromkeys(str(line["instruction"]) for line in evaluation.lines.values())
    yield f"<p class='lead'>{escape(' '.join(list(sentences)[:3]))}</p>"
    seeds = list(evaluation.lines)
    shown = {
        "policy": settings.policy,
        "episodes": str(summary.episodes),
        "seeds": f"{seeds[0]} to {seeds[-1]}" if seeds else "none",
        **{name.replace("_", " "): _text(value) for name, value in settings.options.items() if value},
        "faults": ", ".join(settings.faults) or "none",
        "simulated": duration(summary.sim_time_s),
        "made by": f"graspline {settings.graspline}, MuJoCo {settings.mujoco}",
    }
    yield facts(shown)
    _, parameters = settings.found_task()
    yield f"<details><summary>All parameters of the task</summary><pre>{escape(describe(parameters))}</pre></details>"


def _success(summary: EvaluationSummary) -> Iterable[str]:
    yield "<h2>Success</h2>"
    rows = [rate_row("succeeded", summary.succeeded, summary.episodes)]
    yield scrolled(("", "count / total", "rate", "95 % interval (Wilson)", "rate as a bar, interval as a line"), rows)


def _failures(evaluation: Evaluation, summary: EvaluationSummary) -> Iterable[str]:
    yield "<h2>How it failed</h2>"
    if not summary.modes:
        yield "<p>No episode failed.</p>"
        return
    yield "<p><small>By ground truth, in the order of how far the episode got; shares are of all episodes.</small></p>"
    rows = []
    for mode, seeds in summary.modes.items():
        count, share, interval, bar = rate_row("", len(seeds), summary.episodes)[1:]
        example = evaluation.lines[seeds[0]]
        meaning = escape(MODES.get(mode, ""))
        named = f"<b>{escape(mode)}</b><br><small>{meaning}</small>"
        rows.append(
            (_note(named), count, share, interval, bar, _note(seeds_text(seeds)), _note(evidence_text(example)))
        )
    yield scrolled(("mode", "count / total", "share", "95 % interval", "", "seeds", "measured in the first"), rows)


def _note(text: str) -> str:
    """Words in a cell, in lines that are as short as the page needs; `text` is HTML."""
    return f"<div class='note'>{text}</div>"


def evidence_text(line: Line) -> str:
    """What decided how an episode failed, as HTML."""
    if line.get("error"):
        return escape(str(line["error"]).strip().splitlines()[-1][:120])
    failure: dict[str, Any] = line.get("failure", {})
    about = f"{escape(str(failure.get('about', '')))}: " if failure.get("about") else ""
    return about + "<br>".join(_measured(each) for each in failure.get("evidence", line["evidence"])) or "–"


def _measured(plain: dict[str, Any]) -> str:
    each = Measurement.read(plain)
    relation = {"<=": "≤", ">=": "≥"}.get(each.relation, each.relation)
    return escape(f"{each.name.replace('_', ' ')} {each.value_text} ({relation} {each.limit_text})")


def _where(evaluation: Evaluation) -> Iterable[str]:
    task, parameters = evaluation.settings.found_task()
    around = table_reach(task.scene(parameters).robot)
    if around is None:
        return
    fine, failed = list[TableObject](), list[TableObject]()
    for line in evaluation.lines.values():
        for name, is_done in objects_of(line).items():
            x_m, y_m = (line["factors"].get(f"{name}.{axis}_m") for axis in "xy")
            if x_m is not None and y_m is not None:
                said = f"seed {line['seed']}, {name}" + ("" if is_done else f": {mode_of(line)}")
                (fine if is_done else failed).append(TableObject(name=said, x_m=x_m, y_m=y_m))
    if not fine and not failed:
        return
    yield "<h2>Where</h2>"
    yield "<p><small>Where each object that was asked for lay at the start, from above. Rings give the distance from "
    yield "the pan axis; the dashed ring is the farthest point at which the outstretched arm touches the table. Rest "
    yield "the pointer on a mark for its seed.</small></p>"
    yield outcome_map(fine, failed, around)


def objects_of(line: Line) -> dict[str, bool]:
    """Objects that an episode was asked for, and whether each came to what was asked for."""
    if line["succeeded"]:
        return dict.fromkeys(line["wanted"], True)
    return {name: name in line.get("failure", {}).get("done", ()) for name in line["wanted"]}


def is_tested(factors: Sequence[Factor]) -> bool:
    """Whether enough was played to say which factors matter."""
    return bool(factors) and factors[0].p is not None


def factors_sentence(factors: Sequence[Factor]) -> str:
    """In one sentence, which factors matter."""
    out = [each.name for each in factors if each.stands_out]
    if not factors:
        return "Nothing varied between the episodes."
    if not is_tested(factors):
        return (
            f"Too early to tell what success depends on: that takes at least {LEAST_EPISODES} episodes, with at least "
            f"{LEAST_DIFFERENT} successes and {LEAST_DIFFERENT} failures."
        )
    if not out:
        return f"No factor stands out of the {len(factors)} that varied."
    names = ", ".join(out)
    verb = "stands" if len(out) == 1 else "stand"
    return f"Of {len(factors)} factors that varied, {names} {verb} out."


def _factors(summary: EvaluationSummary) -> Iterable[str]:
    yield "<h2>What success depends on</h2>"
    yield f"<p>{escape(factors_sentence(summary.factors))}</p>"
    if not is_tested(summary.factors):
        return
    yield "<p><small>A factor is something that varied between the episodes, such as where an object lay. Each bar is "
    yield "the success rate of the episodes in a range of its values; below it, successes / episodes; the line is the "
    yield "95 % interval. Ranges have about equally many episodes. A factor stands out if its corrected "
    yield f"p-value is below {LEVEL:g}. The p-value is the share of {shuffles_for(len(summary.factors))} shuffles of "
    yield "the outcomes that vary as much between the bins; it is corrected for the number of factors (min-P by "
    yield "Westfall and Young). Factors that go together, such as x and radius, may stand out together.</small></p>"
    yield "<div class='pair'>"
    for each in summary.factors[:_CHARTS]:
        yield factor_figure(each)
    yield "</div>"
    rest = summary.factors[_CHARTS:]
    if rest:
        rows = [
            (
                escape(each.name),
                p_text(each),
                "<br>".join(f"{escape(one.label)}: {round(one.total)}/{one.episodes}" for one in each.bins),
            )
            for each in rest
        ]
        more = counted(len(rest), "more factor")
        yield f"<details><summary>{more}</summary>{scrolled(('factor', 'p', 'successes / episodes'), rows)}</details>"


def p_text(factor: Factor) -> str:
    """A factor's p-value and its corrected one, as text."""
    if factor.p is None or factor.p_corrected is None:
        return "not tested"
    return f"p = {factor.p:.2g}, corrected {factor.p_corrected:.2g}"


def factor_figure(factor: Factor) -> str:
    """The success rates of one factor's bins as a figure."""
    columns = [(each.label.replace(" to ", "\nto "), round(each.total), each.episodes) for each in factor.bins]
    name = f"<b>{escape(factor.name)}</b>" if factor.stands_out else escape(factor.name)
    chart = rate_columns(columns, factor.name.rpartition(".")[2])
    return f"<figure><figcaption>{name} <small>{p_text(factor)}</small></figcaption>{chart}</figure>"


def _gallery(
    evaluation: Evaluation, summary: EvaluationSummary, sheets: Sequence[FailureSheet], no_pictures: str
) -> Iterable[str]:
    if not summary.modes:
        return
    yield "<h2>Failures in pictures</h2>"
    if not sheets:
        yield f"<p>{escape(no_pictures or 'No pictures were rendered.')}</p>"
        return
    yield "<p><small>A few of each mode, rendered from their logs: the start, the closest approach or the last moment "
    yield "of the hold, and the end.</small></p>"
    for mode in summary.modes:
        alike = [each for each in sheets if mode_of(each.line) == mode]
        if alike:
            yield f"<h3>{escape(mode)}</h3><div class='gallery'>"
            yield from (_figure(evaluation, each) for each in alike)
            yield "</div>"


def _figure(evaluation: Evaluation, sheet: FailureSheet) -> str:
    seed = sheet.line["seed"]
    differs = "" if sheet.same else "<br><small>Played again here, it ended differently.</small>"
    return (
        f"<figure class='failed'><img alt='moments of seed {seed}' width='{sheet.width}' height='{sheet.height}' "
        f"src='{sheet.source}'><figcaption>seed {seed}: <b>{escape(mode_of(sheet.line))}</b>, "
        f"{evidence_text(sheet.line)}{differs}<pre>{escape(evaluation.settings.command(seed))}</pre>"
        "</figcaption></figure>"
    )


def _text(value: object) -> str:
    """A setting in words."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "yes" if value is True else str(value)
