"""Edits: where they apply, in what form, and the one state each of them ends in."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.skill.document import Skill
from skillopt.skill.edits import EditResult, apply_edits, nearest_lines, target_lines
from skillopt.skill.size import estimate_tokens
from skillopt.types import Edit, EditOperation, EditState

APPEND, AFTER, BEFORE = EditOperation.APPEND, EditOperation.INSERT_AFTER, EditOperation.INSERT_BEFORE
REPLACE, DELETE = EditOperation.REPLACE, EditOperation.DELETE

FRONT = "---\nname: s\n---\n"
BLOCK = "<!-- SLOW_UPDATE_START -->\nguide\n<!-- SLOW_UPDATE_END -->\n"
APPENDIX = "<!-- APPENDIX_START -->\n- note\n<!-- APPENDIX_END -->\n"
SKILL = "# A\n\n- r1\n- r2\n\n## B\n\nText here.\n"


def apply(text: str, *edits: Edit, max_tokens: int = 8000) -> EditResult:
    return apply_edits(Skill.parse(text), edits, max_tokens=max_tokens)


def applied(text: str, operation: EditOperation, target: str = "", content: str = "") -> str:
    result = apply(text, Edit(operation, target, content))
    assert [(o.state, o.detail) for o in result.outcomes] == [(EditState.APPLIED, "")]
    assert result.changed
    return result.skill.text


def refused(text: str, operation: EditOperation, target: str = "", content: str = "") -> tuple[EditState, str]:
    result = apply(text, Edit(operation, target, content))
    assert result.skill.text == text
    assert not result.changed
    return result.outcomes[0].state, result.outcomes[0].detail


# Where each operation applies


@pytest.mark.parametrize(
    ("text", "content", "expected"),
    [
        ("", "- r", "- r\n"),
        ("\n\n", "- r", "- r\n\n\n"),
        ("\ufeff", "- r", "\ufeff- r\n"),
        ("# A\n", "- r", "# A\n\n- r\n"),
        ("# A", "- r", "# A\n\n- r"),
        ("# A\n- r1\n", "\n\n- r2\n\n\n", "# A\n- r1\n- r2\n"),
        ("# A\n- r1\n  more\n", "- r2", "# A\n- r1\n  more\n- r2\n"),
        ("# A\n- r1\n", "## B\n- r2", "# A\n- r1\n\n## B\n- r2\n"),
        ("# A\n- r1\n\n\n", "- r2", "# A\n- r1\n- r2\n\n\n"),
        ("1. a\r\n", "2. b\n3. c", "1. a\r\n2. b\r\n3. c\r\n"),
        (FRONT, "- r", FRONT + "\n- r\n"),
        ("---\nname: s\n---", "- r", "---\nname: s\n---\n\n- r"),
        (SKILL + "\n" + BLOCK, "- r", SKILL + "\n- r\n\n" + BLOCK),
        (SKILL + BLOCK + "\n" + APPENDIX, "- r", SKILL + "\n- r\n" + BLOCK + "\n" + APPENDIX),
        (BLOCK + "\n" + SKILL, "- r", BLOCK + "\n" + SKILL + "\n- r\n"),
        (BLOCK, "- r", "- r\n\n" + BLOCK),
        ("last " + BLOCK, "- r", "last \n\n- r\n" + BLOCK),
    ],
)
def test_append_goes_behind_the_body_and_ahead_of_the_protected_tail(text: str, content: str, expected: str) -> None:
    """F63, F64: front matter stands unchanged in the very text that will be written."""
    assert applied(text, APPEND, content=content) == expected


def test_append_has_no_use_for_a_target() -> None:
    assert applied("# A\n", APPEND, target="not there", content="x") == "# A\n\nx\n"


@pytest.mark.parametrize(
    ("operation", "target", "content", "expected"),
    [
        (AFTER, "## B", "New.", SKILL.replace("## B\n", "## B\nNew.\n")),
        (AFTER, "r1", "  - sub\n", SKILL.replace("- r1\n", "- r1\n  - sub\n")),
        (AFTER, "- r1\n- r2", "\n## C\n- r3\n\n", SKILL.replace("- r2\n", "- r2\n\n## C\n- r3\n")),
        (AFTER, "## B", "\nNew.\n", SKILL.replace("## B\n", "## B\n\nNew.\n")),
        (BEFORE, "## B", "- r3", SKILL.replace("## B", "- r3\n## B")),
        (BEFORE, "## B", "\n## C\n\n", SKILL.replace("## B", "## C\n\n## B")),
        (BEFORE, "# A", "Read this.", "Read this.\n" + SKILL),
        (BEFORE, "here", "\nFirst:", SKILL.replace("Text", "First:\nText")),
    ],
)
def test_insertions_put_whole_lines_next_to_the_target(
    operation: EditOperation, target: str, content: str, expected: str
) -> None:
    """F72: an insertion leaves its target in the skill."""
    assert applied(SKILL, operation, target, content) == expected


@pytest.mark.parametrize(
    ("text", "operation", "target", "content", "expected"),
    [
        ("a", AFTER, "a", "b", "a\nb"),
        ("a", BEFORE, "a", "b", "b\na"),
        ("\ufeffa\n", BEFORE, "a", "b", "\ufeffb\na\n"),
        (FRONT + "a\n", BEFORE, "a", "b", FRONT + "b\na\n"),
        ("a\r\nc\r\n", AFTER, "a", "\nb1\nb2", "a\r\n\r\nb1\r\nb2\r\nc\r\n"),
        ("a\n" + BLOCK, AFTER, "a", "b", "a\nb\n" + BLOCK),
        (BLOCK + "a\n", BEFORE, "a", "b", BLOCK + "b\na\n"),
    ],
)
def test_insertions_at_the_edges_keep_line_ends_and_neighbours(
    text: str, operation: EditOperation, target: str, content: str, expected: str
) -> None:
    assert applied(text, operation, target, content) == expected


@pytest.mark.parametrize(
    ("text", "target", "content", "expected"),
    [
        (SKILL, "- r1", "- rule one", SKILL.replace("r1", "rule one")),
        (SKILL, "- r1\n", "- rule one\n", SKILL.replace("r1", "rule one")),
        (SKILL, "here", "there", SKILL.replace("here", "there")),
        (SKILL, "- r1\r\n-  r2", "- r\n- s", SKILL.replace("- r1\n- r2", "- r\n- s")),
        ("a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n"),
        ("- a\n  - b  c\n", "  - b c", "  - d", "- a\n  - d\n"),
        ("- a\n  - b\n", "  - b", "  - d", "- a\n  - d\n"),
        ("use 10, never use 1\n", "use 1", "use 2", "use 10, never use 2\n"),
        ("say \u201cyes\u201d\n", 'say "yes"', "say no", "say no\n"),
    ],
)
def test_replace_changes_the_target_alone(text: str, target: str, content: str, expected: str) -> None:
    assert applied(text, REPLACE, target, content) == expected


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        (SKILL, "- r1", SKILL.replace("- r1\n", "")),
        (SKILL, "r1", SKILL.replace("- r1\n", "")),
        (SKILL, "- r1\n- r2\n", SKILL.replace("- r1\n- r2\n\n", "")),
        (SKILL, " here", SKILL.replace(" here", "")),
        (SKILL, "Text here.", SKILL.replace("\nText here.\n", "")),
        (FRONT + "a\n\nb\n", "a", FRONT + "b\n"),
        ("a\n\n" + BLOCK, "a", BLOCK),
        (BLOCK + "a\n", "a", BLOCK),
        ("a", "a", ""),
    ],
)
def test_delete_leaves_no_gap(text: str, target: str, expected: str) -> None:
    assert applied(text, DELETE, target) == expected


def test_repeated_edits_do_not_grow_white_space() -> None:
    """F66: where the tail is edited fifty times, the blank lines are as many as before."""
    skill = Skill.parse(SKILL + "\n" + BLOCK)
    blank_lines = skill.text.count("\n\n")
    for number in range(50):
        text = f"Note {number}."
        added = apply_edits(skill, [Edit(APPEND, content=f"\n\n{text}\n\n")], max_tokens=8000).skill
        skill = apply_edits(added, [Edit(DELETE, target=text)], max_tokens=8000).skill
        assert (added.text.count("\n\n"), skill.text.count("\n\n")) == (blank_lines + 1, blank_lines)


# The one end of each edit


@pytest.mark.parametrize("operation", [AFTER, BEFORE, REPLACE, DELETE])
def test_an_absent_target_is_unmatched_and_nothing_is_appended_instead(operation: EditOperation) -> None:
    """F57: an edit that finds no place is reported; the public tool's fallback to append is not taken."""
    assert refused("# A\n- r1\n", operation, "zzz", "x") == (EditState.UNMATCHED, "the target is not in the skill")


