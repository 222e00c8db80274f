"""How wide text is in a picture that is made without its font, and where its lines break."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graspline.machine.chart import Word

# Widths in units of the font size, those of DejaVu Sans, the widest of the usual fonts: what fits in it fits in all.
_WIDTHS_EM = {
    **dict.fromkeys("ijl.,:;'|!", 0.34),
    **dict.fromkeys("ftr()- ", 0.42),
    **dict.fromkeys("abcdeghknopqsuvxyz_0123456789", 0.64),
    "m": 0.98,
    "w": 0.82,
}
_OTHER_EM = 0.78
# Stands between outcomes of one line.
COMMA = ", "


def text_width(words: str, size_px: float) -> float:
    """An upper bound for how wide the words are."""
    return size_px * sum(_WIDTHS_EM.get(each, _OTHER_EM) for each in words)


def wrapped(words: str, size_px: float, width: float) -> list[str]:
    """The words in lines of at most this width, broken at spaces."""
    lines: list[str] = []
    for each in words.split():
        if lines and text_width(f"{lines[-1]} {each}", size_px) <= width:
            lines[-1] += f" {each}"
        else:
            lines.append(each)
    return lines


def wrapped_words(words: Sequence[Word], size_px: float, width: float) -> list[tuple[Word, ...]]:
    """The same for outcomes, which are only broken behind a colon."""
    lines: list[tuple[Word, ...]] = []
    for each in (part for word in words for part in _parts(word, size_px, width)):
        fits = lines and line_width((*lines[-1], each), size_px) <= width
        if fits and not each.text.endswith(":") and not lines[-1][-1].text.endswith(":"):
            lines[-1] = (*lines[-1], each)
        else:
            lines.append((each,))
    return lines


def _parts(word: Word, size_px: float, width: float) -> list[Word]:
    before, colon, behind = word.text.partition(": ")
    if not colon or text_width(f"{word.text},", size_px) <= width:
        return [word]
    return [replace(word, text=f"{before}:"), replace(word, text=behind)]


def line_width(words: Sequence[Word], size_px: float) -> float:
    """How wide outcomes are with commas between them, and one behind them."""
    return text_width(COMMA.join(each.text for each in words) + ",", size_px)
