"""What is built for a package index: complete, valid, and with pictures that show there."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata

ROOT = Path(__file__).parents[1]
REPOSITORY = "https://github.com/graspline/graspline"


def build(kind: str, folder: Path) -> Path:
    words = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(folder)]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return zipfile.ZipFile(build("wheel", tmp_path_factory.mktemp("wheel")))


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Metadata:
    (name,) = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
    return Metadata.from_email(wheel.read(name), validate=True)


def test_pictures_and_links_of_the_readme_lead_somewhere_from_a_package_index(metadata: Metadata) -> None:
    readme, shown = (ROOT / "README.md").read_text(encoding="utf-8"), metadata.description or ""
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", readme) + re.findall(r'<img[^>]* src="([^"]+)"', readme)
    assert pictures
    for each in pictures:
        if not each.startswith("https:"):
            assert (ROOT / each).is_file()
            assert f"https://raw.githubusercontent.com/graspline/graspline/main/{each}" in shown
    targets = re.findall(r"\]\(([^)]+)\)", shown) + re.findall(r'(?:src|srcset|href)="([^"]+)"', shown)
    assert len(targets) >= len(pictures)
    assert [each for each in targets if not each.startswith(("https:", "#"))] == []


def test_the_metadata_says_what_it_is_and_where_to_go(metadata: Metadata) -> None:
    assert metadata.summary is not None
    assert "LeRobot datasets" in metadata.summary
    assert metadata.description_content_type == "text/markdown"
    urls = metadata.project_urls or {}
    assert set(urls) == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert all(each.startswith(REPOSITORY) for each in urls.values())
    classifiers = metadata.classifiers or []
    assert {"Typing :: Typed", "Operating System :: POSIX :: Linux"} <= set(classifiers)
    assert [each for each in classifiers if re.search(r":: 3\.\d+$", each)] == [
        f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)
    ]


def test_the_wheel_holds_the_whole_package_its_types_and_its_examples(wheel: zipfile.ZipFile) -> None:
    held = set(wheel.namelist())
    source = ROOT / "src"
    files = [path for path in (source / "graspline").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {path.relative_to(source).as_posix() for path in files} <= held
    assert {"graspline/py.typed", "graspline/examples/hold_still.py"} <= held


def test_the_source_archive_is_enough_to_build_from_and_holds_no_pictures(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/graspline/py.typed"} <= names
    assert not [name for name in names if name.startswith(("docs/", "tests/", "benchmarks/"))]


def steps_of(target: str, folder: Path) -> str:
    """What `make` would do for a target where nothing is installed."""
    words = ["make", "--dry-run", target, f"VENV={folder}"]
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_a_demo_installs_no_developers_tools_and_tests_add_them(tmp_path: Path) -> None:
    demo, test = (steps_of(target, tmp_path / "none") for target in ("demo", "test"))
    assert "install --editable ." in demo
    assert "--group dev" not in demo
    assert test.index("install --editable .") < test.index("--group dev") < test.index("-m pytest")
