from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from skillopt.config.env_settings import EnvSettings
from skillopt.environments.load import load_environment
from skillopt.environments.question_answering import QuestionAnswering, QuestionAnsweringSettings
from skillopt.errors import DataError
from skillopt.types import JsonValue, Message, Task, Trajectory


def qa(**settings: Any) -> QuestionAnswering:
    return QuestionAnswering(QuestionAnsweringSettings(**settings))


def task(answer: JsonValue = "Paris", **fields: JsonValue) -> Task:
    return Task("t1", {"question": "Capital of France?", "answer": answer, **fields}, location="tasks.jsonl, line 3")


def said(output: str, finish_reason: str = "stop") -> Trajectory:
    return Trajectory((), output, finish_reason)


def test_the_prompt_is_the_only_message_and_the_same_for_every_skill() -> None:
    presented = qa(prompt="{question}\nBe brief.").present(task())
    assert presented.messages == (Message("user", "Capital of France?\nBe brief."),)


def test_a_task_is_scored_with_what_was_expected_and_what_came() -> None:
    score = qa().score(task(), said("I guess\n<answer>Lyon</answer>"))
    assert (score.hard, score.soft, score.predicted) == (0, 0.0, "Lyon")
    assert score.feedback == "Expected 'Paris'; the answer was 'Lyon'."
    assert qa().score(task(["Lutetia", "Paris"]), said("**Answer:** paris.")).hard == 1


def test_the_answer_is_looked_for_where_the_settings_say() -> None:
    reply = 'Answer: A\n{"city": "Paris"}\ncode Paris!'
    assert qa(extraction="json_field", answer_field="city").score(task(), said(reply)).hard == 1
    assert qa(extraction="pattern", answer_pattern=r"code (\w+)").score(task(), said(reply)).hard == 1
    assert qa(extraction="whole").score(task(), said(reply)).hard == 0
    assert qa(extraction="tag").score(task(), said(reply)).feedback == "Expected 'Paris'; no answer was found."


def test_auto_takes_the_whole_reply_for_json_since_an_object_is_seldom_one_line() -> None:
    gold: JsonValue = {"city": "Paris"}
    assert qa(scorer="json").score(task(gold), said('```json\n{\n  "city": "Paris"\n}\n```')).hard == 1
    tagged = '{"city": "Lyon"} <answer>{"city": "Paris"}</answer> {"city": "Nice"}'
    assert qa(scorer="json").score(task(gold), said(tagged)).hard == 1
    assert qa(scorer="json", extraction="last_line").score(task(gold), said('{\n"city": "Paris"\n}')).hard == 0


def test_a_reply_that_was_cut_is_told_to_the_optimizer() -> None:
    assert qa().score(task(), said("Well,", "length")).feedback.endswith("The reply was cut at its token limit.")
    assert "cut" not in qa().score(task(), said("Paris", "length")).feedback


def test_a_reply_that_the_provider_withheld_is_a_failed_task_and_says_so() -> None:
    """A refusal is what the target did with the task, and a skill may cure it."""
    score = qa().score(task(), said("", "content_filter"))
    assert score.hard == 0
    assert score.feedback.endswith("The provider's content filter withheld the reply.")


@pytest.mark.parametrize("missing", [{}, {"question": ""}, {"question": None}, {"frage": "Wer?"}])
def test_a_task_without_its_question_is_an_error_with_its_place(missing: dict[str, JsonValue]) -> None:
    """F93, More 8 in kind: a field that the prompt shows is never silently empty."""
    with pytest.raises(DataError, match=r"tasks\.jsonl, line 7: task 'x': .*\{question\}") as caught:
        qa().check(Task("x", {**missing, "answer": "a"}, location="tasks.jsonl, line 7"))
    assert "env.fields" in caught.value.hint


@pytest.mark.parametrize("answer", [None, "", "  ", [], ["a", None], ["a", " "]])
def test_a_task_without_its_answer_is_an_error_with_its_place(answer: JsonValue) -> None:
    with pytest.raises(DataError, match=r"tasks\.jsonl, line 3: task 't1': .*'answer'"):
        qa().check(task(answer))


