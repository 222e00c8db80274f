"""Property tests draw the same examples every time and are not timed: a busy machine must not fail them."""

import os
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

# Where scripts of benchmarks find each other; last, so that it hides no other module.
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each worker of `pytest -n N --dist worksteal` begins with its share of the modules that have slow tests.

    It gets one stretch of the list and steals from the ends of others; in alphabetical order a test of a minute may be
    the last to begin, with nothing left to do beside it. Tests of a module stay together, for the sake of its fixtures.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers == 1:
        return
    modules: dict[str, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.nodeid.partition("::")[0], []).append(item)
    slow = [tests for tests in modules.values() if any(each.get_closest_marker("slow") for each in tests)]
    # The most slow tests first, so that the shares are alike.
    slow.sort(key=lambda tests: -sum(each.get_closest_marker("slow") is not None for each in tests))
    fast = list(chain.from_iterable(tests for tests in modules.values() if tests not in slow))
    shares = [list(chain.from_iterable(slow[worker::workers])) for worker in range(workers)]
    length = -(-len(items) // workers)
    items[:] = []
    for share in shares:
        room = max(length - len(share), 0)
        items += [*share, *fast[:room]]
        fast = fast[room:]
    items += fast


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not tested, and why: a line of dots with an `s` in it is easily overlooked."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", ())
        if isinstance(report.longrepr, tuple)
    )
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"NOT TESTED: {count} skipped: {reason}", yellow=True)
