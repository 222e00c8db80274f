"""Where `graspline` starts, and what every error becomes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable
from io import TextIOWrapper
from types import FrameType
from typing import NoReturn

from graspline.errors import GrasplineError


def entry() -> None:
    """Run the command line; one clear message and the documented exit code, never a traceback, unless it is our bug."""
    code = _run()
    # Nothing is left to interrupt: a late Ctrl-C could only print a traceback while Python shuts down.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _let_go_of_output()
    sys.exit(code)


def _run() -> int:
    try:
        _prepare_streams()
        # Otherwise mujoco tries window libraries in a process of its own as it is imported, which Ctrl-C makes noisy.
        # Pictures need none: they are drawn by EGL or by rays.
        os.environ.setdefault("MUJOCO_GL", "disable")
        return _play(_commands())
    except GrasplineError as error:
        return _complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except BrokenPipeError:
        # Somebody closed our standard output, as `head` does.
        return 0
    except OSError as error:
        return _complain(f"{error.filename or 'this machine'}: {error.strerror or error}", 3)
    except Exception:
        traceback.print_exc()
        return _complain("this is a bug in graspline; please report it with the lines above", 5)


def _commands() -> Callable[[], object]:
    """The commands. Their imports take most of a second, in which Ctrl-C would strike inside some library."""
    signal.signal(signal.SIGINT, _leave)
    try:
        from graspline.cli.commands import app
    finally:
        # Not what it was before: a script's background job starts with Ctrl-C ignored, yet may be sent one.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return app


def _leave(signum: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"graspline: interrupted\n")
    os._exit(130)


def _play(app: Callable[[], object]) -> int:
    try:
        app()
        code = 0
    except SystemExit as leaving:
        # Typer makes a 1 of a closed pipe, which is our code for too few successes.
        if isinstance(leaving.__context__, BrokenPipeError):
            raise leaving.__context__ from None
        code = leaving.code if isinstance(leaving.code, int) else 0
    sys.stdout.flush()
    return code


def _prepare_streams() -> None:
    """Streams that take whatever we print: a closed one swallows it, a poor encoding gets escapes."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  (open until we exit)
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _let_go_of_output() -> None:
    """Give up on output that cannot be written, before Python tries again on its way out and complains."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _complain(message: str, code: int) -> int:
    with contextlib.suppress(OSError):
        for line in message.splitlines():
            print(f"graspline: {line}", file=sys.stderr)
    return code
