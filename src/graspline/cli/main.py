"""Where `graspline` starts, and what every error becomes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable

from graspline.cli import streams
from graspline.cli.deferred_imports import forget
from graspline.cli.interrupts import STOPS
from graspline.cli.logs import show_warnings
from graspline.errors import GrasplineError


def _graspline() -> Callable[[], object]:
    # Here and not at the top: a Ctrl-C during this import is handled by `entry`.
    from graspline.cli.commands import app

    return app


def entry(load: Callable[[], Callable[[], object]] = _graspline) -> None:
    """Run the command line: one clear message and the documented exit code; a traceback only for an internal error."""
    code = _run(load)
    # Nothing is left to interrupt: a late Ctrl-C could only print a traceback while Python shuts down.
    for each in STOPS:
        signal.signal(each, signal.SIG_IGN)
    streams.let_go()
    forget()
    sys.exit(code)


def _run(load: Callable[[], Callable[[], object]]) -> int:
    try:
        streams.prepare()
        show_warnings()
        # Otherwise mujoco tries window libraries in a process of its own as it is imported, which Ctrl-C makes noisy.
        # Pictures need none: they are rendered by EGL or by rays.
        os.environ.setdefault("MUJOCO_GL", "disable")
        return _play(load())
    except GrasplineError as error:
        return _complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except OSError as error:
        return _complain(f"{error.filename or 'this machine'}: {error.strerror or error}", 3)
    except Exception:
        traceback.print_exc()
        return _complain("internal error; please report it with the lines above", 5)


def _play(app: Callable[[], object]) -> int:
    try:
        app()
        code = 0
    except SystemExit as leaving:
        # Typer makes exit codes of these, one without a word and one that is ours for too few successes.
        for cause in (leaving.__context__, getattr(leaving.__context__, "__cause__", None)):
            if isinstance(cause, KeyboardInterrupt | BrokenPipeError):
                raise cause from None
        code = leaving.code if isinstance(leaving.code, int) else 0
    sys.stdout.flush()
    return code


def _complain(message: str, code: int) -> int:
    with contextlib.suppress(OSError):
        for line in message.splitlines():
            print(f"graspline: {line}", file=sys.stderr)
    return code
