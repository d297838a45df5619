"""Where a target is found."""

from __future__ import annotations

import unicodedata

import pytest

from skillopt.skill.document import Skill
from skillopt.skill.lines import Span
from skillopt.skill.matching import find_places, is_boundary, normalised_occurrences, overlaps_protected


def found(text: str, target: str) -> list[str]:
    return [text[span.start : span.end] for span in find_places(Skill.parse(text), target).editable]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("use 10 items", "use 1"),
        ("concatenate", "cat"),
        ("### X", "## X"),
        ("**bold**", "*bold*"),
        ("---", "--"),
        ("version 1.5", "version 1"),
        ("version 1.5", "version 1."),
        ("at 12:30", "at 12"),
        ("on 2024-01-05", "on 2024"),
        ("1,000 items", "000 items"),
        ("I can't", "I can"),
        ("read notes.md", "read notes"),
        ("max_tokens", "max"),
        ("cafe\u0301", "cafe"),
        ("caf\u00e9", "cafe"),
        ("\uac01", "\uac00"),
        ("\u304c", "\u304b"),
        ("Use it", "use it"),
    ],
)
def test_a_part_of_a_word_number_or_mark_is_not_found(text: str, target: str) -> None:
    assert found(text, target) == []


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("use 1, then 2", "use 1"),
        ("the (cat) sat", "cat"),
        ("say 'no'.", "no"),
        ("# X\n", "# X"),
        ("in 1.", "in 1."),
        ("你必须使用中文回答", "使用中文"),
        ("東京へ行く", "東京"),
        ("価格は5円", "5"),
    ],
)
def test_a_whole_word_is_found_in_any_script(text: str, target: str) -> None:
    assert found(text, target) == [target]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("be\r\nbrief", "be\nbrief"),
        ("be\n  brief", "be brief"),
        ("be\u00a0brief", "be  brief"),
        ("caf\u00e9 au lait", "cafe\u0301 au lait"),
        ("a\u0323\u0307 b", "a\u0307\u0323 b"),
        ("\ud55c\uae00", unicodedata.normalize("NFD", "\ud55c\uae00")),
        ("don\u2019t say \u201cno\u201d", 'don\'t say "no"'),
        ("pages 3\u20134", "pages 3-4"),
        ("- be brief", "\n\n- be brief \n\n"),
        ("   - be brief", "- be   brief"),
    ],
)
def test_line_ends_unicode_forms_quotes_dashes_and_white_space_do_not_matter(text: str, target: str) -> None:
    assert found(text, target) == [text.strip()]


def test_an_exact_place_is_preferred_to_one_in_other_white_space() -> None:
    assert find_places(Skill.parse("be  brief\nbe brief\n"), "be brief").editable == (Span(10, 18),)


def test_every_place_counts_overlapping_ones_too() -> None:
    """F58: a target that stands in several places is never "the first one"."""
    assert found("no no no", "no no") == ["no no", "no no"]


def test_places_that_touch_something_protected_are_kept_apart() -> None:
    """F61, F63: whatever the span, a place that touches front matter or a protected section is not editable."""
    text = "---\nname: s\n---\nrule\n<!-- SLOW_UPDATE_START -->\nrule\n<!-- SLOW_UPDATE_END -->\nlast\n"
    skill = Skill.parse(text)
    places = find_places(skill, "rule")
    assert [text[span.start - 1] for span in (*places.editable, *places.refused)] == ["\n", "\n"]
    assert len(places.editable) == len(places.refused) == 1
    straddling = ("---\nrule", "rule\n<!-- SLOW_UPDATE_START", "rule\n<!-- SLOW_UPDATE_END -->\nlast", "--> last")
    for target in (text.strip(), "name: s", *straddling):
        places = find_places(skill, target)
        assert (len(places.editable), len(places.refused)) == (0, 1), target


def test_a_span_next_to_a_protected_section_does_not_overlap_it() -> None:
    skill = Skill.parse("a<!-- APPENDIX_START --><!-- APPENDIX_END -->b")
    section = skill.sections[0].span
    assert not overlaps_protected(skill, Span(0, section.start))
    assert not overlaps_protected(skill, Span(section.end, section.end + 1))
    assert overlaps_protected(skill, Span(0, section.start + 1))


def test_the_ends_of_a_text_are_boundaries() -> None:
    assert is_boundary("a", 0)
    assert is_boundary("a", 1)
    assert list(normalised_occurrences("a", " \n")) == []


@pytest.mark.parametrize("unit", ["a", "-", " ", "a ", "e\u0301\u0323", "\u0301"])
def test_a_hostile_repetition_is_searched_without_a_square_of_its_length(unit: str) -> None:
    text = (unit * 30_000)[:30_000]
    assert found(text, text[:15_000] + "zz") == []
    assert len(found(text, text[:15_000])) <= 7_501
