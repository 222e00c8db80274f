"""One process that plays on a GPU beside those that do the rest; here on Warp's own CPU device, or by a script."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasets.conftest import cube_settings
from datasets.write.test_pool import runs, waited
from graspline.datasets.check.doctor import examine
from graspline.datasets.check.replay import rerun
from graspline.datasets.format.recording import Recording
from graspline.datasets.format.rows import Rejected
from graspline.datasets.format.settings import settings_of
from graspline.datasets.format.store import Dataset
from graspline.datasets.write.generate import GenerationProgress, generate
from graspline.datasets.write.jobs import Attempts, Drawing
from graspline.episodes.camera_views import View
from graspline.episodes.workers import WorkerFailure
from graspline.errors import EnvironmentProblem
from graspline.evidence import passes
from graspline.gpu.choose import what_a_gpu_lacks
from graspline.gpu.dataset_pool import GpuPool
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube

# Fewer ticks than usual: this device takes as long for one as a GPU for thousands of lanes.
BRISK = LiftCube.model_validate(
    {"hold": {"still_s": 0.2}, "reach": {"travel_speed": 1.0, "descend_speed_m_s": 0.3, "lift_speed_m_s": 0.25}}
)
SETTINGS = settings_of(LIFT_CUBE, BRISK, seed=1, fps=10, views=(View("front", 64, 48),), renderer="warp", engine="gpu")
BARE = cube_settings(seed=1, engine="gpu", views=())
ORDER = Attempts(settings=BARE, seeds=(1, 2, 3, 4))


def missed(*seeds: int) -> list[Rejected]:
    return [Rejected(seed=seed, verdict="missed", state="close", cause="none") for seed in seeds]


class Scripted:
    """A pool of no processes, and the ends at which somebody plays a player and a worker."""

    def __init__(self) -> None:
        self.pool = GpuPool(BARE, size=1, lanes=8)
        self.pool._player, self.player = multiprocessing.Pipe()

    def play(self, *parcels: object) -> None:
        for parcel in parcels:
            self.player.send(parcel)


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    script = Scripted()
    yield script
    script.pool._player.close()
    script.player.close()


# What is asked of the player


@pytest.mark.parametrize("missing, count", [(1, 1), (33, 33), (34, 35), (1000, 1030), (1_000_000, 65_536)])
def test_all_that_is_missing_is_played_with_some_to_spare(missing: int, count: int) -> None:
    assert GpuPool(BARE, size=2, lanes=8).block(missing, waiting=0) == count


def test_nothing_more_is_played_until_all_of_an_order_has_come_back(scripted: Scripted) -> None:
    pool = scripted.pool
    pool.submit(7, ORDER)
    assert pool.block(100, waiting=4) == 0
    assert pool.free == 1, "whoever draws is not kept from it"
    scripted.play(missed(3, 1), missed(4))
    parts = [*pool.results(), *pool.results()]
    assert [(each.ticket, [one.seed for one in each.result]) for each in parts] == [(7, [3, 1]), (7, [4])]
    assert pool.block(100, waiting=4) == 0
    scripted.play(missed(2))
    assert [each.result for each in pool.results()] == [missed(2)]
    assert pool.block(100, waiting=4) == 103
    assert scripted.player.recv() == ORDER


@pytest.mark.parametrize("hungry", [True, False])
def test_what_was_played_waits_while_enough_is_to_be_drawn(
    hungry: bool, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Drawing:
        """A worker that has an order and has just filled it."""

        def __init__(self) -> None:
            self.pipe, self.there = multiprocessing.Pipe()
            self.ticket: int | None = 5
            self.there.send("drawn")

    pool, worker = scripted.pool, Drawing()
    monkeypatch.setattr(pool, "_workers", [worker])
    pool._jobs[5] = ORDER
    pool.submit(6, ORDER)
    scripted.play(missed(1, 2))
    found = [(each.ticket, each.result) for each in pool.results(hungry=hungry)]
    assert (5, "drawn") in found
    assert ((6, missed(1, 2)) in found) == hungry
    # Nobody draws now, so it is taken all the same.
    if not hungry:
        assert [each.ticket for each in pool.results(hungry=False)] == [6]


# What goes wrong


def test_a_player_that_is_gone_is_a_problem_of_this_machine_in_one_line(scripted: Scripted) -> None:
    scripted.pool.submit(0, ORDER)
    scripted.player.close()
    with pytest.raises(EnvironmentProblem, match="the process that plays on the GPU died; is there enough memory") as e:
        scripted.pool.results()
    assert "\n" not in str(e.value)
    with pytest.raises(EnvironmentProblem, match="the process that plays on the GPU died"):
        scripted.pool.submit(1, ORDER)


def test_what_goes_wrong_with_the_player_is_raised_here_as_what_it_is(scripted: Scripted) -> None:
    scripted.pool.submit(0, ORDER)
    scripted.play(WorkerFailure("2 lanes do not fit", "Traceback", EnvironmentProblem))
    with pytest.raises(EnvironmentProblem, match="2 lanes do not fit"):
        scripted.pool.results()


@pytest.mark.skipif(not what_a_gpu_lacks(), reason="there is a GPU")
def test_without_a_gpu_the_player_says_what_is_missing() -> None:
    with GpuPool(BARE, size=1, lanes=2) as pool:
        pool.submit(0, ORDER)
        with pytest.raises(EnvironmentProblem) as raised:
            pool.results()
    assert str(raised.value) == f"--engine gpu: {what_a_gpu_lacks()}"
    assert waited(lambda: multiprocessing.active_children() == [])


def test_when_a_worker_cannot_be_started_no_other_process_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise EnvironmentProblem("no more processes")

    monkeypatch.setattr("graspline.gpu.dataset_pool.Worker", none)
    pool = GpuPool(BARE, size=1, lanes=2, device="cpu")
    with pytest.raises(EnvironmentProblem, match="no more processes"):
        pool.__enter__()
    assert waited(lambda: multiprocessing.active_children() == [])


# All of it


class Watch:
    """Notes which processes come from this one, and what shared memory any of them has."""

    def __init__(self) -> None:
        self.pids, self.memory = set[int](), set[str]()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.2):
            found = descendants(os.getpid())
            self.pids |= found
            for pid in (os.getpid(), *found):
                with contextlib.suppress(OSError):
                    self.memory |= set(re.findall(r"/dev/shm/psm_\w+", Path(f"/proc/{pid}/maps").read_text()))

    def left_over(self) -> list[object]:
        """Of all that, what there still is."""
        return [*filter(runs, self.pids), *(name for name in self.memory if Path(name).exists())]


def descendants(pid: int) -> set[int]:
    """Processes that were started to work, at any remove; not those that Python starts to keep track of them."""
    found = set[int]()
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found |= {child, *descendants(child)}
    return found


@pytest.mark.slow
def test_a_dataset_is_made_certified_and_drawn_and_nothing_is_left_behind(tmp_path: Path) -> None:
    shown: list[int] = []

    def show(tally: GenerationProgress, row: object) -> None:
        shown.append(tally.committed)

    with Watch() as watch:
        tally = generate(tmp_path, SETTINGS, 2, GpuPool(SETTINGS, size=1, lanes=2, device="cpu"), on_commit=show)
    assert (tally.committed, shown) == (2, [1, 2])
    assert {"certify", "encode", "render", "rows", "commit"} == tally.took_s.keys()
    # One that plays with one that plans for each team, one that draws, and a worker.
    assert len(watch.pids) >= 5
    assert len(watch.memory) >= 3
    assert watch.left_over() == []
    assert waited(lambda: multiprocessing.active_children() == [])
    dataset = Dataset.open(tmp_path)
    for row in dataset.rows:
        scenario = json.loads(row["scenario"])
        assert (scenario["engine"], scenario["certified"]) == ("gpu", True)
    diagnosis = examine(tmp_path)
    assert diagnosis.healthy, diagnosis.problems
    assert diagnosis.summary is not None
    assert (diagnosis.summary.episodes, diagnosis.summary.successes) == (2, 2)
    reruns = list(rerun(dataset, dataset.rows))
    assert [each.differences for each in reruns] == [(), ()]
    assert all(passes(each.goal) for each in reruns)


@pytest.mark.slow
def test_a_player_that_is_killed_meanwhile_ends_it_with_one_clear_message(tmp_path: Path) -> None:
    pool = GpuPool(BARE, size=1, lanes=2, device="cpu")
    player: list[int] = []

    def kill() -> None:
        """As soon as it has processes that plan for it."""
        if waited(lambda: bool(pool._processes and pool._processes[0].pid)):
            pid = pool._processes[0].pid
            assert pid is not None
            waited(lambda: bool(descendants(pid)))
            player.extend((pid, *descendants(pid)))
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(EnvironmentProblem, match="the process that plays on the GPU died"):
        generate(tmp_path, BARE, 2, pool)
    killer.join()
    assert len(player) > 1
    assert waited(lambda: not any(map(runs, player))), "who planned for it goes with it"
    assert waited(lambda: multiprocessing.active_children() == [])


@pytest.mark.slow
def test_a_drawer_that_is_killed_ends_it_with_one_clear_message(played: Recording) -> None:
    settings = cube_settings(engine="gpu", renderer="warp", certify=False)
    began = time.monotonic()
    with GpuPool(settings, size=1, lanes=2, device="cpu") as pool:
        _, drawer = pool._processes
        pool.submit(0, Drawing(settings=settings, recording=played))
        drawer.kill()
        with pytest.raises(EnvironmentProblem, match="the process that renders images has died"):
            pool.results()
    assert waited(lambda: multiprocessing.active_children() == [])
    assert time.monotonic() - began < 600


PARENT = """
import os, signal, sys, threading
from pathlib import Path
from gpu.test_dataset_pool import SETTINGS, descendants, waited
from graspline.datasets.write.generate import generate
from graspline.gpu.dataset_pool import GpuPool

def die():
    waited(lambda: len(descendants(os.getpid())) >= 5)
    print(*descendants(os.getpid()), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    pool = GpuPool(SETTINGS, size=1, lanes=2, device="cpu")
    threading.Thread(target=die).start()
    generate(Path(sys.argv[1]), SETTINGS, 2, pool)
"""


@pytest.mark.slow
def test_all_processes_end_with_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    parent = subprocess.run(
        [sys.executable, script, tmp_path / "set"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        timeout=900,
        check=False,
    )
    assert parent.returncode == -signal.SIGKILL, parent.stderr
    pids = [int(each) for each in parent.stdout.split()]
    assert len(pids) >= 5
    assert waited(lambda: not any(map(runs, pids)))
    assert b"Traceback" not in parent.stderr
