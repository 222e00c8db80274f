"""`graspline audit`: claims against ground truth."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from graspline.campaigns.audit import MISTAKES, Audit, run_audit
from graspline.cli.campaign import Bars, again, brief, named_faults
from graspline.cli.interrupts import stopping
from graspline.cli.options import (
    Config,
    EngineName,
    Lanes,
    RobotName,
    Settings,
    TaskName,
    engine_of,
    equipped,
    lanes_of,
    task_and_parameters,
    with_robot,
)
from graspline.cli.outputs import make_folder, save_findings
from graspline.cli.questions import UnaskedQuestions
from graspline.episodes.statistics import wilson
from graspline.faults.catalogue import own_fault_names
from graspline.reports.pages import audit_page
from graspline.wording import counted

_SHOWN = 20


def audit(
    task: TaskName,
    episodes: Annotated[int, typer.Option(min=1, max=1_000_000, metavar="N", help="Number of episodes.")] = 200,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the first episode; the others count up.")] = 0,
    lanes: Lanes = 0,
    faults_share: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="Share of episodes that get a random fault.")
    ] = 0.333,
    faults: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="Only these faults. Default: all that come with graspline.", show_default=False
        ),
    ] = None,
    engine: EngineName = "cpu",
    config: Config = None,
    settings: Settings = None,
    robot: RobotName = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for audit.json and audit.html.")] = Path("out/audit"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to standard output.")] = False,
) -> None:
    """Check verdicts and claims against ground truth.

    Every verdict, and every claim on the way to it (held, placed, sorted), is compared with the state of the simulator
    at that moment. Tasks that handle many objects run with few, unless --set says otherwise. Exits with 1 if an
    episode falsely claims success.

    \b
    Examples:
      graspline audit lift-cube --episodes 2000
      graspline audit lift-cube --episodes 50 --faults-share 1 --json
      graspline audit lift-cube --episodes 50 --faults drop,shove
      graspline audit oranges --episodes 10000 --engine auto
    """
    settings = with_robot(task, settings, robot)
    found, parameters = task_and_parameters(
        task, config, [*brief(task), *(settings or ())], lambda found: named_faults(faults, own_fault_names(), found)
    )
    injected = named_faults(faults, own_fault_names(), found) if faults_share > 0 else ()
    kind = engine_of(engine)
    make_folder("--out", out)
    unasked = UnaskedQuestions()
    with stopping() as stop, ExitStack() as shown:
        bars = Bars(shown, as_json, unasked)
        result = run_audit(
            found,
            equipped(found, parameters, injected),
            seed=seed,
            episodes=episodes,
            faults_share=faults_share,
            faults=injected,
            lanes=lanes_of(lanes, kind, 32),
            engine=kind,
            stop=stop,
            begin=bars.begin,
            played=bars.played,
            after_tick=bars.tick,
        )
    save_findings(out, "audit", result.as_dict(), audit_page(result))
    if as_json:
        print(json.dumps(result.as_dict(), allow_nan=False))
    else:
        _say(result, (*brief(task), *(settings or ())))
    unasked.report()
    raise typer.Exit(130 if result.interrupted else 1 if result.false_successes else 0)


def _say(result: Audit, short: tuple[str, ...]) -> None:
    if result.interrupted:
        print("interrupted: only episodes that had ended are counted", file=sys.stderr)
    faults = f", {result.faulty} with an injected fault ({result.struck} triggered)" if result.faulty else ""
    print(counted(result.episodes, "episode") + faults)
    for verdict, count in sorted(result.silent.items()):
        print(f"  {count} {verdict} (excluded: no claim was made)")
    print("claims against ground truth, with 95 % intervals:")
    width = max(len("claim"), *(len(kind) for kind in result.tallies))
    print(f"  {'claim':<{width}}  {'checked':>7}  {'false accepts':>24}  {'false rejects':>24}")
    for kind, tally in result.tallies.items():
        accepts = _share(tally.false_accepts, tally.asserted)
        rejects = _share(tally.false_rejects, tally.truly)
        print(f"  {kind:<{width}}  {tally.asserted + tally.denied:>7}  {accepts:>24}  {rejects:>24}")
    worst = result.worst()
    if worst:
        print("worst cases:")
    for each in worst[:_SHOWN]:
        about = f" of {each.about}" if each.about else ""
        message = again(each.seed, each.fault, short)
        print(f"  {MISTAKES[each.mistake]}, {each.kind}{about}: {message}, {each.said} at {each.t_s:.2f} s")
        print(f"    ground truth: {'; '.join(str(one) for one in each.evidence)}")
    if len(worst) > _SHOWN:
        print(f"  and {len(worst) - _SHOWN} more in audit.json")


def _share(wrong: int, of: int) -> str:
    low, high = wilson(wrong, of)
    return f"{wrong}/{of} ({100 * low:.2f} to {100 * high:.2f} %)" if of else "none"