@pytest.mark.parametrize("operation", [AFTER, BEFORE, REPLACE, DELETE])
def test_a_target_in_two_places_is_ambiguous_and_both_lines_are_told(operation: EditOperation) -> None:
    """F58: never "the first one wins"."""
    text = "# A\n- be brief\n# B\n- be brief\n"
    assert refused(text, operation, "- be brief", "x") == (EditState.AMBIGUOUS, "found in 2 places: lines 2 and 4")
    assert refused("no, no", operation, "no", "x") == (EditState.AMBIGUOUS, "found in 2 places on line 1")
    many = refused("no\n" * 9, operation, "no", "x")
    assert many == (EditState.AMBIGUOUS, "found in 9 places: lines 1, 2, 3, 4, 5 and more")


@pytest.mark.parametrize("blank", ["", " ", "\n\t\n"])
def test_an_empty_target_or_content_is_invalid(blank: str) -> None:
    """F60 and appendix C: neither an empty target nor an empty addition changes a byte."""
    for operation in (AFTER, BEFORE, REPLACE, DELETE):
        assert refused("# A\n- r1\n", operation, blank, "x") == (EditState.INVALID, "the target is empty")
    for operation in (APPEND, AFTER, BEFORE, REPLACE):
        state, detail = refused("# A\n- r1\n", operation, "- r1", blank)
        assert state is EditState.INVALID
        assert detail.startswith("the content is empty")
    assert "use delete" in refused("# A\n- r1\n", REPLACE, "- r1", blank)[1]


