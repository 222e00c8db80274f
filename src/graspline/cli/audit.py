"""`graspline audit`: what is said against what is so."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from graspline.cli.campaign import again, brief, progress
from graspline.cli.interrupts import stopping
from graspline.cli.options import (
    Config,
    EngineName,
    Lanes,
    Settings,
    TaskName,
    engine_of,
    equipped,
    lanes_of,
    task_and_parameters,
)
from graspline.cli.outputs import make_folder, save_findings
from graspline.cli.questions import UnaskedQuestions
from graspline.episodes.audit import Audit, run_audit
from graspline.episodes.faults import FAULTS
from graspline.episodes.pages import audit_page
from graspline.episodes.statistics import rate_text

_SHOWN = 20


def audit(
    task: TaskName,
    episodes: Annotated[int, typer.Option(min=1, max=1_000_000, metavar="N", help="How many episodes.")] = 200,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the first; the next ones count up.")] = 0,
    lanes: Lanes = 0,
    faults_share: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="Share of episodes with a random fault.")
    ] = 0.333,
    engine: EngineName = "cpu",
    config: Config = None,
    settings: Settings = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where audit.json and audit.html go.")] = Path("out/audit"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Compare verdicts and claims with truth.

    Every verdict, and every claim on the way (held, placed, sorted), is compared with what the simulator knows at that
    instant. A task whose order may be long is given a short one, unless --set says otherwise.
    Exits with 1 if an episode claims success falsely.

    \b
    Examples:
      graspline audit lift-cube --episodes 2000
      graspline audit lift-cube --episodes 50 --faults-share 1 --json
      graspline audit oranges --episodes 10000 --engine auto
    """
    found, parameters = task_and_parameters(task, config, [*brief(task), *(settings or ())])
    kind = engine_of(engine)
    make_folder("--out", out)
    unasked = UnaskedQuestions()
    with stopping() as stop, ExitStack() as shown:
        begin, played = progress(shown, as_json, unasked)
        begin(episodes)
        result = run_audit(
            found,
            equipped(found, parameters, FAULTS if faults_share > 0 else ()),
            seed=seed,
            episodes=episodes,
            faults_share=faults_share,
            lanes=lanes_of(lanes, kind, 32),
            engine=kind,
            stop=stop,
            played=played,
        )
    save_findings(out, "audit", result.as_dict(), audit_page(result))
    if as_json:
        print(json.dumps(result.as_dict(), allow_nan=False))
    else:
        _tell(result, (*brief(task), *(settings or ())))
    unasked.tell()
    raise typer.Exit(130 if result.interrupted else 1 if result.false_successes else 0)


def _tell(result: Audit, short: tuple[str, ...]) -> None:
    if result.interrupted:
        print("interrupted: only episodes that had ended are counted", file=sys.stderr)
    print(f"{result.episodes} episodes, {result.faulty} with a fault, of which {result.struck} struck")
    for verdict, count in sorted(result.silent.items()):
        print(f"  {verdict}: {count}, which claim nothing")
    width = max(len("kind"), *(len(kind) for kind in result.tallies))
    print(f"{'kind':<{width}}  {'claims':>7}  {'false accepts of what was asserted':<56}  false rejects of what was so")
    for kind, tally in result.tallies.items():
        accepts = rate_text(tally.false_accepts, tally.asserted, 2)
        rejects = rate_text(tally.false_rejects, tally.truly, 2)
        print(f"{kind:<{width}}  {tally.asserted + tally.denied:>7}  {accepts:<56}  {rejects}")
    worst = result.worst()
    if worst:
        print("worst cases:")
    for each in worst[:_SHOWN]:
        about = f" of {each.about}" if each.about else ""
        told = again(each.seed, each.fault, short)
        print(f"  {each.mistake.replace('_', ' ')}, {each.kind}{about}: {told}, {each.said} at {each.t_s:.2f} s")
        print(f"    by truth: {'; '.join(str(one) for one in each.evidence)}")
    if len(worst) > _SHOWN:
        print(f"  and {len(worst) - _SHOWN} more in audit.json")
