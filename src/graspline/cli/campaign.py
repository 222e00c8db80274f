"""`graspline campaign`: every fault in every state."""

from __future__ import annotations

import collections
import json
import shlex
import shutil
import statistics
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from graspline.campaigns.baseline import leaf_states
from graspline.campaigns.campaign import Campaign, CampaignCell, Plan, run_campaign
from graspline.cli.interrupts import stopping
from graspline.cli.options import (
    Config,
    EngineName,
    Lanes,
    RobotName,
    Settings,
    TaskName,
    check_faults,
    engine_of,
    equipped,
    faults_of,
    lanes_of,
    machine_as_set,
    task_and_parameters,
    with_robot,
)
from graspline.cli.outputs import WIDTH, make_folder, save_findings, wrapped
from graspline.cli.questions import UnaskedQuestions
from graspline.cli.run_progress import RunProgress
from graspline.engine.protocol import Engine
from graspline.episodes.episode import Episode
from graspline.episodes.questions import first_default
from graspline.episodes.statistics import rate_text
from graspline.errors import InputError, nearest
from graspline.faults.catalogue import fault_kinds, fault_names, find_fault
from graspline.parameters.notation import printable
from graspline.reports.pages import campaign_page
from graspline.tasks.catalogue import find_task
from graspline.tasks.task import Task
from graspline.wording import quantity

_WRONG = {"false_success": "false claim", "crashed": "crashed", "hung": "hung"}
# The column that joins all states.
_ALL = "all"


def campaign(
    task: TaskName,
    faults: Annotated[
        str | None,
        typer.Option(metavar="A,B", help=f"Only these faults. All: {', '.join(fault_names())}.", show_default=False),
    ] = None,
    states: Annotated[
        str | None, typer.Option(metavar="X,Y", help="Only in these states; `graspline diagram TASK` shows them.")
    ] = None,
    after: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME@STATE[+S]",
            help="Inject this fault in every episode first, so that recovery states are entered; repeatable.",
        ),
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, max=100_000, metavar="N", help="Episodes per cell.")] = 10,
    seed: Annotated[
        int, typer.Option(min=0, metavar="S", help="Seed of the first episode; the same in every cell.")
    ] = 0,
    lanes: Lanes = 0,
    engine: EngineName = "cpu",
    config: Config = None,
    settings: Settings = None,
    robot: RobotName = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for campaign.json and campaign.html.")] = Path(
        "out/campaign"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to standard output.")] = False,
) -> None:
    """Inject every fault in every state; report recoveries.

    For each pair of fault and state: how many episodes recovered, how the others failed, and how soon the fault was
    detected. Tasks that handle many objects run with few, and may lose one of them, unless --set says otherwise.
    Exits with 1 if an episode falsely claims success, crashes or hangs.

    \b
    Examples:
      graspline campaign lift-cube --faults drop,shove --episodes 4
      graspline campaign lift-cube --states lift,hold --out out/holding
      graspline campaign lift-cube --states back_off --after drop@lift+0.3
      graspline campaign lift-cube --episodes 200 --engine auto
      graspline campaign sort --faults belt-jam,remove --states travel,grip --episodes 2 --lanes 8
    """
    settings = with_robot(task, settings, robot)
    before, ordered = tuple(after or ()), [*brief(task), *(settings or ())]
    found, parameters = task_and_parameters(
        task,
        config,
        ordered,
        lambda named: named_faults(faults, tuple(fault_kinds()), named),
        lambda named: _names("--states", "state", states, leaf_states(machine_as_set(named, config, ordered))),
        lambda named: check_faults(named, before, machine_as_set(named, config, ordered).paths(), "--after"),
    )
    kind = engine_of(engine)
    possible = leaf_states(found.machine(parameters))
    make_folder("--out", out)
    struck = named_faults(faults, tuple(fault_kinds()), found)
    plan = Plan(
        task=found,
        parameters=equipped(found, parameters, struck),
        faults=struck,
        states=_names("--states", "state", states, possible),
        after=before,
        seed=seed,
        episodes=episodes,
    )
    unasked = UnaskedQuestions()
    with stopping() as stop, ExitStack() as shown:
        bars = Bars(shown, as_json, unasked)
        result = run_campaign(
            plan,
            lanes=lanes_of(lanes, kind, 32),
            engine=kind,
            stop=stop,
            begin=bars.begin,
            played=bars.played,
            after_tick=bars.tick,
        )
    save_findings(out, "campaign", result.as_dict(), campaign_page(result))
    if as_json:
        print(json.dumps(result.as_dict(), allow_nan=False))
    else:
        _say(result, (*brief(task), *(settings or ())))
    unasked.report()
    raise typer.Exit(130 if result.interrupted else 0 if result.clean else 1)


