"""Two evaluations compared, as a page and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from graspline.datasets.report.style import STYLE
from graspline.episodes.statistics import rate_text
from graspline.evaluations.comparison import Comparison
from graspline.evaluations.factor_tables import LEVEL, Factor
from graspline.evaluations.page import facts, is_tested, p_text, rate_row, scrolled, seeds_text
from graspline.reports.pages import page
from graspline.version import VERSION

_NAMES = ("A", "B")


def summary_lines(comparison: Comparison) -> list[str]:
    """A few lines that fit 80 columns, file names aside."""
    one, two = comparison.rates
    count, (low, high) = len(comparison.pairs), comparison.interval
    lines = [
        f"A: {comparison.first.settings.policy} ({comparison.first.folder})",
        f"B: {comparison.second.settings.policy} ({comparison.second.folder})",
        *_left_out(comparison),
        f"A succeeded {rate_text(one, count)}",
        f"B succeeded {rate_text(two, count)}",
        f"B minus A: {100 * comparison.difference:+.1f} points (95 % interval {100 * low:+.1f} to {100 * high:+.1f})",
        f"only A succeeded {len(comparison.only(0))}, only B {len(comparison.only(1))}, both "
        f"{comparison.count(True, True)}, neither {comparison.count(False, False)}",
        f"McNemar's exact test: p = {comparison.p:.3g}; {verdict(comparison)}",
        f"  only A: {_short(comparison.only(0))}",
        f"  only B: {_short(comparison.only(1))}",
        factors_sentence(comparison),
    ]
    return lines


def verdict(comparison: Comparison) -> str:
    """In a few words, whether the difference can be due to chance."""
    if comparison.p >= LEVEL:
        return "the difference may be due to chance"
    return "B is better" if comparison.difference > 0 else "A is better"


def factors_sentence(comparison: Comparison) -> str:
    """One sentence on which factors stand out."""
    out = [each.name for each in comparison.factors if each.stands_out]
    if not comparison.factors or comparison.factors[0].p is None:
        return "too few episodes differ to say where"
    return (
        f"the difference depends on {', '.join(out)}" if out else "the difference depends on no factor that stands out"
    )


def comparison_page(comparison: Comparison) -> str:
    """The whole page, in one file that loads nothing."""
    body = [
        *_head(comparison),
        *_rates(comparison),
        *_endings(comparison),
        *_seeds(comparison),
        *_factors(comparison),
        f"<p><small>Made by graspline {escape(VERSION)}.</small></p>",
    ]
    return page(f"Comparison: {comparison.first.settings.task}", body, STYLE)


def _left_out(comparison: Comparison) -> list[str]:
    """That only common seeds are compared, where there are others."""
    left = comparison.left_out
    if not any(left):
        return []
    return [f"compared on {len(comparison.pairs)} common seeds; left out: {left[0]} of A, {left[1]} of B"]


def _head(comparison: Comparison) -> Iterable[str]:
    sides = zip(_NAMES, (comparison.first, comparison.second), strict=True)
    policies = {f"policy {name}": f"{side.settings.policy} ({side.folder})" for name, side in sides}
    yield facts({**policies, "episodes on the same seeds": str(len(comparison.pairs))})
    yield from (f"<p>{escape(each[0].upper() + each[1:])}.</p>" for each in _left_out(comparison))


def _rates(comparison: Comparison) -> Iterable[str]:
    count, (low, high) = len(comparison.pairs), comparison.interval
    yield "<h2>Success</h2>"
    rows = [rate_row(name, hits, count) for name, hits in zip(_NAMES, comparison.rates, strict=True)]
    yield scrolled(("", "count", "rate", "95 % interval (Wilson)", ""), rows)
    yield f"<p>B minus A: <b>{100 * comparison.difference:+.1f} points</b>, 95 % interval {100 * low:+.1f} to "
    yield f"{100 * high:+.1f} (Newcombe, paired). McNemar's exact test on {len(comparison.only(0))} and "
    yield f"{len(comparison.only(1))} discordant pairs: p = {comparison.p:.3g}; {verdict(comparison)}.</p>"


def _endings(comparison: Comparison) -> Iterable[str]:
    endings, modes = comparison.endings(), comparison.modes()
    yield "<h2>How each ended</h2>"
    yield "<p><small>Rows: A. Columns: B. Rest the pointer on a number for its seeds.</small></p>"
    rows = []
    for row in modes:
        cells = [endings.get((row, column), ()) for column in modes]
        if any(cells):
            texts = [f"<span title='{seeds_text(each)}'>{len(each)}</span>" if each else "" for each in cells]
            rows.append((f"<b>{escape(row)}</b>", *texts, str(sum(map(len, cells)))))
    yield scrolled(("A ↓ B →", *map(escape, modes), "all"), rows)


def _seeds(comparison: Comparison) -> Iterable[str]:
    yield "<h2>Seeds that differ</h2>"
    names = {pair.seed: pair for pair in comparison.pairs}
    rows = []
    for which, name in enumerate(_NAMES):
        for seed in comparison.only(which):
            pair = names[seed]
            other = pair.second if which == 0 else pair.first
            failure = other.get("failure", {"mode": other["verdict"]})
            rows.append((str(seed), f"only {name}", escape(str(failure["mode"]))))
    if not rows:
        yield "<p>None: both succeeded on the same.</p>"
        return
    shown = scrolled(("seed", "succeeded", "how the other failed"), rows)
    yield f"<details{' open' if len(rows) <= 20 else ''}><summary>{len(rows)} seeds</summary>{shown}</details>"


def _factors(comparison: Comparison) -> Iterable[str]:
    said = factors_sentence(comparison)
    yield f"<h2>Where they differ</h2><p>{escape(said[0].upper() + said[1:])}.</p>"
    if not is_tested(comparison.factors):
        return
    yield "<p><small>B's rate minus A's, in points, in bins of about equal size; tested like the factors of one "
    yield "evaluation, with the difference of each pair as the outcome.</small></p>"
    rows = [(_name(each), p_text(each), _bins(each)) for each in comparison.factors]
    yield scrolled(("factor", "p", "difference"), rows)


def _name(factor: Factor) -> str:
    return f"<b>{escape(factor.name)}</b>" if factor.stands_out else escape(factor.name)


def _bins(factor: Factor) -> str:
    # The outcome of a pair is A's success less B's.
    return "<br>".join(
        f"{escape(each.label)}: {0.0 - 100 * each.mean:+.1f} ({each.episodes} episodes)" for each in factor.bins
    )


def _short(seeds: tuple[int, ...]) -> str:
    """As many as fit a line of 80 columns."""
    text = ", ".join(map(str, seeds)) or "none"
    if len(text) <= 68:
        return text
    return text[:64].rpartition(", ")[0] + ", …"
