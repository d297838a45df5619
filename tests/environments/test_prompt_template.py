from __future__ import annotations

import pytest

from skillopt.environments.prompt_template import placeholders, render
from skillopt.types import Task


def test_fields_are_put_in_and_their_braces_are_never_read_again() -> None:
    task = Task("1", {"question": "What is {x} in {question}? {{y}}", "context": "f(x) = {context}"})
    assert render("{context}\n{question}", task) == "f(x) = {context}\nWhat is {x} in {question}? {{y}}"


def test_other_braces_stand_for_themselves() -> None:
    template = 'Reply {"date": "..."} or {} or { name } for {{name}}: {question}'
    assert render(template, Task("1", {"question": "Q"})) == 'Reply {"date": "..."} or {} or { name } for {name}: Q'
    assert placeholders(template) == ("question",)


def test_backslashes_in_a_task_stay() -> None:
    assert render("{question}", Task("1", {"question": r"\1 \g<0> \n"})) == r"\1 \g<0> \n"


def test_each_placeholder_is_named_once_in_order() -> None:
    assert placeholders("{b} {a} {b} {{c}}") == ("b", "a")


@pytest.mark.parametrize(
    "fields", [{"frage": "x"}, {"question": None, "frage": "x"}, {"question": " \n", "frage": "x"}]
)
def test_a_field_that_is_missing_or_empty_is_an_error_that_names_the_fields(fields: dict[str, str | None]) -> None:
    with pytest.raises(ValueError, match=r"\{question\}, which is missing or empty.*frage"):
        render("{question}", Task("1", fields))


def test_zero_and_false_are_not_empty() -> None:
    assert render("{a} {b} {c}", Task("1", {"a": 0, "b": False, "c": 0.5})) == "0 false 0.5"


def test_options_and_lists_become_lines() -> None:
    task = Task("1", {"options": ["red", "green"], "hints": ["one", {"two": 2}]})
    assert render("{options}\n{hints}", task) == '(A) red\n(B) green\n- one\n- {"two": 2}'
    labelled = Task("1", {"options": [{"label": "X", "text": "red"}, {"label": "Y", "text": "blue"}]})
    assert render("{options}", labelled) == "(X) red\n(Y) blue"
