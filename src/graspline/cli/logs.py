"""What the library warns of while a command works, such as a long search for a scene, as lines on standard error."""

from __future__ import annotations

import logging
import sys

# Back to the line's start, and clear it: there may be a progress bar.
_CLEAR = "\r\x1b[2K"


class _StandardErrorHandler(logging.Handler):
    """Writes to whatever standard error is at the time."""

    def emit(self, record: logging.LogRecord) -> None:
        clear = _CLEAR if sys.stderr.isatty() else ""
        print(f"{clear}graspline: {record.getMessage()}", file=sys.stderr, flush=True)


def show_warnings() -> None:
    """Show warnings from now on in this process; called again it changes nothing."""
    logger = logging.getLogger("graspline")
    if not logger.handlers:
        logger.addHandler(_StandardErrorHandler(logging.WARNING))
