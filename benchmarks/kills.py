"""Kill `graspline generate` again and again, and show that nothing committed is lost and that the end is the same.

    python benchmarks/kills.py                       200 kills, about twenty minutes on two cores
    python benchmarks/kills.py --kills 6 --episodes 4

First a dataset is made undisturbed. Then others are made that are killed all the while, each until it is finished:

    group      SIGKILL to all processes, at any moment
    commit     the same while an episode is being committed
    main       SIGKILL to the process that commits; its workers must end by themselves
    worker     SIGKILL to one worker; the command must go on
    terminate  SIGTERM to the process that commits; it must say so and leave with 130
    disk       the disk fills up (a small tmpfs, as root); it must say so and leave with 3

After every kill everything the index counts must be readable, nothing may have gone or changed since, everything that
was announced must be there, and no half-written file may lie among the others. A finished dataset must be the
undisturbed one, byte for byte. The first violation ends this with a message; else one JSON object tells the numbers.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import av

from graspline.datasets.format.files import LOCK, SCRATCH
from graspline.datasets.format.rows import Row, data_file, data_slot, log_file, row_file, row_slot, video_file
from graspline.datasets.format.sentences import TASKS
from graspline.datasets.format.store import CARD, INFO, OURS, STATS, Dataset

VIEW = "observation.images.front"
WORKERS = 2
KINDS = {"group": 6, "commit": 4, "main": 2, "worker": 4, "terminate": 3, "disk": 1}
PATIENCE_S = 300.0
# Killed parents must not leave workers for longer than this.
ORPHANS_S = 10.0


class Campaign:
    """Runs of the command, one after the other, and what has been seen of their datasets."""

    def __init__(self, folder: Path, episodes: int, seed: int) -> None:
        self.folder, self.episodes, self.random = folder, episodes, random.Random(seed)
        self.reference = folder / "undisturbed"
        self.kills: Counter[str] = Counter()
        # Datasets that were finished and compared; checks of an episode that had been seen before.
        self.datasets = self.runs = self.commits = self.unchanged = 0
        # Kills that struck in the middle of a commit: something half-written, or files that the index does not count.
        self.half_written = self.uncounted = 0
        self.orphans_s = 0.0
        self.until_commit_s = 0.0

    def make_reference(self) -> None:
        began = time.monotonic()
        run = Run(self.reference, self.episodes)
        run.wait_for(lambda: run.announced() > 0)
        self.until_commit_s = time.monotonic() - began
        expect(run.finish() == 0, f"the undisturbed command failed: {run.errors()}")
        Seen(self.reference).check(self.episodes)

    def disturb(self, kills: int) -> None:
        """Fill datasets under kills of all kinds but `disk`, until there were so many."""
        kinds = [kind for kind in KINDS if kind != "disk"]
        weights = [KINDS[kind] for kind in kinds]
        # Each once, then as they come.
        plan = [*kinds, *self.random.choices(kinds, weights, k=max(kills - len(kinds), 0))][:kills]
        while plan:
            seen, run = Seen(self.folder / f"disturbed-{self.datasets}"), None
            while plan and seen.committed < self.episodes:
                run = run if run is not None and run.alive else self._start(seen.root)
                if not self._strike(plan[0], run):
                    break
                self.kills[plan.pop(0)] += 1
                self._look(seen, run)
            self._complete(seen, run)

    def fill_disks(self, kills: int) -> None:
        """Let the disk fill up, give it a little more, and again."""
        while kills > 0:
            seen = Seen(self.folder / f"disturbed-{self.datasets}")
            with small_disk(seen.root) as grow:
                while kills > 0 and seen.committed < self.episodes:
                    grow(self.random.randrange(40_000, 400_000))
                    run = self._start(seen.root)
                    code = run.finish()
                    if code == 0:
                        break
                    expect(code == 3, f"a full disk gave exit code {code}: {run.errors()}")
                    expect("No space left" in run.errors() and run.errors().count("\n") == 1, run.errors())
                    kills -= 1
                    self.kills["disk"] += 1
                    self._look(seen, run)
                    expect(not seen.uncounted and not seen.half_written, "a full disk left half an episode")
                grow(1_000_000_000)
                self._complete(seen, None)

    def summary(self) -> dict[str, object]:
        return {
            "kills": sum(self.kills.values()),
            "by_kind": dict(self.kills),
            "runs": self.runs,
            "episodes_each": self.episodes,
            "commits": self.commits,
            "committed_episodes_found_unchanged": self.unchanged,
            "kills_with_half_written_files": self.half_written,
            "kills_with_uncounted_files": self.uncounted,
            "workers_outlived_their_parent_by_s": round(self.orphans_s, 2),
            "datasets_equal_to_undisturbed": self.datasets,
        }

    def _start(self, root: Path) -> Run:
        self.runs += 1
        return Run(root, self.episodes)

    def _strike(self, kind: str, run: Run) -> bool:
        """Kill at a random moment; False if the command had finished by then."""
        if self.random.random() < 0.4:
            # Anywhere, loading and starting workers included.
            time.sleep(self.random.uniform(0, 1.2 * self.until_commit_s))
        else:
            more = run.announced() + self.random.randint(1, max(self.episodes // 10, 1))
            run.wait_for(lambda: run.announced() >= more)
            time.sleep(self.random.uniform(0, 0.5))
        if kind == "commit":
            run.wait_for(run.is_committing)
            time.sleep(self.random.uniform(0, 0.03))
        if not run.alive:
            return False
        if kind == "worker":
            return self._kill_worker(run)
        if kind == "main":
            workers = run.workers()
            os.kill(run.pid, signal.SIGKILL)
            began = time.monotonic()
            while any(is_running(each) for each in workers):
                expect(time.monotonic() < began + ORPHANS_S, "workers outlive their killed parent")
                time.sleep(0.005)
            self.orphans_s = max(self.orphans_s, time.monotonic() - began)
        elif kind == "terminate":
            os.kill(run.pid, signal.SIGTERM)
            code, said = run.finish(), run.errors()
            # While Python is loading, and after everything is done, a polite kill is just a kill.
            expect(code in (130, -signal.SIGTERM, 0), f"SIGTERM gave exit code {code}: {said}")
            expect(code != 130 or "interrupted" in said, said)
            expect("Traceback" not in said, said)
        else:
            os.killpg(run.pid, signal.SIGKILL)
        run.finish()
        return True

    def _kill_worker(self, run: Run) -> bool:
        run.wait_for(lambda: bool(run.workers()))
        workers = run.workers()
        if not workers:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.random.choice(workers), signal.SIGKILL)
        before = run.announced()
        run.wait_for(lambda: run.announced() > before)
        expect(run.alive or run.code == 0, f"a killed worker ended the command: {run.errors()}")
        return True

    def _look(self, seen: Seen, run: Run) -> None:
        before = seen.committed
        seen.check(run.announced_total())
        self.commits += seen.committed - before
        self.unchanged += before
        self.half_written += seen.half_written
        self.uncounted += seen.uncounted

    def _complete(self, seen: Seen, run: Run | None) -> None:
        """Let the command come to its end, and compare."""
        run = run if run is not None and run.alive else self._start(seen.root)
        expect(run.finish() == 0, f"the command could not go on: {run.errors()}")
        self._look(seen, run)
        expect(not seen.uncounted and not seen.half_written, "a finished dataset holds left-over files")
        other = differing(self.reference, seen.root)
        expect(not other, f"{seen.root} differs from the undisturbed dataset: {', '.join(other)}")
        self.datasets += 1
        print(f"{sum(self.kills.values())} kills, {self.datasets} datasets equal", file=sys.stderr)
        shutil.rmtree(seen.root, ignore_errors=True)


class Run:
    """One start of the command, in a process group of its own."""

    def __init__(self, root: Path, episodes: int) -> None:
        self._root = root
        self._out = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the run)
        self._err = tempfile.TemporaryFile()  # noqa: SIM115
        words = ["generate", "lift-cube", "--cameras", "front:64x48", "--workers", str(WORKERS)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "graspline.cli", *words, "--episodes", str(episodes), "--out", str(root)],
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,
        )
        self.pid = self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def code(self) -> int | None:
        return self._process.poll()

    def wait_for(self, happened: Callable[[], bool]) -> None:
        """Wait until it happened, or the command has ended."""
        deadline = time.monotonic() + PATIENCE_S
        while self.alive and not happened():
            expect(time.monotonic() < deadline, f"nothing happens: {self.errors()}")
            time.sleep(0.002)

    def finish(self) -> int:
        return self._process.wait(PATIENCE_S)

    def announced(self) -> int:
        return len(self._lines())

    def announced_total(self) -> int:
        """How many episodes the dataset has by what the command said last; 0 if it said nothing."""
        lines = self._lines()
        return json.loads(lines[-1])["committed"] if lines else 0

    def errors(self) -> str:
        return os.pread(self._err.fileno(), 1_000_000, 0).decode()

    def is_committing(self) -> bool:
        with contextlib.suppress(OSError):
            return any((self._root / SCRATCH).iterdir())
        return False

    def workers(self) -> list[int]:
        with contextlib.suppress(OSError):
            children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
            return [int(each) for each in children if is_running(int(each), b"spawn_main")]
        return []

    def _lines(self) -> list[bytes]:
        """Lines that were printed whole."""
        return os.pread(self._out.fileno(), 100_000_000, 0).split(b"\n")[:-1]


class Seen:
    """A dataset as it was when last looked at."""

    def __init__(self, root: Path) -> None:
        self.root, self.committed = root, 0
        self.half_written = self.uncounted = False
        self._hashes: dict[str, str] = {}

    def check(self, announced: int) -> None:
        """Hold the dataset against what was seen of it before."""
        # Listed first: a command that goes on meanwhile can only have committed more of it.
        listed = {str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()}
        rows = Dataset.open(self.root).rows if (self.root / INFO).is_file() else ()
        expect(len(rows) >= self.committed, f"{self.committed - len(rows)} committed episodes are gone")
        expect(len(rows) >= announced, f"{announced - len(rows)} announced episodes are missing")
        for row in rows:
            self._check_episode(row)
        self.committed = len(rows)
        self.half_written = any(name.startswith(SCRATCH) for name in listed)
        known = {LOCK, INFO, STATS, TASKS, OURS, CARD, *self._hashes}
        others = {name for name in listed - known if not name.startswith(SCRATCH)}
        expect(others <= set(next_files(rows)), f"files that belong to no episode: {sorted(others)}")
        self.uncounted = bool(others)

    def _check_episode(self, row: Row) -> None:
        names = files_of(row)
        found = {name: hashlib.blake2b((self.root / name).read_bytes()).hexdigest() for name in names}
        if all(name in self._hashes for name in names):
            changed = [name for name in names if self._hashes[name] != found[name]]
            expect(not changed, f"committed files changed: {changed}")
            return
        dataset = Dataset.open(self.root)
        expect(len(dataset.frames(row)) == row["length"], f"episode {row['episode_index']}: rows are missing")
        with av.open(dataset.video(row, VIEW)) as file:
            expect(
                sum(1 for _ in file.decode(video=0)) == row["length"], f"{row['episode_index']}: pictures are missing"
            )
        expect(dataset.log(row).facts["state_hash"] == row["state_hash"], f"{row['episode_index']}: another's log")
        self._hashes |= found


def files_of(row: Row) -> list[str]:
    slot = data_slot(row)
    return [data_file(slot), row_file(row_slot(row)), video_file(VIEW, slot), log_file(row["episode_id"])]


def next_files(rows: tuple[Row, ...]) -> list[str]:
    """What a killed commit may have left: files of the episode that would have been next."""
    if not rows:
        first = {"data/chunk_index": 0, "data/file_index": 0, "episode_id": 0}
        return files_of({**first, "meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0})
    slot = data_slot(rows[-1]).next()
    return [data_file(slot), row_file(slot), video_file(VIEW, slot), log_file(rows[-1]["episode_id"] + 1)]


def differing(one: Path, other: Path) -> list[str]:
    """Files that two folders do not share, or not byte for byte."""
    names = {str(path.relative_to(root)) for root in (one, other) for path in root.rglob("*") if path.is_file()}
    return sorted(
        name
        for name in names
        if not all((root / name).is_file() for root in (one, other))
        or (one / name).read_bytes() != (other / name).read_bytes()
    )


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[int], None]]:
    """A file system of its own, and a function that gives it so many bytes more than it uses."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], check=True)

    def grow(more: int) -> None:
        disk = os.statvfs(folder)
        used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
        subprocess.run(["mount", "-o", f"remount,size={used + more}", folder], check=True)

    try:
        yield grow
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def can_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        try:
            if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False).returncode:
                return False
            subprocess.run(["umount", folder], check=True)
        except FileNotFoundError:
            return False
        return True


def is_running(pid: int, word: bytes = b"") -> bool:
    """Whether there is such a process, with this word in its command line; a zombie is none."""
    with contextlib.suppress(OSError):
        return (
            word in Path(f"/proc/{pid}/cmdline").read_bytes() and b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
        )
    return False


def expect(so: bool, otherwise: str) -> None:
    if not so:
        sys.exit(f"VIOLATED: {otherwise}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--episodes", type=int, default=40, help="in each dataset")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        campaign = Campaign(Path(folder), options.episodes, options.seed)
        began = time.monotonic()
        campaign.make_reference()
        disks = -(-options.kills * KINDS["disk"] // sum(KINDS.values()))
        if not can_mount():
            print("no full disks: mounting a small one is not permitted here", file=sys.stderr)
            disks = 0
        campaign.disturb(options.kills - disks)
        campaign.fill_disks(disks)
        print(json.dumps({**campaign.summary(), "wall_s": round(time.monotonic() - began)}, indent=2))


if __name__ == "__main__":
    main()
