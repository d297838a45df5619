"""Laws of the skill document that hold for any text and any edits."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import SkillError
from skillopt.skill.document import PROTECTED_SECTIONS, Skill, holds_marker
from skillopt.skill.edits import apply_edits, nearest_lines
from skillopt.skill.matching import find_places
from skillopt.skill.size import estimate_tokens
from skillopt.types import Edit, EditOperation, EditState

ADDITIONS = (EditOperation.APPEND, EditOperation.INSERT_AFTER, EditOperation.INSERT_BEFORE)

any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)
line_ends = st.sampled_from(["\n", "\r\n", "\r"])
# Few and similar pieces, so that targets are found once, twice, in part, in another form, and across sections.
PIECES = (
    *("", "# A", "## A", "- r1", "- r10", "- rule  two", "  - r1", "1. x", "---", "name: s", "```", "\t", "\ufeff"),
    *("caf\u00e9", "cafe\u0301", "say \u201cno\u201d", 'say "no"', "use 1.5", "必须简短", "guide", "<!--", "-->", "x "),
)
FRONTS = ("", "", "---\nname: s\n---\n", "\ufeff---\n- r1\n---\n", "\ufeff")
SECTIONS = tuple(f"<!-- {name}_START -->\nguide\n- r1\n<!-- {name}_END -->" for name in PROTECTED_SECTIONS)
CONTENTS = (
    "new",
    "- new\n- r1",
    "\n## New\n\n- a\n\n",
    "  - sub",
    "SLOW_UPDATE_START",
    SECTIONS[0],
    "---\nname: t\n---",
)


@st.composite
def skill_texts(draw: st.DrawFn) -> str:
    """Documents with and without front matter, sections, a last line end, and with one kind of line end or two."""
    blocks = draw(st.lists(st.sampled_from(PIECES), max_size=7))
    for section in draw(st.sets(st.sampled_from(SECTIONS)).map(sorted)):
        blocks.insert(draw(st.integers(0, len(blocks))), section)
    text = draw(st.sampled_from(FRONTS)) + "\n".join(blocks) + draw(st.sampled_from(["", "\n", "\n\n"]))
    first, second = draw(line_ends), draw(line_ends)
    middle = len(text) // 2
    return text[:middle].replace("\n", first) + text[middle:].replace("\n", second)


@st.composite
def skills(draw: st.DrawFn) -> Skill:
    """Skills; the few texts that are none are left to the tests of reading."""
    try:
        return Skill.parse(draw(skill_texts()))
    except SkillError:
        return Skill.parse("# A\n")


@st.composite
def skills_and_edits(draw: st.DrawFn) -> tuple[Skill, list[Edit]]:
    """A skill and edits whose targets are mostly lines of it, a few of them cut anywhere."""
    skill = draw(skills())
    lines = skill.text.splitlines(keepends=True) or [""]
    first = st.integers(0, len(lines) - 1)
    run = st.builds(lambda start, count: "".join(lines[start : start + count]), first, st.integers(1, 3))
    offset = st.integers(0, len(skill.text))
    cut = st.builds(lambda one, other: skill.text[min(one, other) : max(one, other)], offset, offset)
    target = st.one_of(run, run, run, cut, st.sampled_from(PIECES))
    content = st.one_of(st.sampled_from(CONTENTS), st.sampled_from(CONTENTS), st.sampled_from(PIECES), run, any_text)
    edits = st.builds(Edit, st.sampled_from(EditOperation), target, content)
    return skill, draw(st.lists(edits, min_size=1, max_size=3))


@given(any_text | skill_texts())
def test_a_text_is_read_and_rendered_without_changing_a_character(text: str) -> None:
    try:
        skill = Skill.parse(text)
    except SkillError:
        assert "_START" in text or "_END" in text
        return
    assert skill.text == text
    assert skill.front_matter == text[: len(skill.front_matter)]
    spans = [section.span for section in skill.sections]
    assert all(first.end <= second.start for first, second in pairwise(spans))
    assert len(skill.body) == len(text) - len(skill.front_matter) - sum(end - start for start, end in spans)


@given(st.binary(max_size=80) | skill_texts().map(lambda text: text.encode()))
def test_a_file_gives_back_its_bytes_or_a_clear_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = Path(tmp_path_factory.getbasetemp()) / f"skill-{os.getpid()}.md"
    path.write_bytes(content)
    try:
        skill = Skill.load(path)
    except SkillError as error:
        assert path.name in str(error)
    else:
        assert skill.text.encode() == content


@given(skills_and_edits())
def test_no_edit_changes_front_matter_or_a_protected_section(case: tuple[Skill, list[Edit]]) -> None:
    """F61, F63."""
    skill, edits = case
    candidate = apply_edits(skill, edits, max_tokens=8000).skill
    assert candidate.front_matter.rstrip("\r\n") == skill.front_matter.rstrip("\r\n")
    assert [candidate.text[slice(*section.span)] for section in candidate.sections] == [
        skill.text[slice(*section.span)] for section in skill.sections
    ]
    assert [section.name for section in candidate.sections] == [section.name for section in skill.sections]


@given(skills_and_edits())
def test_every_edit_has_one_state_and_the_states_agree_with_the_text(case: tuple[Skill, list[Edit]]) -> None:
    """F57, More 11: nothing vanishes, nothing is called applied that was not, and each outcome holds its edit whole."""
    skill, edits = case
    result = apply_edits(skill, edits, max_tokens=8000)
    assert [outcome.edit for outcome in result.outcomes] == edits
    applied = [outcome.edit for outcome in result.outcomes if outcome.state is EditState.APPLIED]
    assert all(bool(outcome.detail) == (outcome.state is not EditState.APPLIED) for outcome in result.outcomes)
    assert result.changed == (result.skill.text != skill.text)
    assert applied or not result.changed
    replayed = apply_edits(skill, applied, max_tokens=8000)
    assert replayed.skill == result.skill
    assert all(outcome.state is EditState.APPLIED for outcome in replayed.outcomes)


@given(skills_and_edits())
def test_applying_is_deterministic_and_leaves_the_skill_alone(case: tuple[Skill, list[Edit]]) -> None:
    skill, edits = case
    text = skill.text
    first = apply_edits(skill, edits, max_tokens=8000)
    assert apply_edits(Skill.parse(text), list(edits), max_tokens=8000) == first
    assert skill.text == text


@given(skills_and_edits())
def test_an_edit_applies_at_one_place_and_other_text_keeps_its_bytes(case: tuple[Skill, list[Edit]]) -> None:
    """F58, F72: an addition removes nothing, a replacement its target, a deletion its target and white space."""
    skill, (edit, *_) = case
    result = apply_edits(skill, [edit], max_tokens=8000)
    if not result.changed:
        assert result.outcomes[0].state is not EditState.APPLIED
        return
    before, after = skill.text, result.skill.text
    if edit.operation in ADDITIONS:
        added = len(after) - len(before)
        assert any(after[:n] + after[n + added :] == before for n in range(len(before) + 1))
        assert edit.content.strip().split() == [word for word in edit.content.split() if word in after]
    if edit.operation is EditOperation.APPEND:
        return
    (span,) = find_places(skill, edit.target).editable
    if edit.operation is EditOperation.REPLACE:
        assert after[: span.start] == before[: span.start]
        assert after.endswith(before[span.end :])
    if edit.operation is EditOperation.DELETE:
        cut = len(before) - len(after)
        starts = [n for n in range(span.start + 1) if n + cut >= span.end and before[:n] + before[n + cut :] == after]
        assert starts
        around = before[starts[-1] : span.start] + before[span.end : starts[-1] + cut]
        assert not around.strip().strip("-*+>#.)0123456789")


@given(skills_and_edits())
def test_the_same_edits_again_add_nothing(case: tuple[Skill, list[Edit]]) -> None:
    skill, (edit, *_) = case
    once = apply_edits(skill, [edit], max_tokens=8000).skill
    again = apply_edits(once, [edit], max_tokens=8000)
    if edit.operation in ADDITIONS:
        assert not again.changed


@given(skills_and_edits(), line_ends)
def test_a_document_with_one_kind_of_line_end_keeps_to_it(case: tuple[Skill, list[Edit]], end: str) -> None:
    skill, edits = case
    text = "# A" + end + skill.text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", end)
    try:
        skill = Skill.parse(text)
    except SkillError:
        return
    candidate = apply_edits(skill, edits, max_tokens=8000).skill
    others = {"\n", "\r", "\r\n"} - {end}
    assert not any(other in candidate.text.replace(end, "") for other in others)


@given(skills_and_edits(), st.integers(0, 60))
def test_the_size_never_passes_the_limit_or_what_it_was(case: tuple[Skill, list[Edit]], limit: int) -> None:
    """F66, F117."""
    skill, edits = case
    candidate = apply_edits(skill, edits, max_tokens=limit).skill
    assert estimate_tokens(candidate.text) <= max(limit, estimate_tokens(skill.text))


@given(skills(), any_text, st.sampled_from(PROTECTED_SECTIONS))
def test_a_section_that_is_set_reads_back_and_nothing_else_changes(skill: Skill, content: str, name: str) -> None:
    if holds_marker(content):
        return
    changed = skill.with_section(name, content)
    section = changed.section(name)
    assert (section.content if section else "") == content.strip().replace("\r\n", "\n").replace("\r", "\n")
    assert changed.with_section(name, content) == changed
    assert changed.body.split() == skill.body.split()
    assert [other for other in changed.sections if other.name != name] == [] or all(
        other.content == skill.section(other.name).content for other in changed.sections if other.name != name
    )


@given(skills(), any_text)
def test_the_nearest_lines_are_lines_of_the_document(skill: Skill, target: str) -> None:
    lines = skill.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, text in nearest_lines(skill, target, count=5):
        assert lines[number - 1] == text
