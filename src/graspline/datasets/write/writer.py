"""Adding to a dataset, one whole episode at a time.

The order of an episode's files makes the commit: videos, log, data, its row, statistics, and last the index,
`meta/info.json`. What the index does not count is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from graspline.datasets.check.doctor import check_sound
from graspline.datasets.format.card import card_of
from graspline.datasets.format.files import (
    LOCK,
    folder_bytes,
    half_file,
    is_there,
    json_bytes,
    locked,
    make_folder,
    remove,
    write,
    write_all,
)
from graspline.datasets.format.index import INFO, IndexFile
from graspline.datasets.format.rows import (
    Rejected,
    Row,
    stats_in,
)
from graspline.datasets.format.sentences import TASKS, sentences_of, tasks_bytes
from graspline.datasets.format.settings import DatasetSettings, differences, options_to_continue
from graspline.datasets.format.stats import all_merged, stats_bytes
from graspline.datasets.format.store import CARD, FORMAT, OURS, STATS, Dataset, deleted_in, origin_in, rows_in
from graspline.datasets.format.tables import table_in
from graspline.datasets.format.uncommitted import Next, leftovers_in, next_after
from graspline.datasets.write.episode_files import Ahead, EpisodePosition, lay_out
from graspline.datasets.write.jobs import Drawn
from graspline.errors import EnvironmentProblem, InputError

# Called with how many episodes have been checked, and how many there are.
OnCheck = Callable[[int, int], object]


def not_shown(checked: int, episodes: int) -> None:
    """For callers that show no progress."""


# All that a dataset has to which nothing was ever added.
_BEGUN = {OURS, CARD, LOCK}


class Writer:
    """The one process that adds episodes. What it has committed stays, whatever happens to it."""

    def __init__(self, root: Path, settings: DatasetSettings, rows: Sequence[Row]) -> None:
        self.root, self.settings = root, settings
        task, parameters = settings.found_task()
        self._scene = task.scene(parameters)
        self.committed, self.frames = len(rows), rows[-1]["dataset_to_index"] if rows else 0
        self._index = IndexFile(settings, self._scene)
        self._next = next_after(rows, deleted_in(root), settings)
        self._stats = all_merged(stats_in(row) for row in rows)
        self._sentences = sentences_of(rows)
        self._drop_leftovers()
        self.disk_bytes = folder_bytes(root)

    @property
    def next_seed(self) -> int:
        """No seed before it needs to be played."""
        return self._next.seed

    def commit(self, rendered: Drawn, rejected: Sequence[Rejected] = ()) -> Row:
        """Add one episode: after this returns it is in the dataset, and before it nothing of it is."""
        place = self.place(rendered.recording.instruction.sentence, rejected=rejected)
        laid = rendered.laid_out
        if laid is None or laid.place != place:
            laid = lay_out(rendered.recording, rendered.values, rendered.films, self.settings, self._scene, place)
        frames = laid.row["dataset_to_index"]
        total = all_merged([self._stats, laid.stats] if self._stats else [laid.stats])
        sentences = sentences_of([{"tasks": self._sentences}, laid.row])
        index = self._index.of(self.committed + 1, frames, len(sentences))
        tasks = {TASKS: tasks_bytes(sentences)} if sentences != self._sentences else {}
        # The index last: it counts the episode when everything else is there.
        write_all(self.root, {**laid.files, STATS: stats_bytes(total), **tasks, INFO: index})
        self.disk_bytes += sum(map(len, laid.files.values()))
        self._stats, self._sentences, self.committed, self.frames = total, sentences, self.committed + 1, frames
        self._next = Next(episode_id=place.episode_id + 1, seed=rendered.recording.seed + 1, slot=place.slot.next())
        return laid.row

    def place(self, sentence: str, before: Sequence[Ahead] = (), rejected: Sequence[Rejected] = ()) -> EpisodePosition:
        """That of an episode with this sentence which comes after these."""
        known = [*self._sentences, *(each.sentence for each in before), sentence]
        slot = self._next.slot
        for _ in before:
            slot = slot.next()
        return EpisodePosition(
            index=self.committed + len(before),
            episode_id=self._next.episode_id + len(before),
            first_row=self.frames + sum(each.frames for each in before),
            slot=slot,
            task_index=list(dict.fromkeys(known)).index(sentence),
            rejected=tuple(rejected),
        )

    def _drop_leftovers(self) -> None:
        """Take away what a killed writer left of an episode that the index does not count.

        Readers that go by the index do not see it, but LeRobot's takes every file it finds.
        """
        for name in self._next.files(view.key for view in self.settings.views):
            remove(self.root, name)
        stats = self.root / STATS
        if not self.committed:
            remove(self.root, STATS)
        elif not stats.is_file() or stats.read_bytes() != stats_bytes(self._stats):
            write(self.root, STATS, stats_bytes(self._stats))
        tasks, expected = self.root / TASKS, tasks_bytes(self._sentences)
        if not self.committed:
            remove(self.root, TASKS)
        elif not tasks.is_file() or tasks.read_bytes() != expected:
            write(self.root, TASKS, expected)


@contextmanager
def open_writer(root: Path, settings: DatasetSettings, on_check: OnCheck = not_shown) -> Iterator[Writer]:
    """Begin a dataset, or go on with one that has the same settings; anything else is refused and left as it is."""
    _prepare_folder(root)
    with locked(root):
        anew = (root / OURS).is_file() and _is_untouched(root, settings)
        rows = _rows_to_go_on_with(root, settings, on_check) if (root / OURS).is_file() and not anew else ()
        _begin(root, settings, anew=anew)
        yield Writer(root, settings, rows)


def _is_untouched(root: Path, settings: DatasetSettings) -> bool:
    """Whether it was begun with other settings and nothing was ever added."""
    origin = origin_in(root)
    if origin.merged_from or not differences(origin.settings, settings):
        return False
    return not any(path.is_file() for path in root.rglob("*") if path.relative_to(root).as_posix() not in _BEGUN)


def _rows_to_go_on_with(root: Path, settings: DatasetSettings, on_check: OnCheck) -> tuple[Row, ...]:
    """Those that the index counts, of a dataset that one more episode can be added to."""
    origin = origin_in(root)
    if origin.merged_from:
        raise InputError(f"{root}: is a merged dataset; generate into another folder and merge that too")
    found, options = differences(origin.settings, settings), options_to_continue(origin.settings, settings)
    if found:
        raise InputError(
            [
                f"{root}: the dataset was made with other settings:",
                *(f"  {each}" for each in found),
                *([f"  to continue it with `graspline generate`, use: {options}"] if options else ()),
                f"  choose another folder for these settings, such as {root}-2",
            ]
        )
    if not is_there(root / INFO):
        leftovers_in(root, settings, (), rows_in(root))
        if is_there(root / TASKS):
            table_in(root, TASKS)
        return ()
    dataset = Dataset.open(root)
    leftovers_in(root, settings, dataset.rows, dataset.uncounted)
    dataset.check_stats()
    episodes = len(dataset.rows)
    check_sound(root, lambda done, steps: on_check(done * episodes // steps, episodes))
    return dataset.rows


def _begin(root: Path, settings: DatasetSettings, *, anew: bool) -> None:
    """What does not change from episode to episode, if it is not there yet; first what makes the folder ours."""
    task, parameters = settings.found_task()
    states = list(task.machine(parameters).paths())
    files = {
        OURS: json_bytes({"format": FORMAT, "settings": settings.as_dict(), "states": states}),
        CARD: card_of(settings).encode(),
    }
    for name, data in files.items():
        if anew or not (root / name).is_file():
            write(root, name, data)


def _prepare_folder(root: Path) -> None:
    if root.exists() and not root.is_dir():
        raise InputError(f"{root}: is a file, expected a folder")
    try:
        make_folder(root)
        if not (root / OURS).is_file() and _holds_other_files(root):
            raise InputError(
                f"{root}: contains other files and is not a graspline dataset; choose a new or empty folder"
            )
    except OSError as error:
        raise EnvironmentProblem(f"{root}: cannot be written to: {error.strerror or error}") from None


def _holds_other_files(root: Path) -> bool:
    """Whether there is anything that a writer killed before it had begun would not have left."""
    ours = {root / LOCK, half_file(root, OURS)}
    return any(path not in ours and (path.is_symlink() or not path.is_dir()) for path in root.rglob("*"))