@pytest.mark.parametrize(
    ("scorer", "answer"),
    [
        ("number", "many"), ("json", "not json"), ("json", ["a"]), ("choice", "the first one"),
        ("pattern", "(unclosed"), ("exact", {"a": 1}), ("exact", "] ]"), ("f1", "The"),
    ],
)  # fmt: skip
def test_an_answer_that_the_scorer_cannot_read_is_an_error_before_training(scorer: str, answer: JsonValue) -> None:
    """F57: what can never be right is an error of the data, not a zero for ever."""
    with pytest.raises(DataError, match=r"tasks\.jsonl, line 3: task 't1'"):
        qa(scorer=scorer).check(task(answer))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prompt": "Say yes."}, "no field of the task"),
        ({"prompt": "{question} {answer}"}, "expected answer"),
        ({"extraction": "pattern"}, "answer_pattern go together"),
        ({"extraction": "json_field"}, "answer_field go together"),
        ({"answer_pattern": "x"}, "extraction is auto"),
        ({"extraction": "pattern", "answer_pattern": "("}, "no regular expression"),
        ({"extraction": "first_line"}, "extraction"),
        ({"scorer": "exat"}, "did you mean 'exact'"),
    ],
)
def test_settings_that_cannot_work_are_errors(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        qa(**settings)


def test_the_literal_placeholder_of_the_answer_is_allowed() -> None:
    assert qa(prompt="{question} Reply {{answer}}.").present(task()).messages[0].content.endswith("Reply {answer}.")


def test_the_optimizer_is_told_what_the_skill_is_for_and_what_it_cannot_change() -> None:
    """F134"""
    purpose = qa(prompt="{question}\nNumber only.", scorer="number", tolerance=0.5).purpose
    for words in ("system message", "{question}\\nNumber only.", "last number", "within 0.5", "cannot change"):
        assert words in purpose
    assert "Each task is put as" not in qa().purpose
    assert "whole reply" in qa(scorer="json").purpose


def test_a_pattern_that_is_the_same_for_all_tasks_is_warned_of() -> None:
    """F27: a check of the shape alone is won by a rule that prints the shape."""
    tasks = [task("Paris"), task("Rome")]
    (warning,) = qa(scorer="pattern", pattern="## Results.*", pattern_match="search").warnings(tasks)
    assert "## Results" in warning
    assert "shape" in warning
    assert qa(scorer="pattern", pattern="## Results\n{answer}").warnings(tasks) == ()
    assert qa(scorer="pattern").warnings(tasks) == ()


@pytest.mark.parametrize("scorer", ["exact", "pattern", "choice"])
def test_tasks_that_all_expect_the_same_are_warned_of(scorer: str) -> None:
    """F27"""
    assert "same answer" in qa(scorer=scorer).warnings([task("B"), task("B")])[0]
    assert qa(scorer=scorer).warnings([task("B")]) == ()
    assert qa(scorer=scorer).warnings([task("B"), task("C")]) == ()


def test_options_that_the_prompt_does_not_show_are_warned_of() -> None:
    tasks = [task("A", options=["Paris", "Rome"]), task("B", options=["Paris", "Rome"])]
    assert "2 of 2" in qa(scorer="choice").warnings(tasks)[0]
    assert qa(scorer="choice", prompt="{question}\n{options}").warnings(tasks) == ()


def test_every_setting_changes_the_identity() -> None:
    variants = [
        qa(), qa(prompt="Q: {question}"), qa(extraction="tag"), qa(scorer="f1"), qa(normalise="spaces"),
        qa(scorer="number"), qa(scorer="number", tolerance=0.1),
        qa(scorer="number", units="convert", unit_factors={"m": 1.0}),
    ]  # fmt: skip
    identities = [variant.identity for variant in variants]
    assert all(identities.count(identity) == 1 for identity in identities)


def test_a_scoring_function_counts_by_its_bytes_and_not_by_its_path(tmp_path: Path) -> None:
    """More 1 in kind: evidence is kept by what was measured, never by a directory."""
    text = "def same(predicted, answer):\n    return predicted == answer\n"
    identities: list[Any] = []
    for name, content in (("a.py", text), ("b.py", text), ("c.py", text + "\n")):
        (tmp_path / name).write_text(content, "utf-8")
        identities.append(qa(scorer=f"{tmp_path / name}:same").identity)
    assert identities[0] == identities[1] != identities[2]


def test_a_configuration_reaches_every_setting() -> None:
    own = {
        "scorer": "number",
        "units": "convert",
        "unit_factors": {"m": 1, "km": 1000},
        "prompt": "{question}",
        "tolerance": 1,
    }
    environment = load_environment(EnvSettings.model_validate({"name": "qa", **own}))
    assert environment.score(task("1 km"), said("1001 m")).hard == 1
    listed = load_environment(EnvSettings.model_validate({"name": "qa", "scorer": "json", "json_fields": ["a"]}))
    assert listed.score(task({"a": 1, "b": 2}), said('{"a": 1}')).hard == 1
