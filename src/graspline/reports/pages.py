"""Campaigns and audits as pages: one file, no script, nothing loaded from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from graspline.campaigns.audit import MISTAKES, Audit, ClaimTally
from graspline.campaigns.campaign import Campaign, CampaignCell
from graspline.episodes.statistics import rate_text
from graspline.faults.catalogue import find_fault
from graspline.wording import counted, quantity

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #223; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border: 1px solid #d5d9e0; padding: .3rem .5rem; text-align: center; white-space: nowrap; }
th { background: #f2f4f8; font-weight: 600; }
th[title], td[title] { cursor: help; }
td.text { text-align: left; white-space: normal; font-family: ui-monospace, monospace; font-size: 13px; }
.idle { color: #9aa; background: #fafafa; }
.bad { background: #c0392b; color: white; font-weight: 700; }
small { color: #667; }
"""

# Names of states stand upright, so that twenty of them fit a page.
_MATRIX = """
.wide { overflow-x: auto; }
.matrix th, .matrix td { padding: .25rem .3rem; font-size: 13px; line-height: 1.25; }
.matrix tr:first-child th { vertical-align: bottom; height: 6rem; }
.matrix tr:first-child span { writing-mode: vertical-rl; transform: rotate(180deg); }
.matrix th:first-child { text-align: left; }
"""

_INTERRUPTED = "<p><b>Interrupted: only episodes that had ended are counted.</b></p>"


def page(title: str, body: Iterable[str], style: str = "") -> str:
    """A whole file; `style` is added to what all pages share."""
    lines = [
        "<!doctype html>",
        "<html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>",
        f"<title>{escape(title)}</title><style>{_STYLE}{style}</style></head>",
        f"<body><h1>{escape(title)}</h1>",
        *body,
        "</body></html>",
    ]
    return "\n".join(lines) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already."""
    lines = ["<tr>" + "".join(f"<th>{each}</th>" for each in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{each}</td>" for each in row) + "</tr>" for row in rows]
    return "<table>" + "".join(lines) + "</table>"


def campaign_page(campaign: Campaign) -> str:
    """The matrix; the verdicts behind a cell show when the pointer rests on it."""
    head = "".join(f"<th><span>{escape(state)}</span></th>" for state in campaign.states)
    body = [
        *([_INTERRUPTED] if campaign.interrupted else []),
        f"<p>{counted(campaign.struck, 'injected fault')}: {campaign.count('recovered')} recovered, "
        f"{campaign.count('failed')} reported as failed, {counted(campaign.count('false_success'), 'false claim')}, "
        f"{campaign.count('crashed')} crashed, {campaign.count('hung')} hung. "
        f"{counted(campaign.episodes, 'episode')} per cell from seed {campaign.seed}.</p>",
        "<p><small>Each cell: recovered / triggered, and below it the median time until the fault was detected. "
        "Hover for verdicts.</small></p>",
        f"<div class='wide'><table class='matrix'><tr><th></th>{head}<th><span>all</span></th></tr>",
    ]
    for fault in campaign.faults:
        cells = "".join(_cell(campaign.cells[fault, state]) for state in campaign.states)
        about = escape(find_fault(fault).description, quote=True)
        row = f"<th title='{about}'>{escape(fault)}</th>{cells}{_cell(campaign.of_fault(fault))}"
        body.append(f"<tr>{row}</tr>")
    return page(f"Campaign: {campaign.task}", [*body, "</table></div>"], _MATRIX)


def _cell(cell: CampaignCell) -> str:
    if cell.idle:
        return f"<td class='idle' title='{escape(cell.idle, quote=True)}'>–</td>"
    verdicts = [f"recovered: {cell.count('recovered')}", *(f"{name}: {n}" for name, n in cell.failures.items())]
    wrong = {name: cell.count(name) for name in ("false_success", "crashed", "hung") if cell.count(name)}
    verdicts += [f"{name}: {count}" for name, count in wrong.items()]
    verdicts += [f"not triggered: {cell.count('not_struck')}"] if cell.count("not_struck") else []
    detected = sorted(cell.detect_s)
    if detected:
        verdicts.append(f"detected: {len(detected)}, at the latest after {quantity(detected[-1], 's')}")
    share = cell.count("recovered") / cell.struck
    # From amber, where all failed, to green.
    colour = f"background: hsl({round(40 + 90 * share)} 65% 82%)"
    look = "class='bad'" if wrong else f"style='{colour}'"
    median = f"<br><small>{quantity(detected[len(detected) // 2], 's')}</small>" if detected else ""
    text = f"{cell.count('recovered')}/{cell.struck}{median}"
    return f"<td {look} title='{escape(chr(10).join(verdicts), quote=True)}'>{text}</td>"


def audit_page(audit: Audit) -> str:
    """Tallies with intervals, and every mistake, the worst first."""
    body = [
        *([_INTERRUPTED] if audit.interrupted else []),
        f"<p>{counted(audit.episodes, 'episode')} from seed {audit.seed}, {audit.faulty} with an injected fault "
        f"({audit.struck} triggered).</p>",
        "<table><tr><th>claim</th><th>made</th><th>denied</th><th>false accepts (claimed, but not true)</th>"
        "<th>false rejects (denied, but true)</th></tr>",
        *(_tally(tally) for tally in audit.tallies.values()),
        "</table><h2>Mistakes, the worst first</h2>",
        "<table><tr><th>mistake</th><th>claim</th><th>seed</th><th>fault</th><th>time</th><th>said</th><th>about</th>"
        "<th>ground truth</th></tr>",
    ]
    for each in audit.worst():
        words = (MISTAKES[each.mistake], each.kind, str(each.seed), each.fault, f"{each.t_s:.2f} s")
        row = "".join(f"<td>{escape(word)}</td>" for word in (*words, each.said, each.about))
        body.append(f"<tr>{row}<td class='text'>{escape('; '.join(str(one) for one in each.evidence))}</td></tr>")
    return page(f"Audit: {audit.task}", [*body, "</table>"])


def _tally(tally: ClaimTally) -> str:
    accepts = rate_text(tally.false_accepts, tally.asserted, 2)
    rejects = rate_text(tally.false_rejects, tally.truly, 2)
    bad = " class='bad'" if tally.false_accepts else ""
    return (
        f"<tr><th>{escape(tally.kind)}</th><td>{tally.asserted}</td><td>{tally.denied}</td>"
        f"<td{bad}>{accepts}</td><td>{rejects}</td></tr>"
    )