def brief(task: str) -> tuple[str, ...]:
    """Settings of a short order, which come before those of the user."""
    return find_task(task).brief


def _names(
    option: str,
    what: str,
    text: str | None,
    known: Iterable[str],
    offered: Callable[[], Iterable[str]] | None = None,
) -> tuple[str, ...]:
    """Names between commas, all there are if the option is not given; all mistakes at once.

    The error for an unknown name lists those that are `offered`, or else all that are known.
    """
    known = tuple(known)
    if text is None:
        return known
    names = _split(text)
    unknown, given = [name for name in names if name not in known], printable(text)
    listed = tuple(offered()) if unknown and offered else known
    problems = [f"{option} {given}: unknown {what} {printable(each)!r}; {nearest(each, listed)}" for each in unknown]
    if not names:
        problems.append(f"{option} {given!r}: expected at least one {what}; leave out {option} for all of them")
    if problems:
        raise InputError(problems)
    return names


def named_faults(text: str | None, otherwise: tuple[str, ...], task: Task[Any]) -> tuple[str, ...]:
    """What `--faults` names, a fault that is not installed by its place `module:NAME`; all mistakes at once."""
    if text is None:
        return otherwise
    places = tuple(name for name in _split(text) if ":" in name)
    for place in places:
        find_fault(place)
    return _names("--faults", "fault", text, (*fault_names(), *places), lambda: faults_of(task))


