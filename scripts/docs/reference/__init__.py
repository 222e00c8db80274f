"""The reference of the site, made from the code at build time: pages by their path below docs/."""

from __future__ import annotations

from reference import api, columns, commands, exit_codes, faults, http, outcomes, parameters

INDEX = """# Reference

Everything here is generated from the code when the site is built.

| page | what it lists |
|---|---|
| [Python API](api.md) | the public classes and functions, from their docstrings |
| [Command line](commands.md) | every command with its options |
| Parameters | every key of a task: {parameters} |
| [Outcomes](outcomes.md) | how an episode of each task can end |
| [Faults](faults.md) | what can be made to go wrong, and in which tasks |
| [Dataset columns](dataset-columns.md) | one row per frame, one row per episode |
| [HTTP routes](http.md) | what `graspline serve` answers |
| [Exit codes](exit-codes.md) | what a command returns to the shell |
"""


def pages() -> dict[str, str]:
    """Markdown of every generated reference page."""
    tasks = parameters.pages()
    links = ", ".join(f"[{name}](parameters-{name}.md)" for name in tasks)
    return {
        "reference/index.md": INDEX.format(parameters=links),
        "reference/api.md": api.page(),
        "reference/commands.md": commands.page(),
        **{f"reference/parameters-{name}.md": text for name, text in tasks.items()},
        "reference/outcomes.md": outcomes.page(),
        "reference/faults.md": faults.page(),
        "reference/dataset-columns.md": columns.page(),
        "reference/http.md": http.page(),
        "reference/exit-codes.md": exit_codes.page(),
    }
