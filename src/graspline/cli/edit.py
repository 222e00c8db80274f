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
from graspline.cli.progress import steps
from graspline.datasets.compact import compact as compact_dataset
from graspline.datasets.delete import delete as delete_episodes
from graspline.datasets.delete import deleted_in
from graspline.datasets.delete import restore as restore_episodes
from graspline.datasets.merge import merge as merge_datasets
from graspline.datasets.store import INFO, Dataset
from graspline.errors import InputError


def compact(root: Folder) -> None:
    """Pack a dataset's many files into few.

    `generate` writes files for each episode. Packed, a dataset of thousands of episodes is opened and copied faster;
    episodes, their numbers and their pictures stay the same to the last bit. The folder is replaced as a whole when all
    is ready, which takes as much free space as the dataset has; a kill leaves what was there.

    \b
    Examples:
      graspline compact out/oranges
    """
    with replacing(root), _inside(root), steps("packing") as progress:
        before, after = compact_dataset(root, progress)
    _say(f"{root}: {before} files are now {after}")


def merge(
    roots: Annotated[list[Path], typer.Argument(metavar="DIR", help="Datasets, two or more.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The new dataset's folder: new or empty.")],
) -> None:
    """Make one dataset of several.

    They must be of the same task, with the same features, rate, units and robot type; every difference is named.
    Episodes keep their seeds and logs and are numbered anew, in the order given. What two datasets have in common is
    refused, by name. Merge last: `generate` does not go on with the result.

    \b
    Examples:
      graspline merge out/machine-1 out/machine-2 --out out/all
    """
    with replacing(out), steps("merging") as progress:
        count = merge_datasets(roots, out, progress)
    _say(f"{out}: {count} episodes of {len(roots)} datasets")


def delete(
    root: Folder,
    episode: Annotated[
        list[int] | None, typer.Option(metavar="I", help="Take out this episode, by its index; repeatable.")
    ] = None,
    restore: Annotated[
        list[int] | None, typer.Option(metavar="ID", help="Put back a deleted episode, by its number; repeatable.")
    ] = None,
) -> None:
    """Take episodes out of a dataset, or put them back.

    Episodes behind one that is taken out move up. It is kept whole in the folder graspline/deleted, under the lasting
    number that this command prints, and --restore puts it back where it was. Its seed is not played again.

    \b
    Examples:
      graspline delete out/oranges --episode 3 --episode 17
      graspline delete out/oranges --restore 17
    """
    if bool(episode) == bool(restore):
        out = ", ".join(str(note["episode_id"]) for note in deleted_in(Dataset.open(root).root)) or "none"
        raise InputError(f"name what to take out with --episode, or what to put back with --restore (deleted: {out})")
    with replacing(root), _inside(root), steps("laying out") as progress:
        gone = delete_episodes(root, episode, progress) if episode else []
        back = restore_episodes(root, restore, progress) if restore else []
    for row in gone:
        number = row["episode_id"]
        _say(f"taken out: episode {row['episode_index']}, number {number}, seed {row['seed']}; put it back with:")
        _say(f"  graspline delete {root} --restore {number}")
    for row in back:
        _say(f"put back: number {row['episode_id']}, seed {row['seed']}")


@contextmanager
def replacing(path: Path) -> Iterator[None]:
    """An interrupt is told with what became of the dataset or file at `path`: it is made as a whole or not at all."""
    before = _mark(path)

    def left() -> str:
        now = _mark(path)
        if now != before:
            return f"{path} was already finished"
        return f"{path} was not made" if now is None else f"{path} stays as it was"

    with interruptible(left):
        yield


def _mark(path: Path) -> int | None:
    """Tells a dataset or a file from the one that takes its place; None if there is none."""
    file = path / INFO if path.is_dir() else path
    return file.stat().st_ino if file.exists() else None


@contextmanager
def _inside(root: Path) -> Iterator[None]:
    """Tell a user whose shell is in the folder that it was replaced under them."""
    inside = Path.cwd().is_relative_to(root.resolve())
    yield
    if inside:
        _say("you are in the folder that was replaced: `cd .` brings you into the new one")


def _say(text: str) -> None:
    print(text, file=sys.stderr)
