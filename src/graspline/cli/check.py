"""`graspline check`: whether a task meets the rules every task must meet."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Annotated

import typer

from graspline.cli.campaign import Bars
from graspline.cli.interrupts import stopping
from graspline.cli.options import Config, RobotName, Settings, TaskName, task_and_parameters, with_robot
from graspline.cli.outputs import wrapped
from graspline.cli.questions import UnaskedQuestions
from graspline.cli.status_line import working
from graspline.conformance.kit import NAMES, check_task
from graspline.conformance.report import Checked
from graspline.engine.protocol import Engine
from graspline.episodes.episode import Episode
from graspline.wording import counted


def check(
    task: TaskName,
    episodes: Annotated[int, typer.Option(min=1, max=100_000, metavar="N", help="Episodes without a fault.")] = 100,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the first episode; the others count up.")] = 0,
    config: Config = None,
    settings: Settings = None,
    robot: RobotName = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to standard output.")] = False,
) -> None:
    """Check that a task meets the rules every task must meet.

    The rules: every outcome in its table leads somewhere, every state gets the inputs it needs, the sampler is bounded
    and repeatable, worker processes can import the task, its goal and claims agree with ground truth, episodes are
    bit-identical in 1, 7 and 32 lanes, and every fault ends in a named outcome, never in a false success. Exits with 1
    if a check fails.

    \b
    Examples:
      graspline check lift-cube --episodes 20
      graspline check my_lab.stack:STACK
    """
    settings = with_robot(task, settings, robot)
    found, parameters = task_and_parameters(task, config, settings, wired=False)
    unasked = UnaskedQuestions()
    with stopping() as stop, ExitStack() as shown, ExitStack() as waiting:
        watch = _CheckDisplay(Bars(shown, as_json, unasked), waiting, stop, quiet=as_json)
        watch.wait_for(NAMES[0])
        result = check_task(found, parameters, episodes=episodes, seed=seed, watch=watch)
    if as_json:
        print(json.dumps(result.as_dict(), allow_nan=False))
    elif stop():
        print("interrupted: only the checks above are done", file=sys.stderr)
    elif result.conforms:
        print(f"{found.name} conforms")
    else:
        count = sum(len(each.problems) for each in result.checks)
        print(f"{found.name} does not conform: {counted(count, 'problem')}")
    unasked.report()
    raise typer.Exit(130 if stop() else 0 if result.conforms else 1)


class _CheckDisplay:
    """Prints each check as it is done; until then, a bar while episodes are played, or the name of the check."""

    def __init__(self, bars: Bars, waiting: ExitStack, stop: Callable[[], bool], *, quiet: bool) -> None:
        self._bars, self._waiting, self._stop, self._quiet = bars, waiting, stop, quiet

    def wait_for(self, name: str) -> None:
        """Show on a terminal which check is being done."""
        self._waiting.enter_context(working(f"checking {name}"))

    def stop(self) -> bool:
        return self._stop()

    def begin(self, what: str, episodes: int) -> None:
        self._waiting.close()
        self._bars.begin(what, episodes)

    def tick(self, engine: Engine) -> None:
        self._bars.tick(engine)

    def played(self, episode: Episode) -> None:
        self._bars.played(episode)

    def checked(self, each: Checked) -> None:
        self._waiting.close()
        if not self._quiet:
            self._bars.end()
            self._print(each)
        if each.done and each.name != NAMES[-1]:
            self.wait_for(NAMES[NAMES.index(each.name) + 1])

    def _print(self, each: Checked) -> None:
        mark = "✓" if each.kept else "✗" if each.done else "–"
        for line in wrapped(f"{mark} {each.name:<{max(map(len, NAMES))}}  {each.note}"):
            print(line, flush=True)
        for problem in each.problems:
            # What a machine's table lacks has a line for each state.
            for said in problem.splitlines():
                for line in wrapped(f"    {said}"):
                    print(line, flush=True)
