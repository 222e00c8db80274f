"""Orders filled by a Ray cluster, down to the node that is lost in the middle of it. Loopback only."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import graspline.datasets.write.ray_cluster
from graspline.datasets.write.jobs import Attempts, do
from graspline.datasets.write.ray_cluster import RayPool
from graspline.episodes.workers import WorkerFailure, filled
from graspline.errors import EnvironmentProblem, InputError

from ..conftest import cube_settings
from ..whole import tree

ray_exceptions = pytest.importorskip("ray.exceptions")

ORDER = Attempts(settings=cube_settings(), seeds=(3,))

# A cluster of two nodes, of which one is lost after the first episode.
TWO_NODES = """
import sys
from pathlib import Path
from ray.cluster_utils import Cluster
from datasets.conftest import EPISODES, cube_settings
from graspline.datasets.write.ray_cluster import RayPool
from graspline.datasets.write.generate import generate

def lose(tally, row):
    if tally.committed == 1:
        cluster.remove_node(other, allow_graceful=False)

node = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False}
cluster = Cluster(initialize_head=True, head_node_args=node)
other = cluster.add_node(**node)
try:
    pool = RayPool(cluster.address)
    generate(Path(sys.argv[1]), cube_settings(), EPISODES, pool, on_commit=lose)
    assert pool.size == 2, "as many as the cluster has CPUs"
finally:
    cluster.shutdown()
"""


class Scripted:
    """A stand-in for Ray that gives these answers one after the other; exceptions are raised."""

    exceptions = ray_exceptions

    def __init__(self, *answers: object) -> None:
        self._answers = iter(answers)
        self.begun = 0

    def remote(self, job: Attempts) -> object:
        self.begun += 1
        return object()

    def wait(self, references: list[object]) -> tuple[list[object], list[object]]:
        return references[:1], references[1:]

    def get(self, reference: object) -> object:
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


def pool_with(*answers: object) -> tuple[RayPool, Scripted]:
    pool, ray = RayPool("auto", 2), Scripted(*answers)
    pool._ray, pool._fill = ray, SimpleNamespace(remote=ray.remote)  # pyright: ignore[reportAttributeAccessIssue]
    pool.submit(7, ORDER)
    return pool, ray


def test_a_lost_order_is_filled_again() -> None:
    lost = ray_exceptions.WorkerCrashedError()
    pool, ray = pool_with(lost, lost, "filled")
    assert pool.free == 1
    ((ticket, result),) = [(each.ticket, each.result) for each in pool.results()]
    assert (ticket, result, ray.begun, pool.free) == (7, "filled", 3, 2)


def test_an_order_that_kills_every_worker_is_given_up() -> None:
    pool, _ = pool_with(*[ray_exceptions.WorkerCrashedError()] * 3)
    with pytest.raises(EnvironmentProblem, match="--cluster auto: 3 workers died on the same job"):
        pool.results()


def test_a_node_that_cannot_work_is_told() -> None:
    missing = ray_exceptions.RayTaskError("_fill", "Traceback", ModuleNotFoundError("No module named 'graspline'"))
    pool, _ = pool_with(missing)
    with pytest.raises(EnvironmentProblem, match="a node failed: No module named 'graspline'; it needs graspline"):
        pool.results()


def test_what_goes_wrong_on_a_node_is_raised_here_as_what_it_is() -> None:
    bad = Attempts(settings=cube_settings(faults=("no-such-fault@lift",)), seeds=(0,))
    pool, _ = pool_with(filled(bad, do))
    with pytest.raises(InputError, match="unknown fault"):
        pool.results()


def test_a_node_of_another_version_is_refused() -> None:
    settings: Any = cube_settings()
    object.__setattr__(settings, "graspline", "0.0.1")
    failure = graspline.datasets.write.ray_cluster._fill(Attempts(settings=settings, seeds=(3,)))
    assert isinstance(failure, WorkerFailure)
    assert failure.kind is EnvironmentProblem
    assert "needed: 0.0.1 on" in failure.message


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graspline.datasets.write.ray_cluster.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentProblem, match=r"Ray is missing; pip install 'graspline\[ray\]'"):
        RayPool("auto")


def test_a_cluster_that_does_not_answer_is_given_up_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graspline.datasets.write.ray_cluster, "_PATIENCE_S", 4.0)
    with pytest.raises(EnvironmentProblem, match=r"--cluster 127\.0\.0\.1:1: no Ray cluster answered within 4 s"):
        RayPool("127.0.0.1:1").__enter__()


@pytest.mark.slow
def test_what_is_no_address_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    for address, words in (("nonsense", "Invalid address"), ("auto", "Could not find any running Ray instance")):
        with pytest.raises(EnvironmentProblem, match=f"^--cluster {address}: {words}[^\n]*$"):
            RayPool(address).__enter__()


@pytest.mark.slow
def test_two_nodes_of_which_one_is_lost_make_the_same_dataset(made: Path, tmp_path: Path) -> None:
    # A short name: sockets live there, whose paths may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:
        environment = {
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "RAY_TMPDIR": folder,
            "HOME": folder,
        }
        done = subprocess.run(
            [sys.executable, "-c", TWO_NODES, tmp_path / "set"],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert tree(tmp_path / "set") == tree(made)
