"""The Task tab: run a task, watch its machine, let things go wrong, record and replay."""

from __future__ import annotations

import re

from graspline.episodes.faults import FAULTS, missing_in_scene
from graspline.live.bench import Bench
from graspline.live.commands import Answer, Record, ReplayEpisode, ResetScene, RunTask, StrikeFault
from graspline.live.snapshot import Snapshot
from graspline.machine.diagram import svg
from graspline.machine.machine import Machine
from graspline.panel import words
from graspline.panel.controls import Choice, Controls, Synced, Text, by_person

_SEEDS = 2**31 - 1


class TaskTab:
    """One client's Task tab."""

    def __init__(self, controls: Controls, bench: Bench, machine: Machine, task: str, seed: int) -> None:
        self._controls, self._bench, self._machine = controls, bench, machine
        gui = controls.gui
        self._task = controls.hold(gui.add_dropdown("Task", tuple(bench.tasks), initial_value=task))
        self._task.on_update(by_person(lambda: self._change(task)))
        self._seed = controls.hold(gui.add_number("Seed", seed, min=0, max=_SEEDS, step=1))
        controls.button("Run", lambda: controls.give(RunTask(self._whole_seed)), color="green", icon="player-play")
        controls.buttons("Scene", {"Reset": self._reset, "New seed": self._new_seed}, "Put back as its seed has it")
        self._ask = Text(gui)
        self._answers: tuple[str, ...] = ()
        self._answer = controls.hold(gui.add_button_group("Answer", ("-",), visible=False))
        self._answer.on_click(lambda event: controls.give(Answer(event.target.value)))
        self._verdict = Text(gui)
        with gui.add_folder("Machine"):
            self._diagram = Text(gui)
        with gui.add_folder("Evidence"):
            self._evidence = Text(gui)
        with gui.add_folder("History"):
            self._history = Text(gui)
        with gui.add_folder("Let it go wrong"):
            scene = bench.session().scene
            names = [name for name in bench.faults if not missing_in_scene(FAULTS[name], scene)]
            for first in range(0, len(names), 3):
                row = names[first : first + 3]
                controls.buttons("", {name: lambda name=name: controls.give(StrikeFault(name)) for name in row})
        with gui.add_folder("Episodes"):
            record = gui.add_checkbox("Record", False, hint=_about(bench.recording), visible=bool(bench.recording))
            self._record = Synced(controls, record, lambda on: controls.give(Record(on, bench.recording)))
            self._episode = Choice(controls, "Episode", "(none)", lambda name: None)
            self._known = -1
            controls.buttons("Recorded", {"Replay": self._replay, "List again": self._list})

    @property
    def _whole_seed(self) -> int:
        return int(self._seed.value)

    def show(self, snapshot: Snapshot) -> None:
        self._verdict.show(words.verdict(snapshot))
        self._evidence.show(words.block("<div data-evidence>", words.evidence(snapshot.evidence) or "none", "</div>"))
        self._history.show(words.history(snapshot))
        self._diagram.show(diagram(self._machine, snapshot.state))
        if snapshot.options != self._answers:
            self._answers = snapshot.options
            self._ask.show(words.block(words.line(snapshot.question, bold=True)) if snapshot.question else "")
            if snapshot.options:
                self._answer.options = snapshot.options
            self._answer.visible = bool(snapshot.options)
        self._record.show(bool(snapshot.recording) and snapshot.recording == self._bench.recording)
        if snapshot.episodes != self._known:
            self._known = snapshot.episodes
            self._list()

    def _reset(self) -> None:
        self._controls.give(ResetScene(self._whole_seed))

    def _new_seed(self) -> None:
        self._seed.value = (self._whole_seed + 1) % _SEEDS
        self._reset()

    def _change(self, current: str) -> None:
        wanted = self._task.value
        if wanted != current and self._controls.helm.take():
            self._bench.change_task(wanted)

    def _list(self) -> None:
        names = sorted(self._bench.episodes())
        self._episode.offer(names, self._episode.name or (names[-1] if names else ""))

    def _replay(self) -> None:
        found = self._bench.episodes().get(self._episode.name)
        if found is None:
            self._controls.helm.note = "choose an episode to replay first"
            return
        episode: ReplayEpisode = found()
        self._controls.give(episode)


def diagram(machine: Machine, state: str) -> str:
    """The machine with the state it is in; below it, the nested machine that this state is."""
    outer, _, inner = state.partition(".")
    drawn = [_fitted(svg(machine, current=outer, compact=True))]
    nested = machine.states.get(outer)
    if isinstance(nested, Machine):
        drawn.append(diagram(nested, inner))
    return f"<div data-diagram='{state}' style='padding:0 8px'>{''.join(drawn)}</div>"


def _fitted(drawn: str) -> str:
    """A picture as wide as the page has room for."""
    return re.sub(r"width='\d+' height='\d+'>", "style='width:100%;height:auto'>", drawn, count=1)


def _about(recording: str) -> str:
    return f"Episodes of tasks go into {recording}" if recording else "Start with --record DIR to write a dataset"
