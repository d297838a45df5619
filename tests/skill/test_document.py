"""The document: exact text, front matter, protected sections, and what is refused when it is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillopt.errors import SkillError
from skillopt.skill.document import PROTECTED_SECTIONS, Skill, unfit

FRONT = "---\nname: dates\ndescription: How to write dates.\n---\n"
GUIDED = (
    FRONT + "# Dates\n\n- write 2024-01-05\n\n<!-- SLOW_UPDATE_START -->\nKeep it short.\n<!-- SLOW_UPDATE_END -->\n"
)


def test_the_short_digest_is_the_public_candidate_hash() -> None:
    assert Skill.parse("# Skill\n").short_digest == "74daeff849609b74"
    assert Skill.parse("# Skill\n").digest.startswith("74daeff849609b74")


def test_equal_texts_are_equal_skills() -> None:
    assert Skill.parse("# A\n") == Skill("# A\n")
    assert Skill.parse("# A\n") != Skill("# A")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"# A",
        b"# A\r\n\r\n- b\r\n",
        b"\xef\xbb\xbf---\r\nname: s\r\n---\r\n# A\r\n",
        "# Å\n```py\n\tx = 1  \n```\n\u2028".encode(),
        GUIDED.encode(),
    ],
)
def test_a_file_is_read_without_changing_a_byte(tmp_path: Path, content: bytes) -> None:
    """F64: what is checked, measured and written is one and the same text."""
    path = tmp_path / "skill.md"
    path.write_bytes(content)
    assert Skill.load(path).text.encode("utf-8") == content


def test_front_matter_body_and_guidance_are_told_apart() -> None:
    skill = Skill.parse(GUIDED)
    assert skill.front_matter == FRONT
    assert skill.body == "# Dates\n\n- write 2024-01-05\n\n\n"
    assert skill.guidance == "Keep it short."
    assert Skill.parse("# A\n").guidance == ""


@pytest.mark.parametrize(
    ("text", "front_matter"),
    [
        ("---\nname: s\n---\n# A\n", "---\nname: s\n---\n"),
        ("\ufeff---\nname: s\n---\n# A\n", "\ufeff---\nname: s\n---\n"),
        ("---  \r\nname: s\r\n---\r\n", "---  \r\nname: s\r\n---\r\n"),
        ("---\rname: s\r---\rx", "---\rname: s\r---\r"),
        ("---\n---", "---\n---"),
        ("---\nnot: [closed\n", ""),
        ("---\nname: s\n----\n", ""),
        ("# A\n---\nname: s\n---\n", ""),
        (" ---\nname: s\n---\n", ""),
        ("\ufeff# A\n", "\ufeff"),
    ],
)
def test_front_matter_is_what_stands_between_the_first_line_and_the_next_fence(text: str, front_matter: str) -> None:
    assert Skill.parse(text).front_matter == front_matter


@pytest.mark.parametrize("name", PROTECTED_SECTIONS)
@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("# A\n<!-- {0}_START -->\nx\n", 2),
        ("# A\n\n<!-- {0}_END -->\n", 3),
        ("<!-- {0}_START -->\n<!-- {0}_START -->\n<!-- {0}_END -->\n", 2),
        ("<!-- {0}_START -->\n<!-- {0}_END -->\n<!-- {0}_START -->\n<!-- {0}_END -->\n", 3),
        ("<!--{0}_START-->\n", 1),
        ("```\n<!-- {0}_START -->\n```\n", 2),
        ("---\n# <!-- {0}_START -->\n---\n<!-- {0}_END -->\n", 4),
    ],
)
def test_a_misplaced_marker_is_named_with_its_line(name: str, template: str, line: int) -> None:
    """F61: where a protected section ends is never a guess."""
    with pytest.raises(SkillError, match=rf"^line {line}: .*{name}"):
        Skill.parse(template.format(name))


def test_sections_cannot_stand_inside_one_another() -> None:
    text = "<!-- SLOW_UPDATE_START -->\n<!-- APPENDIX_START -->\n<!-- APPENDIX_END -->\n<!-- SLOW_UPDATE_END -->\n"
    with pytest.raises(SkillError, match=r"line 2: .* inside the SLOW_UPDATE section"):
        Skill.parse(text)


@pytest.mark.parametrize(("text", "reason"), [("a\n\0", "line 2: .*NUL"), ("\n\n\ud83d", "line 3: .*surrogate")])
def test_a_text_that_no_file_can_hold_is_no_skill(text: str, reason: str) -> None:
    with pytest.raises(SkillError, match=reason):
        Skill.parse(text)


def test_an_unusable_file_is_named_with_what_is_wrong(tmp_path: Path) -> None:
    latin, broken = tmp_path / "latin.md", tmp_path / "broken.md"
    latin.write_bytes("# A\nnaïve\n".encode("latin-1"))
    broken.write_bytes(b"# A\n<!-- APPENDIX_END -->\n")
    cases = {
        tmp_path / "none.md": "none.md does not exist",
        tmp_path: "is a directory and not a file",
        latin: "latin.md is not UTF-8 text \\(line 2\\)",
        broken: "broken.md, line 2: .* not open",
    }
    for path, reason in cases.items():
        with pytest.raises(SkillError, match=reason) as caught:
            Skill.load(path)
        assert caught.value.hint, path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "{}\n"),
        ("# A\n", "# A\n\n{}\n"),
        ("# A", "# A\n\n{}\n"),
        ("# A\n\n", "# A\n\n{}\n"),
        ("# A\n  ", "# A\n  \n{}\n"),
        ("---\nname: s\n---\n", "---\nname: s\n---\n\n{}\n"),
        ("# A\r\n", "# A\r\n\r\n{}\r\n"),
    ],
)
def test_a_missing_section_is_added_at_the_tail(text: str, expected: str) -> None:
    skill = Skill.parse(text)
    end = skill.line_end
    block = end.join(["<!-- SLOW_UPDATE_START -->", "Be", "brief.", "<!-- SLOW_UPDATE_END -->"])
    guided = skill.with_section("SLOW_UPDATE", "\nBe\nbrief.\n\n")
    assert guided.text == expected.format(block)
    assert guided.guidance == "Be\nbrief."


def test_a_section_is_replaced_whole_and_where_it_stands() -> None:
    skill = Skill.parse(GUIDED + "\ntail").with_section("SLOW_UPDATE", "New.")
    assert skill.text == GUIDED.replace("Keep it short.", "New.") + "\ntail"
    assert skill.with_section("SLOW_UPDATE", " New.\n") is skill


def test_a_section_without_content_is_removed_with_its_gap() -> None:
    without = FRONT + "# Dates\n\n- write 2024-01-05\n"
    assert Skill.parse(GUIDED).with_section("SLOW_UPDATE", " \n").text == without
    assert Skill.parse(without).with_section("SLOW_UPDATE", "").text == without


@pytest.mark.parametrize("marker", ["<!-- SLOW_UPDATE_END -->", "<!--APPENDIX_START-->"])
def test_a_section_cannot_be_given_a_marker(marker: str) -> None:
    with pytest.raises(SkillError, match=r"content .* holds a marker"):
        Skill.parse("# A\n").with_section("SLOW_UPDATE", f"x\n{marker}\ny")


def test_a_skill_file_that_is_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "skill.md")
    with pytest.raises(SkillError, match="is a pipe and not a file"):
        Skill.load(tmp_path / "skill.md")


@pytest.mark.parametrize("character", ["\x1b", "\x07", "\x9b", "\x7f", "\0", "\ud800", "\x0c", "\u202e", "\u2066"])
def test_a_models_text_holds_no_character_that_moves_a_cursor(character: str) -> None:
    """A skill is printed, and sent to a model: what cannot be seen does neither."""
    assert "line 2" in unfit(f"one\ntw{character}o")
    assert unfit("# Title\r\n\n- a\tb, Größe 大小\n") == ""
