"""HTML in which objects show themselves in a notebook. All text is escaped; colours suit light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Literal

Mood = Literal["good", "bad", "plain"]

# White on these is readable, on a white page and on a black one.
_MOODS: dict[Mood, str] = {"good": "#1a7f37", "bad": "#b3261e", "plain": "#5b6675"}
_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = f"padding:2px 12px 2px 0;text-align:left;vertical-align:top;border-bottom:{_LINE}"


class Html(str):
    """Text that is markup already, and is not escaped again."""

    __slots__ = ()


def text(words: str | Html) -> Html:
    """The words as markup."""
    return words if isinstance(words, Html) else Html(escape(words))


def badge(words: str, mood: Mood) -> Html:
    """A few words on a coloured ground."""
    style = f"background:{_MOODS[mood]};color:#fff;border-radius:4px;padding:1px 7px;font-weight:600"
    return Html(f"<span style='{style}'>{escape(words)}</span>")


def table(head: Sequence[str], rows: Iterable[Sequence[str | Html]], *, caption: str = "") -> Html:
    """A table with a row of headings; the caption is a line below it."""
    top = "".join(f"<th style='{_CELL};font-weight:600'>{escape(each)}</th>" for each in head)
    body = "".join("<tr>" + "".join(f"<td style='{_CELL}'>{text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    below = f"<div style='opacity:.75'>{escape(caption)}</div>" if caption else ""
    return Html(
        "<table style='border-collapse:collapse;margin:4px 0;background:none'>"
        f"<thead><tr style='background:none'>{top}</tr></thead><tbody>{body}</tbody></table>{below}"
    )


def folded(title: str, content: str | Html) -> Html:
    """Content that is hidden until its title is clicked."""
    return Html(
        f"<details style='margin-top:4px'><summary style='cursor:pointer'>{escape(title)}</summary>"
        f"{text(content)}</details>"
    )


def card(title: str, mark: Html, lines: Iterable[str | Html], parts: Iterable[Html]) -> Html:
    """A frame: a title with a mark before it, lines of text, and parts below them."""
    head = f"{mark} <b>{escape(title)}</b>" if mark else f"<b>{escape(title)}</b>"
    body = "".join(f"<div style='margin-top:3px'>{text(each)}</div>" for each in lines)
    style = f"border:{_LINE};border-radius:8px;padding:10px 14px;max-width:52rem;overflow-x:auto;line-height:1.45"
    return Html(f"<div style='{style}'><div>{head}</div>{body}{''.join(parts)}</div>")
