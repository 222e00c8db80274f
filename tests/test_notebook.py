from __future__ import annotations

from xml.etree import ElementTree

from graspline.evidence import EvidenceTable, at_least, at_most
from graspline.notebook import Html, badge, card, folded, table

HOSTILE = "<script>alert('&')</script>"


def test_everything_is_escaped_once() -> None:
    cell = table((HOSTILE,), [(HOSTILE, badge(HOSTILE, "good"))], caption=HOSTILE)
    shown = card(HOSTILE, badge(HOSTILE, "bad"), [HOSTILE], [cell, folded(HOSTILE, HOSTILE)])
    assert "<script" not in shown
    root = ElementTree.fromstring(shown)
    assert "".join(root.itertext()).count(HOSTILE) == 9


def test_markup_is_kept_as_it_is() -> None:
    assert "<b>bold</b>" in card("title", Html(""), [Html("<b>bold</b>")], [])


def test_evidence_is_shown_in_units_that_people_read() -> None:
    shown = EvidenceTable((at_most("slip", 0.0012, 0.004, "m"), at_most("speed", 2.5e-11, 0.01, "m/s")))._repr_html_()
    words = "|".join(ElementTree.fromstring(shown).itertext())
    assert "✓|slip|1.2 mm|at most 4 mm" in words
    assert "✓|speed|< 1 mm/s|at most 10 mm/s" in words
    assert "e-11" not in shown


def test_evidence_that_fails_or_has_no_data_says_so() -> None:
    evidence = EvidenceTable((at_least("pad_force", float("nan"), 0.3, "N"), at_least("raised", 0.06, 0.05, "m")))
    shown = evidence._repr_html_()
    assert "✗" in shown
    assert "pad force" in shown
    assert "no data" in shown
    assert "1 measurement outside the limit" in shown
    assert at_most("slip", 0.1, 0.2, "m")._repr_html_().count("<tr>") == 1
    assert EvidenceTable()._repr_html_() == "no evidence"


def test_evidence_stays_the_tuple_that_it_was() -> None:
    measured = (at_most("slip", 0.1, 0.2, "m"),)
    assert EvidenceTable(measured) == measured
    assert hash(EvidenceTable(measured)) == hash(measured)
    assert repr(EvidenceTable(measured)).startswith("✓ slip")
    assert repr(EvidenceTable()) == "no evidence"
