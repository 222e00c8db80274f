"""Pictures of the documents: each can be made again, each is used, and none is missing."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType

import pytest

from .blocks import PAGES, ROOT

IMAGES = ROOT / "docs" / "images"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "scripts" / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_picture_can_be_made_again(script: ModuleType) -> None:
    there = {path.name for path in IMAGES.iterdir()}
    assert there == set(script.PICTURES) | script.BY_HAND


def test_every_picture_is_on_a_page() -> None:
    texts = "".join((ROOT / page).read_text() for page in PAGES) + (ROOT / "mkdocs.yml").read_text()
    used = set(re.findall(r"images/([\w.-]+)", texts))
    assert {path.name for path in IMAGES.iterdir()} <= used
