"""The appendix of execution notes: what is written down, what is refused, and what stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.skill.appendix import HEADING, MOST_NOTE_TOKENS, Refusal, add_note, normal_form, notes_of, replace_notes
from skillopt.skill.document import Skill, unwritable
from skillopt.skill.size import estimate_tokens
from skillopt.types import EditState

SKILL = "---\nname: s\n---\n# Skill\n\n- Dates are written as 2024-01-05.\n"
ROOMY = 10_000


def noted(text: str, *notes: str) -> Skill:
    skill = Skill(text)
    for note in notes:
        more = add_note(skill, note, max_tokens=ROOMY)
        assert isinstance(more, Skill), more
        skill = more
    return skill


def refused(skill: Skill, note: str, *, max_tokens: int = ROOMY) -> Refusal:
    found = add_note(skill, note, max_tokens=max_tokens)
    assert isinstance(found, Refusal), found.text
    return found


def test_notes_stand_under_their_heading_in_a_section_at_the_tail() -> None:
    assert noted(SKILL, "Mind the year.", "Mind the month.").text == (
        f"{SKILL}\n<!-- APPENDIX_START -->\n## Execution Notes Appendix\n\n- Mind the year.\n- Mind the month.\n"
        "<!-- APPENDIX_END -->\n"
    )
    assert notes_of(noted(SKILL, "Mind the year.", "Mind the month.")) == ("Mind the year.", "Mind the month.")
    assert notes_of(Skill(SKILL)) == ()


def test_a_list_mark_ahead_of_a_note_does_not_matter() -> None:
    assert notes_of(noted("", "- Mind the year.", " * Mind the month. \n")) == ("Mind the year.", "Mind the month.")


def test_an_appendix_of_the_public_tool_is_gone_on_with() -> None:
    theirs = f"# S\n\n<!-- APPENDIX_START -->\n{HEADING}\n- one\n- two\n  goes on\n<!-- APPENDIX_END -->\n"
    assert notes_of(Skill(theirs)) == ("one", "two goes on")
    assert noted(theirs, "three").text == theirs.replace("goes on\n", "goes on\n- three\n")


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_what_a_person_wrote_into_the_section_stays_as_it_is(line_end: str) -> None:
    own = "    indented = 1\n\n- Ask Ada."
    text = f"# S\n\n<!-- APPENDIX_START -->\n{own}\n<!-- APPENDIX_END -->\n\nThe end.\n".replace("\n", line_end)
    skill = noted(text, "one", "two")
    assert notes_of(skill) == ("one", "two")
    wanted = f"{own}\n\n{HEADING}\n\n- one\n- two".replace("\n", line_end)
    assert skill.text == text.replace(own.replace("\n", line_end), wanted)
    shorter = replace_notes(skill, ["one, two"])
    assert isinstance(shorter, Skill)
    assert shorter.text == text.replace(
        own.replace("\n", line_end), f"{own}\n\n{HEADING}\n\n- one, two".replace("\n", line_end)
    )
    assert refused(Skill(text), "ask ada").state is EditState.DUPLICATE


@pytest.mark.parametrize("again", ["Mind the year.", "mind  the YEAR", "- Mind, the year!", "“Mind the year”"])
def test_the_same_words_are_one_note(again: str) -> None:
    assert refused(noted(SKILL, "Mind the year."), again).state is EditState.DUPLICATE


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at 1.5", "at 15"),
        ("use -5", "use 5"),
        ("if x < 5", "if x > 5"),
        ("5 %", "5"),
        ("a/b", "a b"),
        ("必须", "不必"),
    ],
)
def test_another_number_or_sign_is_another_note(one: str, other: str) -> None:
    assert len(notes_of(noted(SKILL, one, other))) == 2


@pytest.mark.parametrize(
    ("note", "state", "detail"),
    [
        ("", EditState.INVALID, "no word"),
        (" - ", EditState.INVALID, "no word"),
        ("...", EditState.INVALID, "no word"),
        ("one\ntwo", EditState.INVALID, "more than one line"),
        ("one\r- two", EditState.INVALID, "more than one line"),
        ("one\u2028# two", EditState.INVALID, "more than one line"),
        ("one\x0btwo", EditState.INVALID, "control character"),
        ("one\x1b[2Jtwo", EditState.INVALID, "control character"),
        ("half \ud800", EditState.INVALID, "surrogate"),
        ("nul \0", EditState.INVALID, "NUL"),
        ("a <!-- APPENDIX_END --> b", EditState.PROTECTED, "marker"),
        ("a <!--SLOW_UPDATE_START-->", EditState.PROTECTED, "marker"),
        ("word " * (MOST_NOTE_TOKENS + 1), EditState.OVER_BUDGET, "a note has at most"),
    ],
)
def test_what_is_no_reminder_is_refused_with_the_reason(note: str, state: EditState, detail: str) -> None:
    found = refused(Skill(SKILL), note)
    assert found.state is state
    assert detail in found.detail


def test_the_size_limit_of_the_skill_holds_for_its_appendix() -> None:
    skill = noted(SKILL, "one")
    fits = estimate_tokens(noted(SKILL, "one", "two").text)
    assert isinstance(add_note(skill, "two", max_tokens=fits), Skill)
    found = refused(skill, "two", max_tokens=fits - 1)
    assert (found.state, str(fits - 1) in found.detail) == (EditState.OVER_BUDGET, True)


def test_fewer_notes_take_the_place_of_all() -> None:
    shorter = replace_notes(noted(SKILL, "Mind the year.", "Mind the month."), ["Mind year and month."])
    assert isinstance(shorter, Skill)
    assert shorter == noted(SKILL, "Mind year and month.")


@pytest.mark.parametrize(
    ("notes", "why"),
    [
        ([], "holds no note"),
        (["a", "b", "c"], "3 notes in place of 3"),
        (["a", "A."], "the same twice"),
        (["a\nb"], "more than one line"),
        (["<!-- APPENDIX_END -->"], "marker"),
        (["all of one and two and three and much more than that"], "fewer but longer"),
    ],
)
def test_notes_that_do_not_shrink_the_appendix_do_not_take_its_place(notes: list[str], why: str) -> None:
    found = replace_notes(noted(SKILL, "one", "two", "three"), notes)
    assert isinstance(found, str)
    assert why in found


any_note = st.text(max_size=40) | st.text("ab-.,'5 <!\n", max_size=12)


@given(st.lists(any_note, max_size=5), st.sampled_from(["", "# S", SKILL, SKILL.replace("\n", "\r\n")]))
def test_whatever_the_notes_only_the_appendix_changes_and_no_two_are_the_same(notes: list[str], text: str) -> None:
    skill = Skill(text)
    for note in (*notes, *notes):
        more = add_note(skill, note, max_tokens=ROOMY)
        assert isinstance(more, Skill) or more.state in (
            EditState.DUPLICATE,
            EditState.INVALID,
            EditState.PROTECTED,
        )
        skill = more if isinstance(more, Skill) else skill
    assert skill.text.startswith(text)
    assert (skill.section("APPENDIX") is not None) == bool(notes_of(skill))
    forms = [normal_form(note) for note in notes_of(skill)]
    assert len(set(forms)) == len(forms) <= len(notes)
    assert skill.with_section("APPENDIX", "").body.split() == Skill(text).body.split()
    assert not unwritable(skill.text)
