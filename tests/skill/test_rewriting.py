"""A rewrite changes the body and nothing else, whatever the optimizer did with the rest."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skillopt.errors import SkillError
from skillopt.skill.document import PROTECTED_SECTIONS, Skill
from skillopt.skill.edits import protected_parts
from skillopt.skill.rewriting import apply_rewrite, line_changes
from skillopt.types import EditState, Rewrite

FRONT = "---\nname: s\ndescription: keep me\n---\n"
GUIDANCE = "<!-- SLOW_UPDATE_START -->\nCheck  units. \n<!-- SLOW_UPDATE_END -->"
NOTES = "<!-- APPENDIX_START -->\n- a note\n<!-- APPENDIX_END -->"
SKILL = f"{FRONT}\n# Skill\n\n- Be brief.\n\n{GUIDANCE}\n"
ROOM = 8000


def rewritten(text: str, skill: str = SKILL, *, room: int = ROOM) -> tuple[str, EditState, str]:
    candidate, outcome = apply_rewrite(Skill(skill), Rewrite(text, ("said",)), max_tokens=room)
    assert (candidate.text == skill) == (outcome.state is not EditState.APPLIED)
    return candidate.text, outcome.state, outcome.detail


NEW = f"{FRONT}\n# Skill\n\n- Name the unit.\n\n{GUIDANCE}\n"


@pytest.mark.parametrize(
    "text",
    [
        "# Skill\n\n- Name the unit.\n",
        "\n\n# Skill\n\n- Name the unit.  \n\n\n",
        "# Skill\r\n\r\n- Name the unit.\r\n",
        NEW,
        NEW.replace("keep me", "another").replace("Check  units. ", "Hacked."),
        f"\n---\nname: other\n---\n\n# Skill\n\n- Name the unit.\n\n{GUIDANCE.replace('units', 'all')}\n\n{NOTES}\n",
    ],
    ids=["body alone", "blank lines", "line ends", "copied whole", "altered", "sections of its own"],
)
def test_front_matter_and_sections_survive_byte_for_byte(text: str) -> None:
    """F61, F63, F64."""
    assert rewritten(text) == (NEW, EditState.APPLIED, "")


def test_a_section_stands_where_the_rewrite_has_it() -> None:
    skill = f"# A\n\n{NOTES}\n\n# B\n\n{GUIDANCE}\n"
    text, _, _ = rewritten(f"# New\n\n{NOTES}\n\nmore", skill)
    assert text == f"# New\n\n{NOTES}\n\nmore\n\n{GUIDANCE}\n"


@pytest.mark.parametrize(
    ("text", "state", "told"),
    [
        ("", EditState.INVALID, "the rewrite is empty"),
        (" \n\t\n", EditState.INVALID, "the rewrite is empty"),
        (f"{FRONT}\n{GUIDANCE}\n", EditState.INVALID, "the rewrite is empty"),
        ("# Skill\n\0", EditState.INVALID, "line 2: it holds a NUL character"),
        ("# Skill \ud800", EditState.INVALID, "surrogate"),
        ("# Skill\n<!-- SLOW_UPDATE_START -->\nx", EditState.PROTECTED, "is never closed"),
        (f"# Skill\n{GUIDANCE}\n{GUIDANCE}", EditState.PROTECTED, "opens a second"),
        ("# Skill\n\n- Be brief.", EditState.DUPLICATE, "it changes nothing"),
        (SKILL, EditState.DUPLICATE, "it changes nothing"),
        ("# Skill  \n\n\n\n- Be brief.\n", EditState.DUPLICATE, "it changes nothing"),
        ("word " * 300, EditState.OVER_BUDGET, "the limit is 200"),
    ],
)
def test_what_cannot_be_used_leaves_the_skill_as_it_is(text: str, state: EditState, told: str) -> None:
    """F51, F117, F20: the same checks as for edits."""
    found = rewritten(text, room=200)
    assert found[1] is state
    assert told in found[2]


def test_a_skill_without_front_matter_gains_none() -> None:
    """What reads a skill would take it for the skill's name and description."""
    assert rewritten(f"{FRONT}\n# New\n", "# Old\n")[0] == "# New\n"
    assert rewritten(f"{FRONT}{FRONT}# New\n", "# Old\n")[1] is EditState.PROTECTED


def test_an_empty_skill_can_be_written_and_a_missing_last_line_end_stays_missing() -> None:
    assert rewritten("# New", "")[0] == "# New\n"
    assert rewritten("# New\n", "# Old")[0] == "# New"
    assert rewritten("# New\n", FRONT.rstrip())[0].startswith(f"{FRONT}# New")


def test_a_skill_above_its_limit_may_be_made_smaller() -> None:
    assert rewritten("word " * 150, "word " * 300, room=100)[1] is EditState.APPLIED
    assert rewritten("word " * 299 + "other", "word " * 300, room=100)[1] is EditState.APPLIED
    assert rewritten("word " * 301, "word " * 300, room=100)[1] is EditState.OVER_BUDGET


def test_a_rewrite_without_a_summary_gets_the_lines_that_differ() -> None:
    skill, outcome = apply_rewrite(Skill("# A\n- old\n"), Rewrite("# A\n- new\n"), max_tokens=ROOM)
    assert (skill.text, outcome.rewrite.change_summary) == ("# A\n- new\n", ("added: - new", "removed: - old"))
    many = line_changes("", "\n".join("x" * 999 + str(number) for number in range(14)))
    assert (len(many), many[-1]) == (11, "and 4 more lines")
    assert max(map(len, many)) == 200


PIECES = [FRONT, GUIDANCE, NOTES, "# H", "- a rule", "```\ncode\n```", "---", "", "\ufeff", "<!-- APPENDIX_END -->"]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=9), max_size=7).map("\n".join)


@given(TEXTS, TEXTS)
@example("\ufeff", "---\n---\nx")
@example("---\nname: s\n---", "# New")
def test_no_rewrite_changes_what_is_protected(before: str, text: str) -> None:
    """F61, F63: a law over all documents and replies."""
    try:
        skill = Skill(before)
    except SkillError:
        return
    candidate, outcome = apply_rewrite(skill, Rewrite(text), max_tokens=ROOM)
    assert sorted(protected_parts(candidate)) == sorted(protected_parts(skill))
    assert {section.name for section in candidate.sections} == {section.name for section in skill.sections}
    assert (outcome.state is EditState.APPLIED) == (candidate.text != skill.text)
    again, second = apply_rewrite(candidate, Rewrite(text), max_tokens=ROOM)
    if outcome.state is EditState.APPLIED:
        assert (again.text, second.state) == (candidate.text, EditState.DUPLICATE)


def test_every_kind_of_section_is_meant() -> None:
    assert set(PROTECTED_SECTIONS) == {"SLOW_UPDATE", "APPENDIX"}
