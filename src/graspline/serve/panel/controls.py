"""What a page is made of: controls that only the operator may use, and text that is sent when it changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import viser

from graspline.robots.robot import Robot
from graspline.serve.live.commands import Command, Down, Home, Ticket, Zero
from graspline.serve.panel.operator_client import Helm
from graspline.tasks.console import Refused, Result

Kind = Literal["primary", "normal", "danger"]
_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "primary": "--gl-fill:#1864ab;--gl-ink:#fff;--gl-edge:#1864ab;--gl-over:#14528c",
        "danger": "--gl-fill:#c92a2a;--gl-ink:#fff;--gl-edge:#c92a2a;--gl-over:#a61e1e",
    }
)
_SIZES: Mapping[str, str] = MappingProxyType({"large": "--gl-high:46px;--gl-type:16px;--gl-weight:650"})


class Button(NamedTuple):
    """What a button says, what it does, and what it looks like."""

    label: str
    act: Callable[[], object]
    kind: Kind = "normal"


class Controls:
    """The controls of one client's page."""

    def __init__(self, client: viser.ClientHandle, operator: Helm) -> None:
        self.gui, self.operator = client.gui, operator
        self._held: list[Any] = []
        self._enabled = True
        # Controls that cannot be used now although this page may drive.
        self._barred: set[str] = set()
        # How each button looks: rules by its id, which viser gives to the element.
        self._looks: dict[str, str] = {}
        self._style = Text(self.gui)

    def hold(self, control: Any) -> Any:
        """Have a control follow the lease: a page that only watches cannot use it."""
        self._held.append(control)
        return control

    def enable(self, enabled: bool) -> None:
        """Enable or disable all controls."""
        if enabled != self._enabled:
            self._enabled = enabled
            for control in self._held:
                self._apply(control)

    def allow(self, control: Any, usable: bool) -> None:
        """Disable a control while what it does is impossible, whichever page is in control."""
        uuid = _uuid(control)
        if usable == (uuid in self._barred):
            self._barred ^= {uuid}
            self._apply(control)

    def _apply(self, control: Any) -> None:
        control.disabled = not self._enabled or _uuid(control) in self._barred

    def button(self, label: str, act: Callable[[], object], kind: Kind = "normal", *, visible: bool = True) -> Any:
        """A button of the operator's."""
        return self.row(Button(label, act, kind), visible=visible)[0]

    def row(self, *buttons: Button, size: Literal["normal", "large"] = "normal", visible: bool = True) -> list[Any]:
        """Buttons side by side, as wide as each other."""
        made = []
        for label, act, kind in buttons:
            button = self.hold(self.gui.add_button(label, visible=visible))
            button.on_click(lambda event, act=act: act())
            self._looks[_uuid(button)] = _look(_uuid(button), len(buttons), first=not made, kind=kind, size=size)
            made.append(button)
            if not self._enabled:
                self._apply(button)
        self._dress()
        return made

    def dress(self, button: Any, kind: Kind) -> None:
        """Give a button of the verbs' row another kind."""
        uuid = _uuid(button)
        before = self._looks[uuid]
        self._looks[uuid] = f"{before.partition('/*')[0]}/*kind*/[id='{uuid}']{{{_COLOURS.get(kind, '')}}}"
        if self._looks[uuid] != before:
            self._dress()

    def drop(self, button: Any) -> None:
        """Take a button away."""
        self._held.remove(button)
        self._barred.discard(_uuid(button))
        del self._looks[_uuid(button)]
        button.remove()

    def give(self, command: Command) -> Ticket:
        """Send a command to the session."""
        return self.operator.give(command)

    def _dress(self) -> None:
        self._style.show(f"<style>{''.join(self._looks.values())}</style>")


def _uuid(control: Any) -> str:
    return control._impl.uuid


def _look(uuid: str, count: int, *, first: bool, kind: Kind, size: str) -> str:
    """Rules for one of `count` buttons of a row, and for the box that viser puts around it."""
    left = "12px" if first else "0"
    return (
        f"div:has(>[id='{uuid}']){{display:inline-block;vertical-align:top;box-sizing:border-box;"
        f"width:calc((100% - 20px)/{count});margin:0 0 0 {left} !important;"
        f"padding:0 4px 8px 0 !important}}[id='{uuid}']{{{_SIZES.get(size, '')}}}"
        f"/*kind*/[id='{uuid}']{{{_COLOURS.get(kind, '')}}}"
    )


def poses_of(controls: Controls, robot: Robot) -> list[Button]:
    """Buttons for the poses that a robot has by name."""
    named: dict[str, Command] = {"Home": Home(), "Down": Down(), "Zero": Zero()}
    return [
        Button(name, lambda command=command: controls.give(command))
        for name, command in named.items()
        if name != "Down" or robot.down is not None
    ]


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
        """Show this value, if it has changed."""
        if content != self._content:
            self._content = content
            self._handle.content = content


class Synced:
    """An input that shows a value of the session, and reports when a person changes it.

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
        """The value that the page shows."""
        return self._newest if self._open else self._handle.value

    def show(self, value: Any) -> None:
        """Show this value, if it has changed."""
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


class Dropdown(Synced):
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
