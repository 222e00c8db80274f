"""What the page has besides viser: Stop, which works even when nothing else does, and the cameras' pictures."""

from __future__ import annotations

from importlib import resources

_END = b"</body>"


def with_overlay(page: bytes) -> bytes:
    """viser's page with ours over it."""
    if _END not in page:
        raise ValueError("a page without an end cannot be added to")
    overlay = resources.files("graspline.panel").joinpath("overlay.html").read_bytes()
    return page.replace(_END, overlay + _END, 1)
