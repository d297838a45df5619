"""The difference between two texts, line by line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skillopt.report.text_diff import DiffLine, changed, diff


def test_a_change_stands_in_its_context_with_the_numbers_of_both() -> None:
    old = "".join(f"{number}\n" for number in range(1, 10))
    assert diff(old, old.replace("5\n", "five\n"), context=1) == (
        DiffLine("gap"),
        DiffLine("same", "4", 4, 4),
        DiffLine("removed", "5", old=5),
        DiffLine("added", "five", new=5),
        DiffLine("same", "6", 6, 6),
    )


def test_equal_texts_differ_in_no_line() -> None:
    assert diff("a\nb\n", "a\nb\n") == diff("", "") == ()


def test_changes_far_apart_have_a_gap_between_them() -> None:
    old = "".join(f"{number}\n" for number in range(30))
    lines = diff(old, old.replace("0\n", "zero\n", 1) + "end\n")
    assert [line.kind for line in lines].count("gap") == 1
    assert changed(lines) == (2, 1)


texts = st.lists(st.sampled_from(["a", "b", "", "c d"]), max_size=12).map("\n".join)


@given(texts, texts)
def test_what_is_shown_without_a_limit_makes_the_new_text_of_the_old(old: str, new: str) -> None:
    lines = diff(old, new, context=1000)
    if lines:
        assert [line.text for line in lines if line.kind != "removed"] == new.splitlines()
        assert [line.text for line in lines if line.kind != "added"] == old.splitlines()
        numbered = [line.new for line in lines if line.new is not None]
        assert numbered == list(range(1, len(numbered) + 1))
    else:
        assert old.splitlines() == new.splitlines()
