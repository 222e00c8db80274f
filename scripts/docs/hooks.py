"""What MkDocs calls while it builds the site: adds the generated pages, and writes llms.txt."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "src")]

import llms  # noqa: E402
import outside  # noqa: E402
import reference  # noqa: E402

# Repository files that are pages of the site, by where they are in it.
COPIED = {
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "results/benchmarks.md",
    "benchmarks/gpu.md": "results/gpu.md",
    "benchmarks/films.md": "results/films.md",
    "benchmarks/policies.md": "results/policies.md",
    "benchmarks/parameter_sweep.md": "results/parameter_sweep.md",
}
# Browsers break lines after hyphens. Options such as `--episodes` and dates stay in one piece; a long name such as
# `goal.speed_m_s` may be broken after a dot or an underscore, which narrow tables need.
INLINE_CODE = re.compile(r"<code>[^<]*</code>")
OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*")
JOINT = re.compile(r"(?<=[a-z])([._=/])(?=\w)")
DATE_IN_TABLE = re.compile(r"(<td[^>]*>)(\d{4}-\d\d-\d\d)")
ONE_PIECE = '<span class="one-piece">{}</span>'
TASK_LINKS = """

---

**Reference:** [parameters of `{name}`](../reference/parameters-{name}.md) ·
[outcomes](../reference/outcomes.md#{name}) · [faults](../reference/faults.md)
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is generated, and what is elsewhere in the repository."""
    pages = {**reference.pages(), **{to: (ROOT / name).read_text() for name, to in COPIED.items()}}
    for uri, text in pages.items():
        files.append(File.generated(config, uri, content=text))
    for name in outside.linked(ROOT, COPIED):
        files.append(File.generated(config, outside.SOURCE + name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to files outside docs/ lead to their copies; every task links to its reference."""
    origin = {to: name for name, to in COPIED.items()}.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    text = outside.redirected(markdown, origin, page.file.src_uri, COPIED)
    folder, _, name = page.file.src_uri.partition("/")
    if folder == "tasks":
        text += TASK_LINKS.format(name=name.removesuffix(".md"))
    llms.keep(page, text)
    return text


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Lines are broken where it does not hurt. This comes last, so that search has the words in one piece."""
    text = INLINE_CODE.sub(_breakable, output)
    return DATE_IN_TABLE.sub(lambda cell: cell[1] + ONE_PIECE.format(cell[2]), text)


def _breakable(code: re.Match[str]) -> str:
    text = JOINT.sub(r"\1<wbr>", code[0].removeprefix("<code>").removesuffix("</code>"))
    return f"<code>{OPTION.sub(lambda word: ONE_PIECE.format(word[0]), text)}</code>"


def on_post_build(config: MkDocsConfig, **_: Any) -> None:
    llms.write(Path(config.site_dir), config)
