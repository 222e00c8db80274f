"""Parameter files: the small, safe part of YAML that a configuration needs, with the line of every key.

Anchors, aliases, merge keys and tags are refused, so a file cannot grow while it is read and every key has a
line to point at. Values are built from parser events: PyYAML's composer recurses as deep as a file asks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import yaml

from graspline.errors import InputError
from graspline.parameters.notation import KeyPath, Value, dotted, printable, resolve, shown

MOST_BYTES = 1_000_000
MOST_NESTED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a file says, and on which line it says it."""

    name: str
    values: Mapping[str, Value]
    lines: Mapping[KeyPath, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """The one value of a YAML text, and the part of the text it was read from."""

    value: Value
    start: int
    end: int


def load_yaml(path: str | os.PathLike[str]) -> Document:
    """The parameters in a file of UTF-8 YAML."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{printable(name)}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a NUL byte in the name
        raise InputError(f"{printable(name)}: cannot be read: {error}") from None
    if len(content) > MOST_BYTES:
        raise InputError(f"{printable(name)}: larger than 1 MB; expected a short YAML file")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{printable(name)}:{line}: not UTF-8 text; expected a YAML file") from None
    return parse_yaml(text, name)


def parse_yaml(text: str, name: str = "<text>") -> Document:
    """The parameters in a YAML text; `name` is where messages say it came from."""
    name = printable(name)
    if len(text) > MOST_BYTES:
        raise InputError(f"{name}: larger than 1 MB; expected a short YAML file")
    reader = Reader(text, lambda line: f"{name}:{line}")
    root = reader.read()
    # An empty file, or one with everything commented out, sets nothing.
    values = {} if root is None or root.value is None else root.value
    if not isinstance(values, dict):
        raise InputError(f"{name}: {shown(values)} at the top level; expected keys with values, such as 'seed: 1'")
    return Document(name=name, values=values, lines=reader.lines)


@dataclass(slots=True)
class Reader:
    """Reads one YAML text; `where` says in words where a line is."""

    text: str
    where: Callable[[int], str]
    lines: dict[KeyPath, int] = field(default_factory=dict)
    _loader: yaml.SafeLoader = field(init=False)
    _latest: yaml.Event = field(init=False)
    _problems: list[str] = field(default_factory=list)

    def read(self) -> Root | None:
        """The value of the text, or None where it holds none; raises all problems at once."""
        try:
            self._loader = yaml.SafeLoader(self.text)
        except yaml.reader.ReaderError as error:
            line = self.text.count("\n", 0, error.position) + 1
            raise InputError(
                f"{self.where(line)}: holds a character that is not text: {error.character:#04x}"
            ) from None
        root = self._document()
        if self._problems:
            raise InputError(self._problems)
        return root

    def _document(self) -> Root | None:
        self._next()  # the start of the stream
        if isinstance(self._next(), yaml.StreamEndEvent):
            return None
        first = self._next()
        value = self._node(first, ())
        end = self._latest.end_mark.index
        self._next()  # the end of the document
        if not isinstance(surplus := self._next(), yaml.StreamEndEvent):
            self._refuse(surplus, "a second document starts here; expected one")
        return Root(value=value, start=first.start_mark.index, end=end)

    def _node(self, event: yaml.Event, path: KeyPath) -> Value:
        if len(path) > MOST_NESTED:
            self._refuse(event, f"nested deeper than {MOST_NESTED} levels")
            raise InputError(self._problems)
        if isinstance(event, yaml.AliasEvent):
            self._refuse(event, f"alias *{event.anchor} is not supported; write the value out")
            return None
        assert isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent)
        if event.anchor is not None:
            self._refuse(event, f"anchor &{event.anchor} is not supported; write the value out")
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self._refuse(event, f"tag {shown(tag)} is not supported; write the plain value")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        return self._mapping(path) if isinstance(event, yaml.MappingStartEvent) else self._sequence(path)

    def _mapping(self, path: KeyPath) -> dict[str, Value]:
        values: dict[str, Value] = {}
        first_lines: dict[str, int] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key, line = self._key(event), _line(event)
            if key in first_lines:
                self._refuse(event, f"{dotted((*path, key))}: given twice, first on line {first_lines[key]}")
            first_lines.setdefault(key, line)
            self.lines[*path, key] = line
            values[key] = self._node(self._next(), (*path, key))
        return values

    def _key(self, event: yaml.Event) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            self._refuse(event, "a key must be a name; quote text that starts with one of [ { *")
            raise InputError(self._problems)
        key = self._node(event, ())
        if event.implicit[0] and event.value == "<<":
            self._refuse(event, "merge key << is not supported; write the keys out")
        elif not isinstance(key, str):
            self._refuse(event, f"key {shown(key)} is not a name")
        return event.value

    def _sequence(self, path: KeyPath) -> list[Value]:
        values: list[Value] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            item = (*path, len(values))
            self.lines[item] = _line(event)
            values.append(self._node(event, item))
        return values

    def _scalar(self, event: yaml.ScalarEvent) -> Value:
        if any("\ud800" <= character <= "\udfff" for character in event.value):
            self._refuse(event, f"{shown(event.value)} holds half a character")
        return resolve(event.value) if event.implicit[0] else event.value

    def _next(self) -> yaml.Event:
        try:
            self._latest = self._loader.get_event()
            return self._latest
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = self._loader.line if mark is None else mark.line
            reason = " ".join(f"{error.context or ''} {error.problem or ''}".split())
        except (ValueError, OverflowError):
            # PyYAML lets chr() fail on "\U99999999" and int() on an endless version number.
            line, reason = self._loader.line, "an escape or a number out of bounds"
        hint = "; indent with spaces, not tabs" if "'\\t'" in reason else ""
        raise InputError(
            [*self._problems, f"{self.where(line + 1)}: not valid YAML: {printable(reason)}{hint}"]
        ) from None

    def _refuse(self, event: yaml.Event, message: str) -> None:
        self._problems.append(f"{self.where(_line(event))}: {message}")


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1