def _split(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


class Bars:
    """Progress of a run in several parts, each with a bar of its own."""

    def __init__(self, shown: ExitStack, beside_output: bool, unasked: UnaskedQuestions) -> None:
        self._shown, self._beside_output, self._unasked = shown, beside_output, unasked
        self._bar: RunProgress | None = None

    def begin(self, what: str, episodes: int) -> None:
        """The next part: what is played, and how often."""
        self._shown.close()
        # No success rate: with a fault in them, episodes are meant to fail.
        bar = RunProgress(what, episodes, rate=False, beside_output=self._beside_output)
        self._bar = self._shown.enter_context(bar)

    def end(self) -> None:
        """Remove the bar, so that something can be printed."""
        self._shown.close()
        self._bar = None

    def played(self, episode: Episode) -> None:
        """An episode is done."""
        self._unasked.note(first_default(episode.answers))
        if self._bar is not None:
            self._bar.add(episode)

    def tick(self, engine: Engine) -> None:
        """A control step is done."""
        if self._bar is not None:
            self._bar.tick(engine)


def again(seed: int, faults: str, settings: tuple[str, ...]) -> str:
    """Options with which `graspline run TASK` plays an episode again."""
    message = f"--seed {seed}" + (f" --fault {faults}" if faults else "")
    return message + "".join(f" --set {shlex.quote(each)}" for each in settings)


def _say(result: Campaign, short: tuple[str, ...]) -> None:
    if result.interrupted:
        print("interrupted: only episodes that had ended are counted", file=sys.stderr)
    print(f"{result.task}: recovered / triggered, by fault and state")
    for line in _matrix(result, shutil.get_terminal_size((WIDTH, 24)).columns):
        print(line)
    if any(cell.idle for cell in result.cells.values()):
        print("– fault does not apply in this state")
    print()
    for each in (*_by_fault(result), *_drops(result), *_recovery(result)):
        for line in wrapped(each):
            print(line)
    wrong = [case for cell in result.cells.values() for case in cell.cases if case.ending in _WRONG]
    print(f"false claims, crashes and hangs: {len(wrong)}")
    for case in wrong[:20]:
        print(f"  {_WRONG[case.ending]}: {again(case.seed, case.fault, short)}")
        if case.ending == "crashed":
            print(case.note, file=sys.stderr)


def _drops(result: Campaign) -> list[str]:
    """How soon drops are detected, over all and the latest in each state."""
    detected = result.of_fault("drop").detect_s
    if not detected:
        return []
    by_state = {
        cell.state: max(cell.detect_s) for cell in result.cells.values() if cell.fault == "drop" and cell.detect_s
    }
    latest = ", ".join(f"{state} {quantity(slowest, 's')}" for state, slowest in by_state.items())
    median, slowest = quantity(statistics.median(detected), "s"), quantity(max(detected), "s")
    return [f"drops detected after {median} (median), {slowest} (slowest); slowest by state: {latest}"]


def _recovery(result: Campaign) -> list[str]:
    recoverable = [name for name in result.faults if find_fault(name).recoverable]
    cells = [cell for cell in map(result.of_fault, recoverable) if cell.struck]
    struck, recovered = sum(cell.struck for cell in cells), sum(cell.count("recovered") for cell in cells)
    if not struck:
        return []
    named = collections.Counter[str]()
    for cell in cells:
        named.update(cell.failures)
    rest = ", ".join(f"{name} {count}" for name, count in named.most_common())
    message = f"{', '.join(cell.fault for cell in cells)}: recovered {rate_text(recovered, struck)}"
    return [message + (f"; failed: {rest}" if rest else "")]


def _matrix(result: Campaign, width: int) -> list[str]:
    """The table, in as many blocks of states as fit the width; a dash where a fault makes no sense."""
    first = max(len(fault) for fault in result.faults)
    lines: list[str] = []
    for block in _blocks((*result.states, _ALL), width - first):
        lines += ["", " " * first + "".join(f"{state:>{_wide(state)}}" for state in block)]
        for fault in result.faults:
            row = [result.of_fault(fault) if state == _ALL else result.cells[fault, state] for state in block]
            texts = (f"{_cell(cell):>{_wide(state)}}" for state, cell in zip(block, row, strict=True))
            lines.append(f"{fault:<{first}}" + "".join(texts))
    return lines


def _blocks(states: Iterable[str], width: int) -> list[list[str]]:
    blocks: list[list[str]] = [[]]
    for state in states:
        if blocks[-1] and sum(map(_wide, blocks[-1])) + _wide(state) > width:
            blocks.append([])
        blocks[-1].append(state)
    return blocks


def _wide(state: str) -> int:
    return max(len(state), 7) + 2


def _cell(cell: CampaignCell) -> str:
    if cell.idle:
        return "–"
    mark = "!" if any(case.ending in _WRONG for case in cell.cases) else ""
    return f"{mark}{cell.count('recovered')}/{cell.struck}"


def _by_fault(result: Campaign) -> list[str]:
    """One line per fault: how episodes ended, and how soon it was detected."""
    first, lines = max(len(fault) for fault in result.faults), []
    for fault in result.faults:
        cell = result.of_fault(fault)
        if not cell.struck:
            reasons = dict.fromkeys(each.idle for each in result.cells.values() if each.fault == fault)
            lines.append(f"{fault:<{first}}  not triggered: {'; '.join(reasons)}")
            continue
        failed = ", ".join(f"{name} {count}" for name, count in cell.failures.items())
        detected = ""
        if cell.detect_s:
            median, slowest = quantity(statistics.median(cell.detect_s), "s"), quantity(max(cell.detect_s), "s")
            detected = f"; detected {len(cell.detect_s)}, median {median}, slowest {slowest}"
        message = f"recovered {cell.count('recovered')}/{cell.struck}" + (f"; failed: {failed}" if failed else "")
        lines.append(f"{fault:<{first}}  {message}{detected}")
    return lines
