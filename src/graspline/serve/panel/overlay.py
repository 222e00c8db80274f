"""What the page has besides viser: Stop, which works even when nothing else does, the cameras' pictures, and keys."""

from __future__ import annotations

from importlib import resources

_END = b"</body>"
_PARTS = ("overlay.html", "drive.html")


def with_overlay(page: bytes) -> bytes:
    """viser's page with ours over it."""
    if _END not in page:
        raise ValueError("a page without an end cannot be added to")
    folder = resources.files("graspline.serve.panel")
    overlay = b"".join(folder.joinpath(name).read_bytes() for name in _PARTS)
    return page.replace(_END, overlay + _END, 1)
