"""Two ways through the front door: the real process, and the real `entry()` in this one, which saves a second."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import av

from graspline.cli.interrupts import STOPS
from graspline.cli.main import entry

COMMAND = [sys.executable, "-m", "graspline.cli"]
COMMANDS = (
    "demo",
    "tasks",
    "faults",
    "config",
    "diagram",
    "region",
    "run",
    "generate",
    "eval",
    "report",
    "teachability",
    "replay",
    "doctor",
    "compact",
    "merge",
    "delete",
    "export",
    "campaign",
    "audit",
    "rates",
)
# A machine may have eight times as much to do as it can: a deadline is for what would never end.
PATIENCE_S = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command gave back."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines; anything else there fails."""
        return [json.loads(line) for line in self.out.splitlines()]


def call(*words: str | Path, start: Callable[[], None] = entry) -> Answer:
    """Run a command, or a script that starts like one, in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    before = {each: signal.getsignal(each) for each in STOPS}
    code: object = None
    try:
        with (
            mock.patch.object(sys, "argv", ["graspline", *map(str, words)]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            start()
    except SystemExit as left:
        code = left.code
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert isinstance(code, int), f"entry() left with {code!r}"
    return Answer(code=code, out=_text(out), err=_text(err))


def spawn(*words: str | Path, cwd: Path | None = None, **environment: str) -> Answer:
    """Run a command in a process of its own, without a terminal."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )
    return Answer(code=done.returncode, out=done.stdout, err=done.stderr)


def unread(*words: str | Path, **environment: str) -> int:
    """Run a command whose reader, of both streams, goes away at once; the exit code."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **environment},
    )
    assert process.stdout is not None
    process.stdout.close()
    try:
        return process.wait(PATIENCE_S)
    finally:
        process.kill()


def refused(*words: str | Path) -> list[str]:
    """The problems a command names when it refuses its input: exit code 2, nothing else printed."""
    answer = call(*words)
    assert answer.code == 2, answer
    assert answer.out == ""
    assert "Traceback" not in answer.err
    problems = answer.err.splitlines()
    assert problems
    assert all(line.startswith("graspline: ") for line in problems), answer.err
    return [line.removeprefix("graspline: ") for line in problems]


class Running:
    """A command under way; what it prints is in files, to be looked at meanwhile."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self._process, self._out, self._err = process, out, err

    def wait_until(self, happened: Callable[[Answer], bool]) -> None:
        """Wait until the output so far says so; a command that ends before fails."""
        deadline = time.monotonic() + PATIENCE_S
        while not happened(self._so_far(0)):
            assert self._process.poll() is None, self._so_far(self._process.returncode)
            assert time.monotonic() < deadline
            time.sleep(0.002)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def interrupt(self, stop: signal.Signals = signal.SIGINT) -> None:
        self._process.send_signal(stop)

    def finish(self) -> Answer:
        return self._so_far(self._process.wait(PATIENCE_S))

    def _so_far(self, code: int) -> Answer:
        return Answer(code=code, out=self._out.read_text(), err=self._err.read_text())


@contextlib.contextmanager
def running(
    folder: Path,
    *words: str | Path,
    command: list[str] = COMMAND,
    preexec_fn: Callable[[], object] | None = None,
) -> Iterator[Running]:
    """Start a command; it does not outlive the block."""
    out, err = folder / "stdout", folder / "stderr"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            [*command, *map(str, words)], stdout=stdout, stderr=stderr, cwd=folder, preexec_fn=preexec_fn
        )
    try:
        yield Running(process, out, err)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Film:
    """What a video file holds."""

    frames: int
    size: tuple[int, int]
    fps: float


def watch(path: Path) -> Film:
    """Decode every frame of a video."""
    with av.open(path, "r") as file:
        stream = file.streams.video[0]
        frames = sum(1 for _ in file.decode(stream))
        assert stream.average_rate is not None
        return Film(frames=frames, size=(stream.width, stream.height), fps=float(stream.average_rate))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()
