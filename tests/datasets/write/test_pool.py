"""Processes that fill orders: replaced when they die, gone when we are."""

from __future__ import annotations

import multiprocessing
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.context import SpawnProcess
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from graspline.datasets.format.recording import Recording
from graspline.datasets.write.jobs import Attempts, attempt, do
from graspline.datasets.write.pool import LocalPool
from graspline.episodes.processes import environment
from graspline.episodes.workers import WorkerFailure, filled, raise_failure
from graspline.errors import EnvironmentProblem, InputError

from ..conftest import cube_settings

ORDER = Attempts(settings=cube_settings(), seeds=(3,))


class Trap:
    """An order that does something else to the worker that unpacks it."""

    def __init__(self, deed: Callable[..., object], *given: object) -> None:
        self._deed, self._given = deed, given

    def __reduce__(self) -> Any:
        return self._deed, self._given


def trapped(deed: Callable[..., object], *given: object) -> Attempts:
    trap: Any = Trap(deed, *given)
    return trap


def workers() -> list[BaseProcess]:
    return [each for each in multiprocessing.active_children() if each.daemon]


def waited(happened: Callable[[], bool], limit_s: float = 600.0) -> bool:
    deadline = time.monotonic() + limit_s
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.01)
    return happened()


def test_a_worker_does_what_this_process_would_do() -> None:
    with LocalPool(1) as pool:
        assert pool.free == 1
        pool.submit(7, ORDER)
        assert pool.free == 0
        ((ticket, result),) = [(each.ticket, each.result) for each in pool.results()]
        assert pool.free == 1
    (wanted,) = attempt(ORDER)
    assert isinstance(wanted, Recording)
    assert (ticket, len(result), result[0].state_hash) == (7, 1, wanted.state_hash)
    assert workers() == []


def test_a_killed_workers_order_is_filled_by_another() -> None:
    with LocalPool(1) as pool:
        pool.submit(0, trapped(time.sleep, 0.5))
        (first,) = workers()
        assert first.pid is not None
        os.kill(first.pid, signal.SIGKILL)
        # It sleeps again, in another worker, and is no order after all.
        with pytest.raises(RuntimeError, match="AttributeError"):
            pool.results()
        (second,) = workers()
        assert second.pid != first.pid


def test_an_answer_that_breaks_off_is_asked_for_again() -> None:
    with LocalPool(1) as pool:
        pool.submit(0, ORDER)
        ours, theirs = multiprocessing.Pipe()
        # The beginning of a message of a thousand bytes.
        os.write(theirs.fileno(), struct.pack("!i", 1000) + b"x" * 10)
        theirs.close()
        pool._workers[0].pipe = ours
        (found,) = pool.results()
    assert isinstance(found.result[0], Recording)


def test_an_order_that_kills_every_worker_is_given_up() -> None:
    with LocalPool(1) as pool:
        pool.submit(0, trapped(os._exit, 9))
        with pytest.raises(EnvironmentProblem, match=r"3 workers died on the same job \(exit code 9\)"):
            pool.results()
    assert workers() == []


def test_a_worker_that_died_idle_is_replaced_when_it_is_needed() -> None:
    with LocalPool(1) as pool:
        (idle,) = workers()
        idle.kill()
        idle.join()
        pool.submit(0, ORDER)
        (found,) = pool.results()
    assert isinstance(found.result[0], Recording)


def test_ending_does_not_wait_for_orders() -> None:
    began = time.monotonic()
    with LocalPool(2) as pool:
        pool.submit(0, trapped(time.sleep, 3600))
        pool.submit(1, trapped(time.sleep, 3600))
    assert workers() == []
    assert time.monotonic() - began < 1800


PARENT = """
import sys, time
from graspline.datasets.write.pool import LocalPool
from datasets.write.test_pool import trapped

if __name__ == "__main__":
    with LocalPool(2) as pool:
        pool.submit(0, trapped(time.sleep, 600))
        print(*(worker.process.pid for worker in pool._workers), flush=True)
        sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [0.0, 4.0])
def test_workers_end_with_a_killed_parent_and_hear_no_interrupt(tmp_path: Path, after_s: float) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        start_new_session=True,
    )
    assert parent.stdout is not None
    pids = [int(each) for each in parent.stdout.readline().split()]
    time.sleep(after_s)
    for pid in pids:
        os.kill(pid, signal.SIGINT)
    time.sleep(0.2)
    assert all(runs(pid) for pid in pids), "Ctrl-C goes to the whole group and is not for them"
    parent.kill()
    assert waited(lambda: not any(runs(pid) for pid in pids))
    _, said = parent.communicate()
    assert b"Traceback" not in said


def runs(pid: int) -> bool:
    try:
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        return False


def test_what_goes_wrong_in_a_worker_is_raised_here_as_what_it_is() -> None:
    bad = Attempts(settings=cube_settings(faults=("no-such-fault@lift",)), seeds=(0,))
    failure = filled(bad, do)
    assert isinstance(failure, WorkerFailure)
    with pytest.raises(InputError, match="unknown fault 'no-such-fault'"):
        raise_failure(failure)


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), MemoryError()])
def test_what_a_machine_lacks_is_no_bug(error: Exception) -> None:
    def lacking(order: object) -> None:
        raise error

    with pytest.raises(EnvironmentProblem, match=r"in a worker: (.*Too many open files|out of memory)"):
        raise_failure(filled(ORDER, lacking))


def test_a_bug_in_a_worker_keeps_its_traceback() -> None:
    failure = filled(Attempts(settings=cube_settings(), seeds=("not a seed",)), do)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RuntimeError, match=r"(?s)in a worker:\nTraceback .*not a seed|TypeError"):
        raise_failure(failure)


def test_variables_for_a_process_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRASPLINE_ONE", "before")
    monkeypatch.delenv("GRASPLINE_TWO", raising=False)
    with environment({"GRASPLINE_ONE": "1", "GRASPLINE_TWO": "2"}):
        assert (os.environ["GRASPLINE_ONE"], os.environ["GRASPLINE_TWO"]) == ("1", "2")
    assert os.environ["GRASPLINE_ONE"] == "before"
    assert "GRASPLINE_TWO" not in os.environ


def test_an_interrupt_while_a_worker_starts_waits_until_it_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int | None] = []
    really = SpawnProcess.start

    def start(process: SpawnProcess) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
        really(process)
        started.append(process.pid)

    monkeypatch.setattr(SpawnProcess, "start", start)
    # Another thread may take the signal: this one cannot only refuse it.
    idle = threading.Event()
    listener = threading.Thread(target=idle.wait)
    listener.start()
    # A background job of a script begins with Ctrl-C ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), LocalPool(1):
            pass
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
        idle.set()
        listener.join()
    assert started
    assert waited(lambda: not workers())