@pytest.mark.parametrize("content", ["a\0b", "half \ud83d"])
def test_content_that_no_file_can_hold_is_invalid(content: str) -> None:
    assert refused("# A\n", APPEND, content=content)[0] is EditState.INVALID


PROTECTED = FRONT + "# A\n\nrule\n\n" + BLOCK + "\nmiddle\n\n" + APPENDIX


@pytest.mark.parametrize(
    "target",
    [
        "---",
        "name: s",
        "name:  s",
        "---\n# A",
        "guide",
        "<!-- SLOW_UPDATE_START -->",
        "SLOW_UPDATE_END",
        "rule\n\n<!-- SLOW_UPDATE_START -->\nguide\n<!-- SLOW_UPDATE_END -->\n\nmiddle",
        "rule <!-- SLOW_UPDATE_START -->",
        "guide\n<!-- SLOW_UPDATE_END -->\n\nmiddle",
        "- note",
        PROTECTED,
    ],
)
@pytest.mark.parametrize("operation", [AFTER, BEFORE, REPLACE, DELETE])
def test_a_target_that_touches_something_protected_is_refused(operation: EditOperation, target: str) -> None:
    """F61, F63: any overlap with front matter or a protected section, inside, across or around it."""
    assert refused(PROTECTED, operation, target, "x")[0] is EditState.PROTECTED


def test_a_rule_that_the_guidance_quotes_can_still_be_edited() -> None:
    text = "rule one\n\n<!-- SLOW_UPDATE_START -->\nrule one\n<!-- SLOW_UPDATE_END -->\n"
    assert applied(text, REPLACE, "rule one", "rule two") == text.replace("rule one", "rule two", 1)


@pytest.mark.parametrize("operation", [APPEND, AFTER, BEFORE, REPLACE])
@pytest.mark.parametrize(
    "content", ["<!-- SLOW_UPDATE_START -->", "x\n<!--APPENDIX_END-->", BLOCK, "<!-- SLOW_UPDATE_END --> free"]
)
def test_content_with_a_marker_is_refused(operation: EditOperation, content: str) -> None:
    """F61: an edit cannot open, close or fake a protected section."""
    for target in ("- r1", "zzz"):
        state, detail = refused("# A\n\n- r1\n", operation, target, content)
        assert (state, detail) == (EditState.PROTECTED, "the content holds a marker of a protected section")


