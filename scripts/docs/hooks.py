"""What MkDocs calls while it builds the site: adds the generated pages, and writes llms.txt."""

from __future__ import annotations

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


def on_post_build(config: MkDocsConfig, **_: Any) -> None:
    llms.write(Path(config.site_dir), config)
