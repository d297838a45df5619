from __future__ import annotations

import pytest

from skillopt.environments.extraction import LONGEST_REPLY, Extraction, extract, has_tag, last_boxed, tidy


@pytest.mark.parametrize(
    ("how", "reply", "expected"),
    [
        ("auto", "I think.\n<answer>Paris</answer>\nGoodbye.", "Paris"),
        ("auto", "I think.\n\nParis  \n\n", "Paris"),
        ("auto", "", ""),
        ("tag", "<answer>one</answer> no, <ANSWER>\n two \n</Answer >", "two"),
        ("tag", "<answer>one</answer> no, <answer>two", "two"),
        ("tag", '<answer type="final">x</answer>', "x"),
        ("tag", "<answer></answer>", ""),
        ("tag", "no tag at all", ""),
        ("tag", "<answers>x</answers>", ""),
        ("last_line", "<answer>x</answer>\nlast", "last"),
        ("last_line", "Here:\n```\n2024-03-05\n```\n", "2024-03-05"),
        ("last_line", "a\r\nb\r\n", "b"),
        ("last_line", "] ]", "] ]"),
        ("whole", "  a\n**b**\n", "a\n**b**"),
        ("whole", "<answer>x</answer>", "<answer>x</answer>"),
    ],
)
def test_each_way_finds_its_answer(how: Extraction, reply: str, expected: str) -> None:
    assert extract(reply, how) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("<think>maybe <answer>4</answer></think>5", "5"),
        ("<Thinking>no\nline</Thinking>\n<answer>5</answer>", "5"),
        ("5\n<think>but if", "5"),
        ("it must be 4\n</think>\n5", "5"),
        ("<think>only reasoning", ""),
        ("4 <think>no</think> 4 </think> 5", "5"),
        ("<answer>5</answer><think>that went well</think>", "5"),
    ],
)
def test_reasoning_is_no_answer(reply: str, expected: str) -> None:
    assert extract(reply, "auto") == expected
    assert extract(reply, "whole").removeprefix("<answer>").removesuffix("</answer>") == expected


@pytest.mark.parametrize(
    "noisy",
    [
        "x", "**x**", "`x`", "*x*", "$x$", "Answer: x", "answer:x", "**Answer:** x", "**Answer**: x", "**Answer: x**",
        "**Answer:** **x**", "### Final answer: x", "Final Answer: `x`", "The answer is x", "The answer is: **x**",
        "The correct answer is $\\boxed{x}$", "\\boxed{x}", "So we get \\boxed{x}.", "```x```",
    ],
)  # fmt: skip
def test_what_models_put_around_an_answer_is_taken_off(noisy: str) -> None:
    assert tidy(noisy) == "x"


@pytest.mark.parametrize(
    "answer",
    ["**a** and **b**", "__init__", "3 * 4 * 5", "* x", "answers vary", "(B)", "x.", "**", "a: b", "`", "$5 or $6"],
)
def test_what_may_belong_to_an_answer_stays(answer: str) -> None:
    assert tidy(answer) == answer


def test_boxed_braces_are_balanced() -> None:
    assert last_boxed("\\boxed{1} then \\boxed{\\frac{1}{2}} end") == "\\frac{1}{2}"
    assert last_boxed("\\boxed{never closed") is None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("result.value", "7"), ("name", "Ann"), ("items.1", '{"k":true}'), ("items.9", ""), ("name.first", ""),
        ("missing", ""), ("items.x", ""),
    ],
)  # fmt: skip
def test_a_json_field_is_found_by_its_path(path: str, expected: str) -> None:
    reply = 'So:\n```json\n{"name": " Ann ", "result": {"value": 7}, "items": [1, {"k": true}]}\n```'
    assert extract(reply, "json_field", field=path) == expected


def test_a_json_field_of_no_object_is_no_answer() -> None:
    assert extract("no object", "json_field", field="a") == ""


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [(r"\d+", "22"), (r"code (\w+)", "B7"), (r"^code.*$", "code B7"), (r"x(y)?", "x"), (r"nothing", "")],
)
def test_the_last_match_counts_and_its_first_group(pattern: str, expected: str) -> None:
    assert extract("code A1 11\nx\ncode B7\n22", "pattern", pattern=pattern) == expected


def test_only_the_end_of_an_endless_reply_is_looked_at() -> None:
    assert extract("<answer>early</answer>" + " " * LONGEST_REPLY + "late", "auto") == "late"
    assert len(extract("x" * (2 * LONGEST_REPLY), "whole")) == LONGEST_REPLY


def test_a_tag_in_the_reasoning_is_no_tag() -> None:
    assert has_tag("<answer>x")
    assert not has_tag("<think><answer>x</answer></think> y")
