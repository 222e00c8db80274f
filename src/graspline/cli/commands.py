"""Every command of `graspline` by name. A command's module is imported when the command is used, not before."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from graspline.cli.interrupts import STOPS
from graspline.cli.usage import Command
from graspline.errors import InputError, nearest
from graspline.version import VERSION


class Listed(NamedTuple):
    """Where a command is defined, `module:function` in this folder, and the first sentence of its help."""

    place: str
    summary: str


COMMANDS: Mapping[str, Listed] = {
    "demo": Listed("demo:demo", "Put three oranges on a plate; leave a film and a report."),
    "tasks": Listed("inspect:tasks", "List the tasks."),
    "config": Listed("inspect:config", "Print every parameter of a task as YAML."),
    "diagram": Listed("inspect:diagram", "Draw a task's machine from its table."),
    "region": Listed("inspect:region", "Say where a task's object can be grasped."),
    "workspace": Listed("arms:workspace", "Measure what an arm reaches."),
    "jaw": Listed("arms:jaw", "Measure how far a jaw opens."),
    "run": Listed("run:run", "Play episodes of a task and judge them."),
    "serve": Listed("serve:serve", "Serve a task: browser panel and HTTP interface."),
    "generate": Listed("generate:command", "Make a dataset of verified demonstrations."),
    "eval": Listed("evaluate:evaluate", "Let a policy do a task, closed loop, and judge it by truth."),
    "compare": Listed("compare:command", "Compare two evaluations on the same seeds."),
    "report": Listed("report:report", "Describe a dataset or an evaluation on one page."),
    "teachability": Listed("teachability:teachability", "Measure how well demonstrations can be imitated."),
    "compact": Listed("edit:compact", "Pack a dataset's many files into few."),
    "merge": Listed("edit:merge", "Make one dataset of several."),
    "delete": Listed("edit:delete", "Take episodes out of a dataset, or put them back."),
    "export": Listed("export:export", "Write a dataset in another format."),
    "replay": Listed("replay:command", "Play a dataset's episodes again from their logs."),
    "doctor": Listed("doctor:command", "Check everything that loaders and trainers rely on."),
    "campaign": Listed("campaign:campaign", "Let every fault strike in every state."),
    "audit": Listed("audit:audit", "Compare verdicts and claims with truth."),
    "rates": Listed("rates:rates", "Measure which share of blocks is sorted, and draw it."),
    "bench": Listed("bench:bench", "Measure speeds as ratios on this machine."),
}
_SETTINGS = {"help_option_names": ["-h", "--help"]}


class _Commands(TyperGroup):
    """The commands of the table; listing them imports none of them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return command_of(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise InputError(f"no such command {args[0]!r}; {nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.summary) for name, each in COMMANDS.items()])


def command_of(name: str) -> Any:
    """One command with its options, imported now."""
    module, _, function = COMMANDS[name].place.partition(":")
    with _importing():
        found: Callable[..., object] = getattr(importlib.import_module(f"graspline.cli.{module}"), function)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=_SETTINGS)
    alone.command(name, cls=Command)(found)
    return get_command(alone)


@contextmanager
def _importing() -> Iterator[None]:
    """Imports take most of a second, in which Ctrl-C would strike inside some library: it ends the process instead."""
    for each in STOPS:
        signal.signal(each, _leave)
    try:
        yield
    finally:
        # Not what it was before: a script's background job starts with Ctrl-C ignored, yet may be sent one.
        for each in STOPS:
            signal.signal(each, signal.default_int_handler)


def _leave(signum: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"graspline: interrupted\n")
    os._exit(130)


app = typer.Typer(
    name="graspline",
    cls=_Commands,
    help="Robot pick-and-place in simulation that is verified, recovers, and turns into training data.\n\n"
    "\b\nStart with:\n  graspline demo\n  graspline run lift-cube --episodes 20",
    add_completion=False,
    pretty_exceptions_enable=False,
    # Boxes cut option names off in a narrow terminal and examples in two.
    rich_markup_mode=None,
    context_settings=_SETTINGS,
    epilog="Exit codes: 0 done, 1 below --require-success, 2 bad usage or configuration, 3 something this machine "
    "lacks, 4 dataset inconsistent, 5 our bug, 130 interrupted.",
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"graspline {VERSION}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def _main(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
