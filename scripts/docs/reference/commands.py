"""Every command with its options, from the parser itself."""

from __future__ import annotations

import inspect
import re

from graspline.cli.commands import COMMANDS, command_of
from reference.markdown import code, sentence, table

HEAD = """# Command line

`graspline COMMAND --help` prints the same. [Exit codes](exit-codes.md) have a page of their own.
"""


def page() -> str:
    rows = ((f"[`{name}`](#{anchor(name)})", each.summary) for name, each in COMMANDS.items())
    return "\n".join([HEAD, table(("command", "what it does"), rows), *(_command(name) for name in COMMANDS)])


def anchor(name: str) -> str:
    """Where a command is on the page."""
    return name.replace(" ", "-")


def _command(name: str) -> str:
    command = command_of(name)
    context = command.make_context(f"graspline {name}", [], resilient_parsing=True)
    usage = re.sub(r"^\w+: |[{}]", "", " ".join(command.get_usage(context).split()))
    about, _, examples = inspect.cleandoc(command.help or "").partition("\b\n")
    parts = [f"## `{name}` {{ #{anchor(name)} }}\n", about.strip() + "\n", _fenced(usage)]
    records = [each.get_help_record(context) for each in command.params]
    if any(records):
        parts.append(table(("option", "default", "meaning"), (_row(*each) for each in records if each)))
    if examples.strip():
        title, *lines = (line.strip() for line in examples.splitlines() if line.strip())
        parts.append(f"{title}\n\n{_fenced(*lines)}")
    return "\n".join(parts)


def _fenced(*lines: str) -> str:
    return "```sh\n" + "\n".join(lines) + "\n```\n"


def _row(names: str, text: str) -> tuple[str, str, str]:
    """Name with the kind of its value, default, meaning with its range."""
    about, _, notes = text.partition("  [")
    found = [each.strip() for each in notes.removesuffix("]").split(";")] if notes else []
    default = next((each.removeprefix("default: ") for each in found if each.startswith("default: ")), "")
    limits = "".join(f" {_limits(each)}" for each in found if "<" in each or ">" in each)
    required = "required" if "required" in found else ""
    name = code(names.replace("<", "").replace(">", "").replace("{", "").replace("}", ""))
    return name, required or code(default), sentence(about) + limits


def _limits(text: str) -> str:
    """`1<=x<=1000000` in words."""
    numbers = [f"{float(each):,.10g}" for each in re.findall(r"-?[\d.]+(?:e-?\d+)?", text)]
    if len(numbers) == 2:
        return f"From {numbers[0]} to {numbers[1]}."
    return f"At least {numbers[0]}." if ">=" in text else f"At most {numbers[0]}."
