"""What is folded about the scene and its episodes: task, seed, faults, recorded episodes."""

from __future__ import annotations

from graspline.faults.catalogue import find_fault
from graspline.serve.live.commands import ReplayEpisode, ResetScene, StrikeFault
from graspline.serve.live.server_context import Bench
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.serve.panel import words
from graspline.serve.panel.controls import Button, Controls, Dropdown, Text, by_person

_SEEDS = 2**31 - 1


class SceneSection:
    """One client's choice of task and seed, the faults it can inject and the episodes it can replay."""

    def __init__(self, controls: Controls, bench: Bench, snapshot: SessionSnapshot) -> None:
        self._controls, self._bench = controls, bench
        gui, task = controls.gui, snapshot.task
        with gui.add_folder("Scene", expand_by_default=False):
            self._task = controls.hold(gui.add_dropdown("Task", tuple(bench.tasks), initial_value=task))
            self._task.on_update(by_person(lambda: self._change(task)))
            self._seed = controls.hold(gui.add_number("Seed", snapshot.seed, min=0, max=_SEEDS, step=1))
            controls.row(Button("Reset", self._reset), Button("Next seed", self._next_seed))
        with gui.add_folder("Inject a fault", expand_by_default=False):
            scene = bench.session().scene
            names = [name for name in bench.faults if not find_fault(name).missing_in(scene)]
            for first in range(0, len(names), 3):
                row = names[first : first + 3]
                controls.row(*(Button(name, lambda name=name: controls.give(StrikeFault(name))) for name in row))
        with gui.add_folder("Episodes", expand_by_default=False):
            Text(gui, words.about_recording(bench.recording))
            self._episode = Dropdown(controls, "Episode", "(none)", lambda name: None)
            controls.row(Button("Replay", self._replay), Button("Refresh list", self._list))
        self._known, self._last_seed = -1, snapshot.seed

    @property
    def seed(self) -> int:
        """The seed that the page shows."""
        return int(self._seed.value)

    def show(self, snapshot: SessionSnapshot) -> None:
        """Show what the snapshot says."""
        if snapshot.seed != self._last_seed:
            self._last_seed = self._seed.value = snapshot.seed
        if snapshot.episodes != self._known:
            self._known = snapshot.episodes
            self._list()

    def _reset(self) -> None:
        self._controls.give(ResetScene(self.seed))

    def _next_seed(self) -> None:
        self._seed.value = (self.seed + 1) % _SEEDS
        self._reset()

    def _change(self, current: str) -> None:
        wanted = self._task.value
        if wanted != current and self._controls.operator.take():
            self._bench.change_task(wanted)

    def _list(self) -> None:
        names = sorted(self._bench.episodes())
        self._episode.offer(names, self._episode.name or (names[-1] if names else ""))

    def _replay(self) -> None:
        found = self._bench.episodes().get(self._episode.name)
        if found is None:
            self._controls.operator.note = "Choose an episode to replay first."
            return
        episode: ReplayEpisode = found()
        self._controls.give(episode)
