"""Code blocks of README and of the site's pages, and how they are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]

# What a block may take at most; far more than any needs, also on a machine with eight times too much to do.
_PATIENCE_S = 3600
# A program that begins with its own file name is saved under it, for later blocks.
_FILE_NAME = re.compile(r"# (\w+\.py)\n")


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
        """The name it is saved under; empty for a block that is run."""
        match = _FILE_NAME.match(self.text)
        return match[1] if match and self.language == "python" else ""

    @property
    def is_quotation(self) -> bool:
        """Python that imports nothing quotes our source; another test looks it up there."""
        return self.language == "python" and not re.search(r"^(import|from|#) ", self.text, re.MULTILINE)

    @property
    def is_run(self) -> bool:
        return self.language in ("bash", "python") and not self.is_quotation

    def commands(self) -> list[str]:
        """Its lines that call graspline, continued ones joined, remarks beside them left out."""
        joined = re.sub(r"\s*\\\n\s*", " ", self.text)
        return [re.split(r"\s{2,}|\s+#", line.strip())[0] for line in joined.splitlines() if _calls_us(line)]


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


def run(block: Block, folder: Path) -> str:
    """Run a block as printed; returns what went wrong, empty if nothing did."""
    if block.file_name:
        (folder / block.file_name).write_text(block.text)
        return ""
    # The commands of this environment are found first, as after `source .venv/bin/activate`.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    call = ["bash", "-euo", "pipefail", "-c"] if block.language == "bash" else [sys.executable, "-c"]
    done = subprocess.run(
        [*call, block.text],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    return "" if done.returncode == 0 else f"{block}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
