"""What a page is made of: controls that only the operator may use, and text that is sent when it changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import viser

from graspline.live.commands import Command, Down, Home, Refused, Result, Ticket, Zero
from graspline.panel.helm import Helm
from graspline.robots.robot import Robot


class Controls:
    """The controls of one client's page."""

    def __init__(self, client: viser.ClientHandle, helm: Helm) -> None:
        self.gui, self.helm = client.gui, helm
        self._held: list[Any] = []
        self._enabled = True

    def hold(self, control: Any) -> Any:
        """Have a control follow the lease: a page that only watches cannot use it."""
        self._held.append(control)
        return control

    def enable(self, enabled: bool) -> None:
        if enabled != self._enabled:
            self._enabled = enabled
            for control in self._held:
                if isinstance(control, viser.GuiButtonGroupHandle):
                    # The page draws disabled groups, but the handle has no way to make one.
                    control._queue_update("disabled", not enabled)
                else:
                    control.disabled = not enabled

    def button(self, label: str, act: Callable[[], object], **look: Any) -> Any:
        """A button of the operator's."""
        made = self.hold(self.gui.add_button(label, **look))
        made.on_click(lambda event: act())
        return made

    def buttons(self, label: str, acts: dict[str, Callable[[], object]], hint: str | None = None) -> Any:
        """Several in a row."""
        made = self.hold(self.gui.add_button_group(label, tuple(acts), hint=hint))
        made.on_click(lambda event: acts[event.target.value]())
        return made

    def give(self, command: Command) -> Ticket:
        return self.helm.give(command)


def poses_of(controls: Controls, robot: Robot) -> dict[str, Callable[[], object]]:
    """Buttons for the poses that a robot has by name."""
    named: dict[str, Command] = {"Home": Home(), "Down": Down(), "Zero": Zero()}
    return {
        name: lambda command=command: controls.give(command)
        for name, command in named.items()
        if name != "Down" or robot.down is not None
    }


def by_person(change: Callable[[], object]) -> Callable[[Any], None]:
    """A callback for changes that a person made; those that we make call nothing."""

    def changed(event: Any) -> None:
        if event.client is not None:
            change()

    return changed


class Text:
    """A piece of HTML that is sent again only when it has changed."""

    def __init__(self, gui: viser.GuiApi, content: str = "") -> None:
        self._handle, self._content = gui.add_html(content), content

    def show(self, content: str) -> None:
        if content != self._content:
            self._content = content
            self._handle.content = content


class Synced:
    """An input that shows a value of the session, and tells when a person changes it.

    It is set when the session's value changes and at no other time: between a person's change and the session's answer
    the two differ, and ours must not overwrite theirs.
    """

    def __init__(self, controls: Controls, handle: Any, changed: Callable[[Any], Ticket | None]) -> None:
        self._handle, self._changed = controls.hold(handle), changed
        self._shown = self._newest = handle.value
        # Changes of a person that the session has not answered.
        self._open = 0
        handle.on_update(self._note)
        handle.on_update(by_person(self._give))

    @property
    def value(self) -> Any:
        return self._newest if self._open else self._handle.value

    def show(self, value: Any) -> None:
        if value != self._shown:
            self._shown = value
            if not self._open:
                self._handle.value = value

    async def _note(self, event: Any) -> None:
        """At once, where messages arrive: what answers may come later, and older values of the session before it."""
        if event.client is not None:
            self._newest, self._open = self._handle.value, self._open + 1

    def _give(self) -> None:
        ticket = self._changed(self._newest)
        if ticket is None:
            self._open -= 1
        else:
            ticket.then(self._answered)

    def _answered(self, result: Result) -> None:
        self._open -= 1
        if isinstance(result, Refused) and not self._open:
            self._handle.value = self._shown


class Choice(Synced):
    """A list to choose from, whose entries may change; the first entry stands for nothing."""

    def __init__(self, controls: Controls, label: str, nothing: str, chosen: Callable[[str], Ticket | None]) -> None:
        self._nothing = nothing
        super().__init__(controls, controls.gui.add_dropdown(label, (nothing,)), lambda name: chosen(self.name))

    @property
    def name(self) -> str:
        """What is chosen; empty if nothing is."""
        return "" if self.value == self._nothing else self.value

    def offer(self, names: Sequence[str], value: str) -> None:
        """Show these entries, and one of them chosen."""
        options = (self._nothing, *names)
        if options != tuple(self._handle.options):
            self._handle.options = options
        self.show(value if value in names else self._nothing)
