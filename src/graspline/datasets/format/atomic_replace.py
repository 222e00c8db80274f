"""A folder that is replaced as a whole: at every moment, even if we are killed, it is the old one or the new one."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graspline.datasets.format.files import LOCK, SCRATCH, beside, locked, sync
from graspline.errors import EnvironmentProblem

# From <linux/fs.h> and <fcntl.h>; neither has a name in Python.
_RENAME_EXCHANGE = 2
_AT_FDCWD = -100


@contextmanager
def replaced(root: Path) -> Iterator[Path]:
    """An empty folder that takes the place of `root` when the block ends well, and is dropped if it raises.

    Nothing else writes to either meanwhile. The old folder goes once the new one is safely on disk; if we are killed in
    between, it lies hidden beside the new one until the next writer sweeps it away.
    """
    root = root.resolve()
    if root.is_mount() or not os.access(root.parent, os.W_OK | os.X_OK):
        raise EnvironmentProblem(
            f"{root}: is a mount point or is in a read-only folder, and cannot be replaced as a whole; "
            "copy the dataset into a folder of your own"
        )
    with locked(root):
        fresh = beside(root)
        try:
            fresh.mkdir()
            empty = not any(each.name not in (LOCK, SCRATCH) for each in root.iterdir())
            if not empty:
                _check_exchange(fresh)
            # The same lock: a process that waits for the old folder's waits for the new one's.
            carry(root / LOCK, fresh / LOCK)
            shutil.copymode(root, fresh)
            yield fresh
            _sync_tree(fresh)
            if empty:
                (root / LOCK).unlink()
                fresh.rename(root)
            else:
                _exchange(fresh, root)
            sync(root.parent)
        except OSError as error:
            raise EnvironmentProblem(f"{root}: cannot be rebuilt: {error.strerror or error}") from None
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


def carry(source: Path, target: Path) -> None:
    """The same file under a second name: nothing is copied where the file system can help it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target, follow_symlinks=False)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _check_exchange(folder: Path) -> None:
    """Find out before the work, not after it."""
    one, other = folder / "one", folder / "other"
    one.mkdir()
    other.mkdir()
    _exchange(one, other)
    one.rmdir()
    other.rmdir()


def _exchange(one: Path, other: Path) -> None:
    """Swap what two names mean, in one step of the file system."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        raise EnvironmentProblem("this C library cannot exchange two folders in one step (renameat2 is missing)")
    if libc.renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE):
        reason = os.strerror(ctypes.get_errno())
        raise EnvironmentProblem(
            f"{other}: this file system cannot exchange two folders in one step ({reason}); "
            "copy the dataset to a local disk"
        )


def _sync_tree(folder: Path) -> None:
    for path in folder.rglob("*"):
        # What is neither holds nothing that could be lost.
        if not path.is_symlink() and (path.is_file() or path.is_dir()):
            sync(path)
    sync(folder)
