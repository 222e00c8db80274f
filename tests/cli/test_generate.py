"""`graspline generate` through its front door: what it refuses, what stops it, and what is left then."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

import graspline.cli.generate
import graspline.datasets.write.ray_cluster
from graspline.cli.generate import _show_work
from graspline.cli.progress import Progress
from graspline.datasets.format.files import locked
from graspline.datasets.format.store import INFO, STATS, Dataset
from graspline.datasets.write.generate import GenerationProgress

from .doors import Answer, call, refused, running, spawn, unread

BARE = ("--cameras", "none", "--fps", "10", "--workers", "1")


def words(out: Path, episodes: int, *more: str) -> tuple[str, ...]:
    return ("generate", "lift-cube", "--episodes", str(episodes), "--out", str(out), *more)


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def committed(answer: Answer) -> bool:
    return "\n" in answer.out


def complaint(answer: Answer, code: int) -> str:
    """The one line a command ends with."""
    assert answer.code == code, answer
    assert "Traceback" not in answer.err
    (line,) = answer.err.splitlines()
    return line


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("generated") / "set"
    answer = spawn(*words(root, 4, *BARE))
    assert answer.code == 0, answer
    megabytes = answer.lines[-1]["disk_bytes"] / 1e6
    assert answer.err.splitlines() == [
        f"4 episodes, from 4 attempts, {megabytes:.1f} MB",
        f"saved: {root}",
        f"next: graspline report {root}",
    ]
    assert [line["episode"] for line in answer.lines] == [0, 1, 2, 3]
    assert [line["committed"] for line in answer.lines] == [1, 2, 3, 4]
    assert all(line["success"] and line["wanted"] == 4 for line in answer.lines)
    return root


@pytest.fixture
def dataset(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "set")
    return tmp_path / "set"


@pytest.mark.parametrize(
    "option, said",
    [
        (["--cameras", "frnt:64x48"], "--cameras: no camera 'frnt'; did you mean 'front'? known: front, wrist"),
        (["--cameras", "nnoe"], "--cameras: no camera 'nnoe'; did you mean 'none'? known: front, wrist"),
        (
            ["--cameras", "front:63x48"],
            "--cameras: front: expected a size such as 640x480, even and 16 to 4096 pixels; got",
        ),
        (["--cameras", "front"], "--cameras: front: expected a size such as 640x480"),
        (["--fps", "25"], "--fps: 25 does not divide the control rate of 60 Hz; use 60, 30, 20, 15, 12, 10"),
        (["--keep", "succes"], "--keep: 'succes' is unknown; did you mean 'success'? known: all, success"),
        (["--units", "radians"], "--units: 'radians' is unknown; known: degrees, normalized"),
        (["--fault", "drop@lfit"], "--fault drop@lfit: unknown state 'lfit'; did you mean 'lift'?"),
    ],
)
def test_a_bad_option_is_refused_before_anything_is_written(tmp_path: Path, option: list[str], said: str) -> None:
    (problem,) = refused(*words(tmp_path / "set", 1), *option)
    assert problem.startswith(said)
    assert not (tmp_path / "set").exists()


def test_all_bad_options_are_named_at_once(tmp_path: Path) -> None:
    assert len(refused(*words(tmp_path / "set", 1), "--cameras", "frnt:64x48,wrist:63x48", "--fps", "25")) == 3


def test_a_file_is_no_dataset(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert refused(*words(tmp_path / "file", 1, *BARE)) == [f"{tmp_path / 'file'}: is a file, expected a folder"]


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    (problem,) = refused(*words(tmp_path, 1, *BARE))
    assert problem == f"{tmp_path}: contains other files and is not a graspline dataset; choose a new or empty folder"
    assert contents(tmp_path) == {"README.md": b"mine"}


def test_a_folder_that_cannot_be_written_to_is_a_problem_of_this_machine() -> None:
    line = complaint(call(*words(Path("/proc/graspline"), 1, *BARE)), 3)
    assert line.startswith("graspline: /proc/graspline: cannot be written to: ")


def test_other_settings_are_refused_with_every_difference(dataset: Path) -> None:
    before = contents(dataset)
    problems = refused(*words(dataset, 9, "--cameras", "none", "--fps", "30", "--set", "reach.lift_m=0.1"))
    assert problems[0] == f"{dataset}: the dataset was made with other settings:"
    assert problems[1:] == [
        "  fps: the dataset has 10, asked for 30",
        "  parameters.reach.lift_m: the dataset has 0.06, asked for 0.1",
        f"  choose another folder for these settings, such as {dataset}-2",
    ]
    assert contents(dataset) == before


def test_the_same_command_again_does_nothing_and_says_so(dataset: Path) -> None:
    before = contents(dataset)
    answer = call(*words(dataset, 4, *BARE))
    assert (answer.code, answer.out) == (0, "")
    assert answer.err == f"nothing to do: {dataset} has 4 episodes, 4 requested\n"
    assert contents(dataset) == before


def test_fewer_episodes_than_there_are_is_nothing_to_do(dataset: Path) -> None:
    answer = call(*words(dataset, 2, *BARE))
    assert (answer.code, answer.err) == (0, f"nothing to do: {dataset} has 4 episodes, 2 requested\n")
    assert len(Dataset.open(dataset)) == 4


def test_a_second_writer_is_told_of_the_first(dataset: Path) -> None:
    with locked(dataset):
        line = complaint(spawn(*words(dataset, 9, *BARE)), 3)
    assert line == f"graspline: {dataset}: another process is writing to this dataset"


def test_a_reader_that_goes_away_ends_nothing_early(made: Path, tmp_path: Path) -> None:
    assert unread(*words(tmp_path / "set", 4, *BARE)) == 0
    assert contents(tmp_path / "set") == contents(made)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_stopped_it_says_what_stays(stop: signal.Signals, dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **options: object) -> None:
        signal.raise_signal(stop)

    monkeypatch.setattr(graspline.cli.generate, "generate", stopped)
    line = complaint(call(*words(dataset, 9, *BARE)), 130)
    assert (
        line == f"graspline: interrupted; committed episodes stay in {dataset}; run the same command again to continue"
    )


def test_stopped_before_the_first_commit_it_says_that_nothing_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graspline.cli.generate, "generate", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    line = complaint(call(*words(tmp_path / "set", 9, *BARE)), 130)
    assert line == ("graspline: interrupted; no episode was committed yet; run the same command again to start over")


@pytest.mark.slow
@pytest.mark.parametrize(
    "stop, whom",
    [(signal.SIGTERM, "the command"), (signal.SIGINT, "the whole group"), (signal.SIGTERM, "the whole group")],
)
def test_stopped_it_says_so_and_goes_on_where_it_was(
    stop: signal.Signals, whom: str, made: Path, tmp_path: Path
) -> None:
    root = tmp_path / "set"
    with running(tmp_path, *words(root, 400, *BARE), preexec_fn=os.setsid) as command:
        command.wait_until(committed)
        (os.kill if whom == "the command" else os.killpg)(command.pid, stop)
        answer = command.finish()
    line = complaint(answer, 130)
    assert line == f"graspline: interrupted; committed episodes stay in {root}; run the same command again to continue"
    done = len(Dataset.open(root))
    assert done >= len(answer.lines) >= 1
    assert spawn(*words(root, max(done + 1, 4), *BARE)).code == 0
    assert len(Dataset.open(root)) == max(done + 1, 4)
    found = contents(root)
    assert all(found[name] == data for name, data in contents(made).items() if name not in (INFO, STATS))


@pytest.mark.slow
def test_stopped_while_workers_start_it_says_so_too(tmp_path: Path) -> None:
    with running(tmp_path, *words(tmp_path / "set", 4, *BARE), preexec_fn=os.setsid) as command:
        command.wait_until(lambda _: bool(workers_of(command.pid)))
        os.killpg(command.pid, signal.SIGINT)
        line = complaint(command.finish(), 130)
    assert line.startswith("graspline: interrupted; ")


@pytest.mark.slow
def test_workers_that_die_again_and_again_end_it(tmp_path: Path) -> None:
    with running(tmp_path, *words(tmp_path / "set", 4, *BARE)) as command:
        while command.is_running:
            for pid in workers_of(command.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        line = complaint(command.finish(), 3)
    assert line.startswith("graspline: 3 workers died on the same job (exit code -9)")


@pytest.mark.slow
def test_a_full_disk_ends_it_with_a_whole_dataset(made: Path, tmp_path: Path) -> None:
    root = tmp_path / "disk"
    with small_disk(root, 200_000):
        answer = spawn(*words(root, 4, *BARE))
        assert complaint(answer, 3) == f"graspline: {root}: cannot be written to: No space left on device"
        assert len(Dataset.open(root)) == len(answer.lines) > 0
        assert len(list(root.rglob("*.npz"))) == len(answer.lines), "of the episode that did not fit nothing is left"
        subprocess.run(["mount", "-o", "remount,size=10m", root], check=True)
        assert spawn(*words(root, 4, *BARE)).code == 0
        assert contents(root) == contents(made)


@pytest.mark.slow
def test_the_number_of_workers_changes_nothing(tmp_path: Path) -> None:
    pictures = ("--cameras", "front:64x48", "--fps", "10")
    for count in (1, 3):
        assert spawn(*words(tmp_path / str(count), 4, *pictures, "--workers", str(count))).code == 0
    assert contents(tmp_path / "3") == contents(tmp_path / "1")


@pytest.mark.slow
def test_failures_are_kept_and_labelled_if_asked_for(tmp_path: Path) -> None:
    root = tmp_path / "set"
    answer = spawn(*words(root, 3, *BARE, "--keep", "all", "--fault", "remove@hold+0.2"))
    assert answer.code == 0, answer
    assert [line["success"] for line in answer.lines] == [False] * 3
    assert answer.lines[-1]["success_rate"] == 0.0
    dataset = Dataset.open(root)
    assert not any(any(dataset.frames(row).column("next.success").to_pylist()) for row in dataset.rows)


def test_without_ray_a_cluster_is_something_this_machine_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graspline.datasets.write.ray_cluster.importlib.util, "find_spec", lambda name: None)
    line = complaint(call(*words(tmp_path / "set", 1, *BARE), "--cluster", "auto"), 3)
    assert line == "graspline: --cluster auto: Ray is missing; pip install 'graspline[ray]'"


def workers_of(pid: int) -> list[int]:
    """Processes it started to work, not those that Python starts to keep track of them."""
    found = []
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(int(child))
    return found


@contextlib.contextmanager
def small_disk(folder: Path, size: int) -> Iterator[None]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_pushes_are_refused_where_a_task_does_not_say_what_may_be_pushed(tmp_path: Path) -> None:
    told = ["--disturb 1: sort has no motions that may be disturbed; choose grab, lift-cube, oranges"]
    assert refused("generate", "sort", "--episodes", "1", "--out", tmp_path / "set", "--disturb", "1") == told
    assert refused("run", "sort", "--disturb", "1") == told


def test_a_set_is_not_gone_on_with_by_another_strength_of_pushes(dataset: Path) -> None:
    problems = refused(*words(dataset, 9, *BARE, "--disturb", "0.5"))
    assert problems[-2].strip() == "disturb.strength: the dataset has nothing, asked for 0.5"


def test_until_the_first_episode_is_committed_the_bar_says_what_workers_do() -> None:
    shown: list[str] = []

    class Bar:
        done = began_with = 0

        def show(self, said: str = "") -> None:
            shown.append(said)

    for tally in (
        GenerationProgress(wanted=4),
        GenerationProgress(wanted=4, attempts=1),
        GenerationProgress(wanted=4, attempts=8, rendering=2),
        GenerationProgress(wanted=4, attempts=8, rendering=2, committed=1),
    ):
        _show_work(cast(Progress, Bar()), tally)
    assert shown == ["playing the first attempts", "1 attempt played", "8 attempts played, rendering 2 episodes"]
