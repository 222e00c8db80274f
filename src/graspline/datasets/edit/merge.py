"""Several datasets as one: those that say the same things in the same way."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from graspline.datasets.check.doctor import check_sound
from graspline.datasets.edit.repack import Progress, StoredEpisode, build, parts_of, silent, steps_of
from graspline.datasets.format.atomic_replace import replaced
from graspline.datasets.format.card import card_of
from graspline.datasets.format.files import LOCK, SCRATCH, json_bytes, json_in, make_folder, read_locked
from graspline.datasets.format.settings import DatasetSettings, flat
from graspline.datasets.format.store import CARD, MERGED, OURS, Dataset, origin_in
from graspline.errors import EnvironmentProblem, InputError, together
from graspline.parameters.notation import printable

# At most this many duplicates are named.
_NAMED = 20


def merge(roots: Sequence[Path], out: Path, progress: Progress = silent) -> int:
    """Make one new dataset of several; gives the number of its episodes. The others are only read.

    Episodes are numbered anew in the order given and keep their seeds, so the result is not one that `generate` could
    go on with: it would not know which seed is the next.
    """
    _check_target(out, roots)
    with ExitStack() as stack:
        for root in roots:
            stack.enter_context(read_locked(root))
        datasets: list[Dataset] = together(*(partial(Dataset.open, root) for root in roots))
        problems = [*_differences(datasets), *_duplicates(datasets)]
        if problems:
            raise InputError(problems)
        for dataset in datasets:
            check_sound(dataset.root)
        parts = _renumbered(parts_of(dataset) for dataset in datasets)
        with _made(out), replaced(out) as folder:
            _describe(folder, datasets)
            build(folder, parts, datasets[0].info, films="packed", carry=_copy, done=progress(steps_of(parts)))
    return len(parts)


def _check_target(out: Path, roots: Sequence[Path]) -> None:
    if len(roots) < 2:
        raise InputError("name at least two datasets to merge")
    if out.exists() and (not out.is_dir() or any(each.name not in (LOCK, SCRATCH) for each in out.iterdir())):
        raise InputError(f"--out {out}: exists already; choose a new or empty folder")


@contextmanager
def _made(out: Path) -> Iterator[None]:
    """The folder; one that was made for this is taken away again if it stays empty."""
    new = not out.exists()
    try:
        make_folder(out)
    except OSError as error:
        raise EnvironmentProblem(f"--out {out}: cannot be made: {error.strerror or error}") from None
    try:
        yield
    except BaseException:
        if new:
            (out / LOCK).unlink(missing_ok=True)
            with suppress(OSError):
                out.rmdir()
        raise


def _renumbered(datasets: Iterator[list[StoredEpisode]]) -> list[StoredEpisode]:
    parts = [part for dataset in datasets for part in dataset]
    return [dataclasses.replace(part, episode_id=number) for number, part in enumerate(parts)]


def _copy(source: Path, target: Path) -> None:
    """Not a link: what happens to the file of one dataset must not happen to another's."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def _describe(folder: Path, datasets: Sequence[Dataset]) -> None:
    """What does not depend on episodes: the first dataset's, as far as it is so of all, and which went into it."""
    first, origins = datasets[0], [origin_in(dataset.root) for dataset in datasets]
    settings = dataclasses.replace(first.settings, **_shared([dataset.settings for dataset in datasets]))
    sources = [_source(dataset) for dataset in datasets]
    ours = {**json_in(first.root, OURS), "settings": settings.as_dict(), MERGED: sources}
    (folder / OURS).parent.mkdir(parents=True, exist_ok=True)
    (folder / OURS).write_bytes(json_bytes(ours))
    card = card_of(settings, [each for origin in origins for each in origin.made_with])
    lines = [f"- {each['name']}: {each['episodes']} episodes" for each in sources]
    (folder / CARD).write_text("\n".join([card, "Merged from:", "", *lines, ""]), encoding="utf-8")


def _shared(settings: Sequence[DatasetSettings]) -> dict[str, Any]:
    """Which episodes and frames are in it and what drives, as far as that is the same for all."""
    first = settings[0]
    alike = all(each.keep == first.keep for each in settings)
    return {
        "keep": first.keep if alike else "all" if any(each.keep == "all" for each in settings) else "success",
        "from_policy": first.from_policy if all(each.from_policy == first.from_policy for each in settings) else {},
        "record": first.record if all(each.record == first.record for each in settings) else "episode",
    }


def _source(dataset: Dataset) -> dict[str, Any]:
    plain = json_in(dataset.root, OURS)
    kept = {name: plain[name] for name in ("settings", MERGED) if name in plain}
    return {"name": printable(dataset.root.resolve().name), "episodes": len(dataset), **kept}


def _differences(datasets: Sequence[Dataset]) -> Iterator[str]:
    """Everything in which a dataset cannot go with the first one."""
    first = datasets[0]
    expected = dict(_common(first))
    for other in datasets[1:]:
        found = dict(_common(other))
        for name in dict.fromkeys((*expected, *found)):
            if expected.get(name) != found.get(name):
                yield (
                    f"{other.root}: {name} is {found.get(name, 'missing')}, "
                    f"in {first.root} it is {expected.get(name, 'missing')}"
                )


def _common(dataset: Dataset) -> Iterator[tuple[str, Any]]:
    """What must be the same, by name."""
    settings = dataset.settings
    yield from {"task": settings.task, "units": settings.units, "robot_type": settings.robot_type}.items()
    yield "fps", dataset.info["fps"]
    # What `graspline.state_index` counts.
    yield "states", list(origin_in(dataset.root).states)
    for name, feature in dataset.info["features"].items():
        for part, value in flat(feature):
            yield f"feature {name} {part}", value


def _duplicates(datasets: Sequence[Dataset]) -> list[str]:
    """Episodes that are in twice: what happened in them is the same to the last bit."""
    seen: dict[str, str] = {}
    found = []
    for dataset in datasets:
        for row in dataset.rows:
            here = f"episode {row['episode_index']} of {dataset.root}"
            if row["state_hash"] in seen:
                found.append(f"{here} is the same as {seen[row['state_hash']]} (seed {row['seed']})")
            seen.setdefault(row["state_hash"], here)
    more = [f"and {len(found) - _NAMED} more"] if len(found) > _NAMED else []
    return [*found[:_NAMED], *more]
