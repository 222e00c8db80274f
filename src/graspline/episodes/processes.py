"""How processes are started: with an environment of their own, and deaf to what interrupts us; and cores for them."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from multiprocessing import resource_tracker


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Variables that a process started meanwhile is born with; libraries read them as they are loaded."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """A process started meanwhile never notices Ctrl-C, which goes to the whole group: not even while it loads."""
    # It lets Ctrl-C through again when it is first started, so that has to be before.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with _interrupts_wait():
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Stop signals are heard afterwards: a process half started would say a traceback of its own.

    A mask alone does not hold them back, since any other thread of this process may take them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[signal.Signals] = []
    before = {
        each: signal.signal(each, lambda number, frame: heard.append(signal.Signals(number)))
        for each in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    for each in heard[:1]:
        signal.raise_signal(each)