@pytest.mark.parametrize(
    ("text", "operation", "target", "content"),
    [
        ("# A\n\nrule\n", BEFORE, "# A", "---\nname: evil\n---"),
        ("# A\n\nrule\n", REPLACE, "# A", "---\nname: evil\n---"),
        ("", APPEND, "", "---\nname: evil\n---"),
        ("x\n---\nname: evil\n---\n", DELETE, "x", ""),
        ("---\nunclosed\n", APPEND, "", "x\n---"),
        ("<!-- SLOW_UPDATE_START x -->\n", DELETE, "x", ""),
        ("<!-- x -->\n", REPLACE, "x", "SLOW_UPDATE_START --> y <!-- SLOW_UPDATE_END"),
        ("<!-- x -->\n", REPLACE, "x", "SLOW_UPDATE_START"),
        ("a <!-- APPENDIX_START -->\n<!-- APPENDIX_END -->\n", AFTER, "a", "x"),
        ("<!-- APPENDIX_START -->\n<!-- APPENDIX_END --> a\n", BEFORE, "a", "x"),
    ],
)
def test_no_edit_makes_front_matter_or_a_marker_out_of_what_was_none(
    text: str, operation: EditOperation, target: str, content: str
) -> None:
    """F61, F63: the candidate itself is compared, so that pieces which only together mean something are caught too."""
    assert refused(text, operation, target, content)[0] is EditState.PROTECTED


@pytest.mark.parametrize("operation", [APPEND, AFTER, BEFORE])
@pytest.mark.parametrize("content", ["- r1", "\n  - r1 \n", "- r1\n- r2", "-  r1\r\n- r2"])
def test_content_that_is_there_already_is_a_duplicate(operation: EditOperation, content: str) -> None:
    """Appendix C: appending "- r1" again changes nothing, in whatever white space it comes."""
    assert refused(SKILL, operation, "# A", content) == (EditState.DUPLICATE, "the skill says it already, line 3")


def test_a_part_of_a_line_or_of_a_protected_section_is_no_duplicate() -> None:
    assert applied("- be brief and kind\n", APPEND, content="- be brief") == "- be brief and kind\n- be brief\n"
    assert applied(BLOCK, APPEND, content="guide") == "guide\n\n" + BLOCK


def test_an_edit_without_effect_is_a_duplicate() -> None:
    """A no-op is known as one: no rollouts are paid for it."""
    assert refused(SKILL, REPLACE, "- r1", "- r1\n") == (EditState.DUPLICATE, "it changes nothing")


def test_two_edits_that_say_the_same_are_applied_once() -> None:
    twice = [Edit(REPLACE, "r1", "r1 or r3"), Edit(REPLACE, "r1\n", "r1 or r3", support_count=3)]
    result = apply(SKILL, *twice)
    assert [outcome.state for outcome in result.outcomes] == [EditState.APPLIED, EditState.DUPLICATE]
    assert result.outcomes[1].detail == "it says the same as edit 1"
    assert result.skill.text == SKILL.replace("r1", "r1 or r3")


def test_an_edit_above_the_size_limit_is_refused_and_a_smaller_one_behind_it_applies() -> None:
    """F66, F117: a skill of 200 tokens at most, an edit of 500."""
    large, small = Edit(APPEND, content="word " * 500), Edit(APPEND, content="- small")
    result = apply(SKILL, large, small, max_tokens=200)
    assert [outcome.state for outcome in result.outcomes] == [EditState.OVER_BUDGET, EditState.APPLIED]
    assert "the limit is 200" in result.outcomes[0].detail
    assert estimate_tokens(result.skill.text) <= 200


def test_an_optimizer_that_only_appends_reaches_the_size_limit_and_stays_there() -> None:
    """F66, F117: growth has an end that no reply can move."""
    result = apply("# A\n", *(Edit(APPEND, content=f"- rule number {n}") for n in range(100)), max_tokens=120)
    assert estimate_tokens(result.skill.text) <= 120
    assert {outcome.state for outcome in result.outcomes} == {EditState.APPLIED, EditState.OVER_BUDGET}


