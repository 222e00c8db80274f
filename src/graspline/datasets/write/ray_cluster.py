"""Workers that execute jobs on a Ray cluster. Its nodes need the same graspline, and no files of ours."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import mujoco

from graspline.datasets.write.jobs import Order, do
from graspline.datasets.write.pool import block_for_each
from graspline.episodes.processes import cores
from graspline.episodes.workers import ENVIRONMENT, MOST_DEATHS, Filled, WorkerFailure, filled, raise_failure
from graspline.errors import EnvironmentProblem
from graspline.version import VERSION

# How long a cluster may take to answer.
_PATIENCE_S = 30.0
_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
# Ray itself tries for minutes, complains all the while and then ends the process, so that of another one.
_PROBE = """
import logging, sys, ray
try:
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level=logging.ERROR)
except Exception as error:
    sys.exit(str(error).strip().partition("\\n")[0])
"""


class RayPool:
    """Executes jobs on the nodes of a cluster; those of a lost node are done again by others.

    `address` as `ray.init` takes it: `local` starts a cluster on this machine for this machine only, `auto` finds
    one that runs on it, HOST:PORT is the head of one that this machine belongs to. Without a `size` as many jobs are
    filled at a time as the cluster has CPUs.
    """

    def __init__(self, address: str, size: int = 0) -> None:
        if importlib.util.find_spec("ray") is None:
            raise EnvironmentProblem(f"--cluster {address}: Ray is missing; pip install 'graspline[ray]'")
        self._address, self.size = address, size
        self._jobs: dict[int, Order] = {}
        # By reference to what Ray will give back.
        self._tickets: dict[Any, int] = {}
        self._deaths: Counter[int] = Counter()

    def __enter__(self) -> Self:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        local = self._address == "local"
        if local:
            # Ray's word for staying on the loopback interface: any client that reaches a cluster can run anything on
            # it.
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        else:
            _check_answers(self._address)
        import ray

        options: dict[str, Any] = {"num_cpus": self.size or cores(), "include_dashboard": False} if local else {}
        try:
            with _own_termination():
                ray.init(address=self._address, runtime_env={"env_vars": ENVIRONMENT}, **_QUIET, **options)
            self._ray, self._fill = ray, ray.remote(num_cpus=1, max_retries=0)(_fill)
            self.size = self.size or int(ray.cluster_resources().get("CPU", 0))
        except (OSError, RuntimeError, ValueError) as error:
            raise EnvironmentProblem(f"--cluster {self._address}: {_first_line(error)}") from None
        if not self.size:
            ray.shutdown()
            raise EnvironmentProblem(f"--cluster {self._address}: the cluster has no CPUs")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What is still being done ends with it.
        self._ray.shutdown()

    @property
    def free(self) -> int:
        """How many jobs can be submitted now."""
        return self.size - len(self._jobs)

    def submit(self, ticket: int, job: Order) -> None:
        """Give a job to the cluster."""
        self._jobs[ticket] = job
        self._tickets[self._fill.remote(job)] = ticket

    def block(self, missing: int, waiting: int) -> int:
        """Attempts that one worker gets at a time."""
        return block_for_each(self, missing, waiting)

    def results(self, *, hungry: bool = True) -> Sequence[Filled]:
        """Wait for jobs that are done, and return what came of them."""
        assert self._jobs, "nothing to wait for"
        found: list[Filled] = []
        while not found:
            ready, _ = self._ray.wait(list(self._tickets))
            for reference in ready:
                found += self._collect(reference)
        return found

    def _collect(self, reference: Any) -> list[Filled]:
        ticket, errors = self._tickets.pop(reference), self._ray.exceptions
        try:
            result = self._ray.get(reference)
        except (errors.RayTaskError, errors.RuntimeEnvSetupError) as error:
            # Orders that fail come back as values: this one was not even begun.
            raise EnvironmentProblem(
                f"--cluster {self._address}: a node failed: {_first_line(error.cause or error)}; "
                f"it needs graspline {VERSION}"
            ) from None
        except errors.RayError as error:
            self._fill_again(ticket, error)
            return []
        del self._jobs[ticket]
        if isinstance(result, WorkerFailure):
            raise_failure(result)
        return [Filled(ticket, result)]

    def _fill_again(self, ticket: int, error: Exception) -> None:
        """The worker or its whole node died, or what it had made was lost with it."""
        self._deaths[ticket] += 1
        if self._deaths[ticket] >= MOST_DEATHS:
            raise EnvironmentProblem(
                f"--cluster {self._address}: {MOST_DEATHS} workers died on the same job ({_first_line(error)}); "
                "committed episodes are kept"
            )
        self._tickets[self._fill.remote(self._jobs[ticket])] = ticket


def _fill(job: Order) -> Any:
    """What runs on a node. Other versions would give other episodes."""
    has, needs = (VERSION, mujoco.__version__), (job.settings.graspline, job.settings.mujoco)
    if has != needs:
        return WorkerFailure(
            f"node {os.uname().nodename} has graspline {has[0]} on MuJoCo {has[1]}, needed: {needs[0]} on {needs[1]}",
            "",
            EnvironmentProblem,
        )
    return filled(job, do)


def _check_answers(address: str) -> None:
    """Raise unless a cluster answers at this address, and soon."""
    try:
        answer = subprocess.run(
            [sys.executable, "-c", _PROBE, address],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentProblem(f"--cluster {address}: no Ray cluster answered within {_PATIENCE_S:.0f} s") from None
    if answer.returncode:
        said = answer.stderr.strip().splitlines() or ["no Ray cluster answers there"]
        raise EnvironmentProblem(f"--cluster {address}: {said[-1]}")


@contextmanager
def _own_termination() -> Iterator[None]:
    """Keep what a polite kill does; Ray puts an exit in its place."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
