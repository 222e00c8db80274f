"""`graspline serve`: a page in the browser and an HTTP interface to one running simulation."""

from __future__ import annotations

import importlib.util
import sys
import time
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graspline.cli.interrupts import stopping
from graspline.cli.options import Config, Randomize, RobotName, Settings, TaskName, task_and_parameters, with_robot
from graspline.cli.questions import keyboard
from graspline.cli.served_questions import ServedQuestions
from graspline.errors import EnvironmentProblem, InputError, Interrupted
from graspline.serve.archive import open_archive
from graspline.serve.live.server_context import first_seed

if TYPE_CHECKING:
    from graspline.serve.hosting import Hosted

_EXTRA = ("fastapi", "starlette", "uvicorn", "websockets", "viser", "trimesh")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANY = ("0.0.0.0", "::", "")


def serve(
    task: TaskName,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=2**31 - 1,
            metavar="S",
            help="Seed of the first scene. Default: the first one in which every object can be picked.",
            show_default=False,
        ),
    ] = None,
    config: Config = None,
    settings: Settings = None,
    robot: RobotName = None,
    randomize: Randomize = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen on; the default accepts only this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 takes any that is free.")] = 8765,
    address: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:PORT", help="Address of the page from other machines, such as a forwarded port."),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    record: Annotated[Path | None, typer.Option(metavar="DIR", help="Dataset to record episodes into.")] = None,
) -> None:
    """Serve a task: browser panel and HTTP interface.

    Prints one address with a token; anyone with it can drive the arm. Listens on this machine only, unless --host says
    otherwise. Press Ctrl-C to stop: the arm brakes and holds.

    \b
    Examples:
      graspline serve grab
      graspline serve grab --seed 7 --open
      graspline serve oranges --port 9000 --record out/live
    """
    settings = with_robot(task, settings, robot)
    found, parameters = task_and_parameters(
        task, config, settings, lambda _: _check_host(host, port, address), randomize=randomize
    )
    _check_extra()
    first = first_seed(found, parameters) if seed is None else seed
    names = list(address or ())
    if host not in _LOOPBACK and host not in _ANY:
        names.append(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    with open_archive(found, parameters, first, record) as archive, stopping() as asked, ExitStack() as open_now:
        _say("loading the page and the HTTP interface")
        from graspline.serve.hosting import ListenAddress, hosted

        way = ListenAddress(host=host, port=port, addresses=frozenset(names))
        running = open_now.enter_context(hosted(found, parameters, first, archive, way, _say))
        _report_address(running, host, found.name)
        if open_page:
            webbrowser.open(running.address)
        questions = ServedQuestions(keyboard())
        while not asked():
            questions.glance(running.house.session)
            time.sleep(0.05)
    raise Interrupted("interrupted; the arm holds, the session is closed")


def _check_extra() -> None:
    for name in _EXTRA:
        if importlib.util.find_spec(name) is None:
            raise EnvironmentProblem(f"serve needs {name}: pip install 'graspline[serve]'")


def _report_address(running: Hosted, host: str, task: str) -> None:
    print(running.address, flush=True)
    _say(f"serving {task}; press Ctrl-C to stop")
    if host not in _LOOPBACK:
        _say(f"listening on {host}: any client with this address and its token can drive the arm")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _check_host(host: str, port: int, addresses: list[str] | None) -> None:
    problems = []
    if host in _ANY and not addresses:
        problems.append(f"--host {host or repr(host)}: give one address, or the page's address with --address")
    if host not in _LOOPBACK and port == 0:
        problems.append(f"--port 0: with --host {host} a port is required")
    for each in addresses or ():
        name, _, number = each.rpartition(":")
        if not name or not number.isdecimal() or int(number) > 65535 or "/" in name:
            problems.append(f"--address {each!r}: expected NAME:PORT, such as robot.local:8765")
    if problems:
        raise InputError(problems)
