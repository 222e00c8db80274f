"""Code blocks of README and of the site's pages, and how they are run."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]
# Languages of blocks that are run, of commands and programs that are not, and of output and files.
RUN, NOT_RUN, SHOWN = ("bash", "python"), ("", "sh", "py"), ("text", "json", "yaml", "toml")

# What a page may take at most; far more than any needs, also on a machine with eight times too much to do.
_PATIENCE_S = 3600
# A program or file that begins with its own name is saved under it, for later blocks.
_FILE_NAME = re.compile(r"# ([\w.]+\.(?:py|yaml))\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block: the page it is on, the line it begins on, its language and its text."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def file_name(self) -> str:
        """The name it is saved under; empty for a block that is not a file."""
        match = _FILE_NAME.match(self.text)
        return match[1] if match and self.language in ("python", "yaml") else ""

    @property
    def is_quotation(self) -> bool:
        """Python that imports nothing quotes our source; another test looks it up there."""
        return self.language == "python" and not re.search(r"^(import|from|#) ", self.text, re.MULTILINE)

    @property
    def is_run(self) -> bool:
        return self.language in RUN and not self.is_quotation

    @property
    def is_server(self) -> bool:
        """It starts a server and nothing else, and would run until it is stopped."""
        lines = [line for line in self.text.splitlines() if not line.startswith("#")]
        return self.language in NOT_RUN and all(line.startswith("graspline serve ") for line in lines)

    @property
    def first_line(self) -> str:
        """Its first line that is not a comment: the name of a block that is not run."""
        return next(line for line in self.text.splitlines() if line and not line.startswith("#"))

    def commands(self) -> list[str]:
        """Its lines that call graspline, continued ones joined, comments and redirections beside them left out."""
        joined = re.sub(r"\s*\\\n\s*", " ", self.text)
        return [re.split(r"\s{2,}|\s+[#>&|]", line.strip())[0] for line in joined.splitlines() if _calls_us(line)]


def _calls_us(line: str) -> bool:
    return line.strip().startswith("graspline ")


def blocks_of(page: str) -> list[Block]:
    """Every fenced block of a page, also those in lists and tabs."""
    return list(_blocks(page, (ROOT / page).read_text().splitlines()))


def _blocks(page: str, lines: list[str]) -> Iterator[Block]:
    opened: tuple[int, str, str] | None = None
    inside: list[str] = []
    for number, line in enumerate(lines, start=1):
        fence = re.match(r"( *)```(\w*)", line)
        if opened is None and fence:
            opened, inside = (number, fence[1], fence[2]), []
        elif opened is not None and line.strip() == "```":
            begin, indent, language = opened
            text = "\n".join(each.removeprefix(indent) for each in inside) + "\n"
            yield Block(page=page, line=begin, language=language, text=text)
            opened = None
        else:
            inside.append(line)
    assert opened is None, f"{page}: the block of line {opened[0]} has no end"


def without(block: Block, commands: Collection[str]) -> Block:
    """The block without the lines that are one of these commands."""
    kept = [line for line in block.text.splitlines() if line not in commands]
    return dataclasses.replace(block, text="\n".join(kept) + "\n")


def run_page(page: str, folder: Path, left_out: Collection[str] = (), found: Mapping[str, str] | None = None) -> str:
    """Run the blocks of a page as printed, in order and in one shell; returns what it printed.

    Lines that are `left_out` are not run. `found` are variables of the environment that make more packages importable.
    Fails with the output of the first block whose exit code is not 0. Programs that a block left running are ended.
    """
    output = folder / "output.txt"
    work = folder / "work"
    work.mkdir()
    blocks = [without(block, left_out) for block in blocks_of(page) if block.is_run or block.file_name]
    script = "\n".join(map(_as_shell, blocks))
    # The commands of this environment are found first, as after `source .venv/bin/activate`.
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment |= found or {}
    with output.open("w") as stream:
        shell = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = shell.wait(_PATIENCE_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
    printed = output.read_text()
    assert code == 0, f"exit code {code} of block {printed.rpartition(_MARK)[2]}"
    return printed


# Printed before each block, so that a failure names it.
_MARK = "--- "


def _as_shell(block: Block) -> str:
    """A block as part of its page's shell script."""
    begin = f"echo '{_MARK}{block}'\n"
    if block.language == "bash":
        return begin + block.text
    command = f"cat > {block.file_name}" if block.file_name else "python -"
    return f"{begin}{command} <<'END_OF_BLOCK'\n{block.text}END_OF_BLOCK\n"