def test_a_skill_that_is_too_large_already_can_be_made_smaller() -> None:
    result = apply(SKILL, Edit(APPEND, content="x"), Edit(DELETE, "Text here."), max_tokens=5)
    assert [outcome.state for outcome in result.outcomes] == [EditState.OVER_BUDGET, EditState.APPLIED]


def test_edits_apply_in_order_each_to_what_is_left() -> None:
    result = apply(SKILL, Edit(REPLACE, "r1", "r9"), Edit(AFTER, "- r9", "- r10"), Edit(DELETE, "- r1"))
    assert [outcome.state for outcome in result.outcomes] == [EditState.APPLIED, EditState.APPLIED, EditState.UNMATCHED]
    assert result.skill.text == SKILL.replace("- r1\n", "- r9\n- r10\n")


def test_applied_edits_that_undo_each_other_are_a_no_op() -> None:
    result = apply(SKILL, Edit(AFTER, "- r2", "- r3"), Edit(DELETE, "- r3"))
    assert [outcome.state for outcome in result.outcomes] == [EditState.APPLIED, EditState.APPLIED]
    assert not result.changed


def test_no_edits_are_a_no_op() -> None:
    """More 9: a learning rate of 0 applies nothing."""
    assert apply(SKILL) == EditResult(Skill.parse(SKILL), (), changed=False)


def test_a_candidate_reads_back_from_its_file_as_itself(tmp_path: Path) -> None:
    """F64: the bytes that are written hold the front matter and give the same digest."""
    candidate = apply(PROTECTED.replace("\n", "\r\n"), Edit(APPEND, content="- é\n- f")).skill
    path = tmp_path / "best_skill.md"
    path.write_bytes(candidate.text.encode())
    assert Skill.load(path).digest == candidate.digest
    assert candidate.front_matter == FRONT.replace("\n", "\r\n")


# The lines that a repair request shows


def test_the_nearest_lines_are_those_most_like_the_target() -> None:
    text = FRONT + "# Dates\n\n- write dates as 2024-01-05\n- be brief\n\n" + BLOCK + "- write names in full\n"
    found = nearest_lines(Skill.parse(text), "- write the dates as 2024/01/05")
    assert len(found) == 3
    assert found[0] == (6, "- write dates as 2024-01-05")
    assert nearest_lines(Skill.parse(text), "guide", count=9) == nearest_lines(Skill.parse(text), "guide", count=4)
    assert all(line not in dict(nearest_lines(Skill.parse(text), "guide", count=9)) for line in (1, 2, 3, 9, 10, 11))


def test_an_empty_skill_has_no_nearest_lines() -> None:
    assert nearest_lines(Skill.parse(FRONT + "\n\n"), "x") == ()


def test_nearest_lines_of_hostile_length_are_compared_by_their_beginnings() -> None:
    skill = Skill.parse("a" * 300_000 + "\nwrite dates\n")
    assert nearest_lines(skill, "write the dates " + "b" * 300_000, count=1)[0][0] in (1, 2)


def test_target_lines_are_those_that_stand_at_exactly_one_place_of_the_body() -> None:
    skill = Skill.parse(
        "---\nname: s\n---\n# A\n\n- be brief\n  indented rule\n- be brief\n\n"
        "<!-- SLOW_UPDATE_START -->\nguidance\n<!-- SLOW_UPDATE_END -->\n"
    )
    assert target_lines(skill) == ("# A", "indented rule")


def test_every_target_line_can_be_edited() -> None:
    skill = Skill.parse("# Dates\n\nWrite dates.\n- Write dates as YYYY.MM.DD\n- And nothing else\n")
    for line in target_lines(skill):
        edit = Edit(EditOperation.REPLACE, target=line, content="Something else stands here.")
        (outcome,) = apply_edits(skill, [edit], max_tokens=1000).outcomes
        assert outcome.state is EditState.APPLIED, line


def test_an_empty_skill_has_no_target_lines() -> None:
    assert target_lines(Skill.parse("\n \n")) == ()
