"""A page for each task: every key that `graspline config TASK` prints, with default, range and meaning."""

from __future__ import annotations

import inspect
from typing import Any

from graspline import TASKS
from graspline.parameters import Parameters
from graspline.parameters.allowed import Allowed, allowed_in
from graspline.parameters.notation import write
from reference.markdown import code, sentence, table


def pages() -> dict[str, str]:
    """By the name of the task."""
    return {name: _page(name, task.parameters()) for name, task in TASKS.items()}


def _page(name: str, parameters: Parameters) -> str:
    head = (
        f"# Parameters of `{name}`\n\n"
        f"`graspline config {name}` prints these as YAML. Set one with `--set KEY=VALUE`, or several in a file with "
        f"`--config FILE`. See also [the task](../tasks/{name}.md) and [how its episodes end](outcomes.md#{name}).\n"
    )
    return "\n".join([head, *_sections("", parameters)])


def _sections(path: str, parameters: Parameters) -> list[str]:
    """The keys of a section as a table, then the sections in it."""
    fields, allowed = type(parameters).model_fields, allowed_in(type(parameters))
    rows, inner = [], []
    for key, field in fields.items():
        value: Any = getattr(parameters, key)
        full = f"{path}.{key}" if path else key
        if isinstance(value, Parameters):
            inner += [f"## `{full}`\n", sentence(field.description or _about(value)) + "\n", *_sections(full, value)]
        else:
            rows.append((code(full), code(write(value)), _accepted(allowed[key]), sentence(field.description or "")))
    return [*([table(("key", "default", "accepts", "meaning"), rows)] if rows else []), *inner]


def _accepted(allowed: Allowed) -> str:
    kind = "" if allowed.kind in ("number", "choice") else allowed.noun.removeprefix("a ")
    return ", ".join(part for part in (kind, allowed.limits) if part)


def _about(section: Parameters) -> str:
    return inspect.cleandoc(type(section).__doc__ or "").partition("\n\n")[0]
