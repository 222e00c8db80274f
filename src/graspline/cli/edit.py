"""`graspline compact`, `merge` and `delete`: a dataset's files and episodes put in order."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from graspline.cli.interrupts import interruptible
from graspline.cli.options import Folder
from graspline.cli.outputs import report_saved
from graspline.cli.progress import steps
from graspline.datasets.edit.compact import compact as compact_dataset
from graspline.datasets.edit.delete import delete as delete_episodes
from graspline.datasets.edit.delete import deleted_in
from graspline.datasets.edit.delete import restore as restore_episodes
from graspline.datasets.edit.merge import merge as merge_datasets
from graspline.datasets.format.store import INFO, Dataset
from graspline.errors import InputError
from graspline.wording import counted


def compact(root: Folder) -> None:
    """Pack a dataset's many files into a few.

    `graspline generate` writes separate files for each episode. A packed dataset of thousands of episodes opens and
    copies faster; its episodes, indices and images stay bit-identical. The folder is replaced in one step at the end,
    which needs as much free disk space as the dataset; if it is interrupted, the dataset stays as it was.

    \b
    Examples:
      graspline compact out/oranges
    """
    with replacing(root), _inside(root), steps("packing") as progress:
        before, after = compact_dataset(root, progress)
    _say(f"packed {counted(before, 'file')} into {after}")
    report_saved(root)


def merge(
    roots: Annotated[
        list[Path], typer.Argument(metavar="DIR", help="Folders of two or more datasets.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the new dataset: new or empty.")],
) -> None:
    """Merge several datasets into one.

    Task, features, frame rate, units and robot type must be the same; all differences are listed. Episodes keep their
    seeds and logs and get new indices, in the order given. Datasets that share an episode are refused. Merge last:
    `graspline generate` does not continue a merged dataset.

    \b
    Examples:
      graspline merge out/machine-1 out/machine-2 --out out/all
    """
    with replacing(out), steps("merging") as progress:
        count = merge_datasets(roots, out, progress)
    _say(f"merged {len(roots)} datasets: {counted(count, 'episode')}")
    report_saved(out)


def delete(
    root: Folder,
    episode: Annotated[
        list[int] | None, typer.Option(metavar="I", help="Delete this episode, by its index; repeatable.")
    ] = None,
    restore: Annotated[
        list[int] | None, typer.Option(metavar="ID", help="Restore a deleted episode, by its ID; repeatable.")
    ] = None,
) -> None:
    """Delete episodes of a dataset, or restore them.

    Later episodes move up by one index. A deleted episode is kept in the folder graspline/deleted, under a permanent ID
    that this command prints, and --restore puts it back in its place. Its seed is not used again.

    \b
    Examples:
      graspline delete out/oranges --episode 3 --episode 17
      graspline delete out/oranges --restore 17
    """
    if bool(episode) == bool(restore):
        out = ", ".join(str(note["episode_id"]) for note in deleted_in(Dataset.open(root).root)) or "none"
        raise InputError(f"choose what to delete with --episode, or what to restore with --restore (deleted: {out})")
    with replacing(root), _inside(root), steps("rewriting") as progress:
        gone = delete_episodes(root, episode, progress) if episode else []
        back = restore_episodes(root, restore, progress) if restore else []
    for row in gone:
        number = row["episode_id"]
        _say(f"deleted: episode {row['episode_index']} (ID {number}, seed {row['seed']}); restore it with")
        _say(f"  graspline delete {root} --restore {number}")
    for row in back:
        _say(f"restored: ID {row['episode_id']}, seed {row['seed']}")


@contextmanager
def replacing(path: Path) -> Iterator[None]:
    """An interrupt says what happened to the dataset or file at `path`: it is written as a whole or not at all."""
    before = _mark(path)

    def left() -> str:
        now = _mark(path)
        if now != before:
            return f"{path} was already finished"
        return f"{path} was not written" if now is None else f"{path} is unchanged"

    with interruptible(left):
        yield


def _mark(path: Path) -> int | None:
    """Tells a dataset or a file from the one that takes its place; None if there is none."""
    file = path / INFO if path.is_dir() else path
    return file.stat().st_ino if file.exists() else None


@contextmanager
def _inside(root: Path) -> Iterator[None]:
    """Say so if the shell is in the folder that was replaced."""
    inside = Path.cwd().is_relative_to(root.resolve())
    yield
    if inside:
        _say("the current folder was replaced: `cd .` enters the new one")


def _say(text: str) -> None:
    print(text, file=sys.stderr)
