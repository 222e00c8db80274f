"""Every command of `graspline` by name. A command's module is imported when the command is used, not before."""

from __future__ import annotations

import functools
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

from graspline.choices import DEMO_GOAL, FIRST_TASK
from graspline.cli.deferred_imports import lazily, load
from graspline.cli.interrupts import STOPS
from graspline.cli.option_errors import in_our_words
from graspline.cli.status_line import working
from graspline.cli.usage import CliCommand
from graspline.errors import InputError, nearest
from graspline.version import VERSION


class CommandEntry(NamedTuple):
    """Where a command is defined, `module:function` in this folder, and the first sentence of its help.

    The first word of a name of two words is a group.
    """

    place: str
    summary: str


COMMANDS: Mapping[str, CommandEntry] = {
    "demo": CommandEntry("demo:demo", f"{DEMO_GOAL}; save a film and a report."),
    "tasks": CommandEntry("tasks:tasks", "List the tasks."),
    "faults": CommandEntry("faults:faults", "List the faults that can be injected."),
    "config": CommandEntry("inspect:config", "Print every parameter of a task as YAML."),
    "diagram": CommandEntry("inspect:diagram", "Show a task's state machine as a diagram."),
    "region": CommandEntry("inspect:region", "Measure where a task's object can be grasped."),
    "workspace": CommandEntry("arms:workspace", "Measure the workspace of a robot arm."),
    "jaw": CommandEntry("arms:jaw", "Measure how far a gripper opens."),
    "run": CommandEntry("run:run", "Run episodes of a task and judge them."),
    "serve": CommandEntry("serve:serve", "Serve a task: browser panel and HTTP interface."),
    "generate": CommandEntry("generate:command", "Generate a dataset of verified demonstrations."),
    "eval": CommandEntry("evaluate:evaluate", "Evaluate a policy in closed loop against ground truth."),
    "compare": CommandEntry("compare:command", "Compare two evaluations on the same seeds."),
    "report": CommandEntry("report:report", "Write a report about a dataset or an evaluation."),
    "teachability": CommandEntry("teachability:teachability", "Measure how easy demonstrations are to imitate."),
    "compact": CommandEntry("edit:compact", "Pack a dataset's many files into a few."),
    "merge": CommandEntry("edit:merge", "Merge several datasets into one."),
    "delete": CommandEntry("edit:delete", "Delete episodes of a dataset, or restore them."),
    "export": CommandEntry("export:export", "Export a dataset to HDF5 or rosbag2."),
    "replay": CommandEntry("replay:command", "Replay a dataset's episodes from their logs."),
    "doctor": CommandEntry("doctor:command", "Check that a dataset is what loaders and trainers expect."),
    "campaign": CommandEntry("campaign:campaign", "Inject every fault in every state; report recoveries."),
    "audit": CommandEntry("audit:audit", "Check verdicts and claims against ground truth."),
    "check": CommandEntry("check:check", "Check that a task meets the rules every task must meet."),
    "new task": CommandEntry("new:new_task", "Write a package with a working task to start from."),
    "new robot": CommandEntry("new:new_robot", "Write a description of a robot to start from."),
    "rates": CommandEntry("rates:rates", "Measure success against the density and speed of what arrives."),
}
# What a group is for, by the first word of its commands.
GROUPS: Mapping[str, str] = {"new": "Write a starting point for something of your own."}
_SETTINGS = {"help_option_names": ["-h", "--help"]}


class _Commands(TyperGroup):
    """The commands of the table; listing them imports none of them."""

    # What the names of its commands in the table begin with: nothing, or the group's own name and a space.
    begin = ""

    def list_commands(self, ctx: Any) -> list[str]:
        """The next word of every name that is in this group."""
        names = [name.removeprefix(self.begin) for name in COMMANDS if name.startswith(self.begin)]
        return list(dict.fromkeys(name.partition(" ")[0] for name in names))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        name = self.begin + cmd_name
        if name in COMMANDS:
            with lazily():
                return command_of(name)
        return group_of(cmd_name) if cmd_name in self.list_commands(ctx) else None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with in_our_words(ctx, self.params, ()):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-"):
            whole = [self.begin + each for each in known]
            raise InputError(f"no such command {self.begin + args[0]!r}; {nearest(self.begin + args[0], whole)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows = [(name, each.summary) for name, each in COMMANDS.items() if name.startswith(self.begin)]
        with formatter.section("Commands"):
            formatter.write_dl([(name.removeprefix(self.begin), summary) for name, summary in rows])


def group_of(name: str) -> Any:
    """The commands whose names begin with this word; without a further word it prints its help."""
    kind = type(f"_{name.title()}Commands", (_Commands,), {"begin": f"{name} "})
    alone = typer.Typer(
        name=name, cls=kind, help=GROUPS[name], add_completion=False, rich_markup_mode=None, context_settings=_SETTINGS
    )
    alone.callback(invoke_without_command=True)(_help)
    return get_command(alone)


def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def command_of(name: str) -> Any:
    """One command with its options, imported now; what waits for it to be called is imported then."""
    module, _, function = COMMANDS[name].place.partition(":")
    with _importing():
        found: Callable[..., object] = getattr(importlib.import_module(f"graspline.cli.{module}"), function)

    @functools.wraps(found)
    def loaded(*given: object, **named: object) -> object:
        with _importing(), working("loading graspline"):
            load()
        return found(*given, **named)

    alone = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=_SETTINGS)
    alone.command(name.rpartition(" ")[2], cls=CliCommand)(loaded)
    return get_command(alone)


@contextmanager
def _importing() -> Iterator[None]:
    """Imports take most of a second, in which Ctrl-C would be raised inside some library: it ends the process "
    "instead."""
    for each in STOPS:
        signal.signal(each, _leave)
    try:
        yield
    finally:
        # Not what it was before: a script's background job starts with Ctrl-C ignored, yet may be sent one.
        for each in STOPS:
            signal.signal(each, signal.default_int_handler)


def _leave(signum: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"\r\x1b[Kgraspline: interrupted\n" if os.isatty(2) else b"graspline: interrupted\n")
    os._exit(130)


app = typer.Typer(
    name="graspline",
    cls=_Commands,
    help="Simulated pick-and-place demonstrations you can trust: every success is checked against ground truth, "
    "failures are retried, and everything is saved as a LeRobot dataset.\n\n"
    f"\b\nStart with:\n  graspline demo\n  graspline run {FIRST_TASK} --episodes 20",
    add_completion=False,
    pretty_exceptions_enable=False,
    # Boxes cut option names off in a narrow terminal and examples in two.
    rich_markup_mode=None,
    context_settings=_SETTINGS,
    epilog="Exit codes: 0 success, 1 a check failed (such as --require-success), 2 bad usage or configuration, "
    "3 missing dependency or hardware, 4 inconsistent dataset, 5 internal error (please report), 130 interrupted.",
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
