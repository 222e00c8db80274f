"""Files that are there whole or not at all, and folders that one process writes at a time."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import io
import json
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from graspline.errors import DatasetProblem, EnvironmentProblem

# Half-written files live here, on the same file system as the finished ones, and are swept when a writer begins.
SCRATCH = ".tmp"
LOCK = ".lock"
# Files that are written at once; an episode of two cameras has seven.
_HANDS = 16
# How every table is written; checksums tell when a disk has changed one of its bits.
PARQUET: dict[str, Any] = {"compression": "snappy", "write_page_checksum": True}


@contextlib.contextmanager
def locked(root: Path) -> Iterator[None]:
    """Be the only writer of this folder; a problem of this machine if another process is."""
    with _opened_lock(root, "a") as file:
        _lock(root, file, fcntl.LOCK_EX)
        sweep(root)
        try:
            yield
        finally:
            sweep(root)


@contextlib.contextmanager
def read_locked(root: Path) -> Iterator[None]:
    """Keep writers out while this folder is read; others may read it too."""
    with contextlib.ExitStack() as open_until_read:
        # Without the file there is no writer, and a folder that only is to be read gets none.
        if is_there(root / LOCK):
            _lock(root, open_until_read.enter_context(_opened_lock(root, "r")), fcntl.LOCK_SH)
        yield


def _opened_lock(root: Path, mode: str) -> IO[str]:
    # A pipe would never open, and a folder cannot be written to however often one tries.
    if is_there(root / LOCK):
        file_at(root / LOCK)
    try:
        return (root / LOCK).open(mode)
    except OSError as error:
        raise EnvironmentProblem(f"{root}: cannot be written to: {error.strerror or error}") from None


def _lock(root: Path, file: IO[str], kind: int) -> None:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise EnvironmentProblem(f"{root}: another process is writing to this dataset") from None


def is_there(path: Path) -> bool:
    """Whether something has this name, be it a link that leads nowhere."""
    return os.path.lexists(path)


def file_at(path: Path) -> Path:
    """The same path, if there is a file; a problem of the dataset if there is none, or something else in its place.

    A process that opens a named pipe waits for a writer that never comes, so this is asked before anything is opened.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise DatasetProblem(f"{path}: is missing") from None
    except OSError as error:
        raise DatasetProblem(f"{path}: cannot be read: {error.strerror or error}") from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a named pipe" if stat.S_ISFIFO(mode) else "no plain file"
        raise DatasetProblem(f"{path}: is {kind}, expected a file")
    return path


def beside(root: Path) -> Path:
    """Where a folder is built that is to replace `root`, or lies that was replaced."""
    root = root.resolve()
    return root.parent / f".{root.name}.rebuilt"


def sweep(root: Path) -> None:
    """Drop what a killed writer left half-written, or left of a folder that it replaced."""
    for left in (root / SCRATCH, beside(root)):
        if left.is_symlink() or not left.is_dir():
            left.unlink(missing_ok=True)
        else:
            shutil.rmtree(left, ignore_errors=True)


def write(root: Path, name: str, data: bytes) -> None:
    """Put a file below `root` in one step that survives a crash."""
    write_all(root, {name: data})


def write_all(root: Path, files: Mapping[str, bytes]) -> None:
    """Put files below `root` that belong together, the last one when all others would survive a crash.

    Nothing appears before everything is on disk, so a full one leaves no trace; what happens to the process between
    the first and the last file can leave some of them.
    """
    *names, last = files
    try:
        for name in files:
            make_folder((root / name).parent)
        (root / SCRATCH).mkdir(exist_ok=True)
        halves = {name: half_file(root, name) for name in files}
        _side_by_side(_write_half, [(halves[name], data) for name, data in files.items()])
        for part in (names, [last]):
            for name in part:
                halves[name].replace(root / name)
            _side_by_side(sync, [(folder,) for folder in {(root / name).parent for name in part}])
    except OSError as error:
        shutil.rmtree(root / SCRATCH, ignore_errors=True)
        raise EnvironmentProblem(f"{root}: cannot be written to: {error.strerror or error}") from None


def remove(root: Path, name: str) -> None:
    """Take a file away, if it is there."""
    path = root / name
    if path.is_file():
        path.unlink()
        sync(path.parent)


def half_file(root: Path, name: str) -> Path:
    """Where a file is while it is not whole."""
    return root / SCRATCH / name.replace("/", "_")


def _write_half(half: Path, data: bytes) -> None:
    half.write_bytes(data)
    sync(half)


def make_folder(folder: Path) -> None:
    """A folder, and those it lies in, whose entries survive a crash too."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync(folder.parent)


def sync(path: Path) -> None:
    """Have a file or a folder on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _side_by_side(do: Callable[..., None], each: Collection[tuple[Any, ...]]) -> None:
    """All of them, even if one goes wrong; then that is raised."""
    # The file system writes its journal once for all: a commit took 64 ms on a busy disk one by one, and so takes 3.
    doing = [_hands().submit(do, *arguments) for arguments in each]
    wait(doing)
    for one in doing:
        one.result()


@functools.cache
def _hands() -> ThreadPoolExecutor:
    """Threads that wait for the disk, kept: to start them takes as long as to write a small file."""
    return ThreadPoolExecutor(_HANDS)


def json_bytes(value: Any) -> bytes:
    """A value as indented JSON that ends with a newline."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def json_in(root: Path, name: str) -> dict[str, Any]:
    """The object in a file; a problem of the dataset if it is missing or holds something else."""
    try:
        value = json.loads(file_at(root / name).read_bytes())
    # Brackets in brackets without end are no number of things either.
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetProblem(f"{root / name}: cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise DatasetProblem(f"{root / name}: expected an object")
    return value


def folder_bytes(root: Path) -> int:
    """How much disk a dataset takes; what a writer moves or removes meanwhile may or may not be counted."""
    total = 0
    for folder, inner, names in os.walk(root):
        if Path(folder) == root and SCRATCH in inner:
            inner.remove(SCRATCH)
        for name in names:
            # Moved or removed, or a link that leads nowhere.
            with contextlib.suppress(OSError):
                total += (Path(folder) / name).stat().st_size
    return total


def parquet_bytes(table: pa.Table) -> bytes:
    """One row group, so that an episode is read at once."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer, row_group_size=max(len(table), 1), **PARQUET)
    return buffer.getvalue()
