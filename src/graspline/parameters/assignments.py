"""One parameter set from the command line: `--set jaw.standoff_m=0.04`."""

from __future__ import annotations

from graspline.errors import InputError
from graspline.parameters.documents import Reader
from graspline.parameters.notation import Value, printable, shortened

_EXAMPLE = "jaw.standoff_m=0.04"


def option(assignment: str) -> str:
    """How messages name the assignment."""
    return f"--set {printable(shortened(assignment))}"


def parse_assignment(assignment: str, example: str = "") -> tuple[tuple[str, ...], Value]:
    """The key path and the value of `a.b=c`; the value is a YAML word, quoted text or a list such as [1].

    The message for anything else shows `example`, an assignment that is possible.
    """
    where = option(assignment)
    keys, equals, text = assignment.partition("=")
    path = tuple(key.strip() for key in keys.split("."))
    if not equals or not all(key.isidentifier() for key in path):
        raise InputError(f"{where}: expected KEY.KEY=VALUE, for example {example or _EXAMPLE}")
    if not text.strip():
        raise InputError(f'{where}: nothing after the =; write null for no value, "" for empty text')
    return path, _value(text, where)


def _value(text: str, where: str) -> Value:
    root = Reader(text, lambda line: where).read()
    # A comment would silently cut text such as `pick #3`.
    if root is None or text[: root.start].strip() or text[root.end :].strip():
        raise InputError(f"{where}: a comment or marker in the value; put quotes around text with a # or ---")
    if isinstance(root.value, dict):
        raise InputError(f"{where}: a value with keys; set one key at a time, or put quotes around text with a colon")
    return root.value
