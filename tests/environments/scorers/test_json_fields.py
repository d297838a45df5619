from __future__ import annotations

import pytest

from skillopt.environments.scorers.json_fields import JsonFields, equal_json
from skillopt.errors import DataError
from skillopt.types import JsonValue, Score, Task, Trajectory

ORDER: JsonValue = {"sku": "AB-1", "count": 2, "express": True, "note": None}


def scored(predicted: str, answer: JsonValue = ORDER, scorer: JsonFields = JsonFields()) -> Score:  # noqa: B008
    task = Task("1", {"answer": answer})
    scorer.check(task)
    return scorer.score(predicted, task, Trajectory((), predicted))


def test_all_fields_equal_is_solved_in_any_order_and_fence() -> None:
    reply = 'Sure:\n```json\n{"note": null, "express": true,\n "count": 2.0, "sku": " AB-1 "}\n```'
    score = scored(reply)
    assert (score.hard, score.soft) == (1, 1.0)


def test_partial_credit_is_the_share_of_equal_fields() -> None:
    score = scored('{"sku": "AB-1", "count": 3, "express": true}')
    assert (score.hard, score.soft) == (0, 0.5)
    assert score.feedback == "2 of 4 fields are right: 'count' expected 2, was 3; 'note' is missing, expected null."


def test_a_number_and_a_text_are_told_apart_and_said_to_be() -> None:
    """F41: the feedback states the mismatch that there is, and no advice."""
    text_expected = scored('{"n": 7}', {"n": "7"}).feedback
    number_expected = scored('{"n": "7"}', {"n": 7}).feedback
    assert text_expected == "0 of 1 fields are right: 'n' expected \"7\" (text), was 7 (number)."
    assert number_expected == "0 of 1 fields are right: 'n' expected 7 (number), was \"7\" (text)."


def test_extra_fields_are_forbidden_unless_allowed() -> None:
    reply = '{"a": 1, "b": 2}'
    forbidden = scored(reply, {"a": 1})
    assert (forbidden.hard, forbidden.soft) == (0, 1.0)
    assert "'b' was not expected" in forbidden.feedback
    assert scored(reply, {"a": 1}, JsonFields(extra_fields="allow")).hard == 1


def test_json_fields_limit_what_is_compared() -> None:
    scorer = JsonFields(fields=("sku", "count"))
    assert scored('{"sku": "AB-1", "count": 2, "express": false, "more": 1}', scorer=scorer).hard == 1
    assert scored('{"sku": "AB-1"}', scorer=scorer).soft == 0.5
    with pytest.raises(DataError, match="no field 'price'"):
        scored("{}", scorer=JsonFields(fields=("price",)))


@pytest.mark.parametrize(
    ("ours", "theirs", "equal"),
    [
        (1, 1.0, True), (True, 1, False), (0, False, False), (True, True, True), ("a ", " a", True), ("a", "A", False),
        ([1, "x"], [1.0, "x "], True), ([1, 2], [2, 1], False), ([1], [1, 2], False), (None, None, True),
        (None, 0, False),
        ({"a": {"b": 1}}, {"a": {"b": 1.0}}, True), ({"a": 1}, {"a": 1, "b": 2}, False), ("1", 1, False),
    ],
)  # fmt: skip
def test_equality_of_json_values(ours: JsonValue, theirs: JsonValue, equal: bool) -> None:
    assert equal_json(ours, theirs) is equal
    assert equal_json(theirs, ours) is equal


def test_the_gold_may_be_text_and_may_be_several() -> None:
    assert scored('{"a": 2}', '{"a": 2}').hard == 1
    assert scored('{"a": 2}', [{"a": 1}, {"a": 2}]).hard == 1


@pytest.mark.parametrize("predicted", ["no object", '{"sku": "AB-1",', "[1]"])
def test_an_answer_without_an_object_says_so(predicted: str) -> None:
    score = scored(predicted)
    assert (score.hard, score.soft) == (0, 0.0)
    assert "holds no JSON object" in score.feedback
    assert '"AB-1"' in score.feedback
    assert "no answer was found" in scored("").feedback


@pytest.mark.parametrize("gold", ["{broken", "[1]", "7", {}, 7, '{"a": NaN}'])
def test_a_gold_that_is_no_object_is_an_error(gold: JsonValue) -> None:
    with pytest.raises(DataError, match="task '1'"):
        JsonFields().check(Task("1", {"answer": gold}))


def test_long_values_are_trimmed() -> None:
    assert len(scored('{"a": "%s"}' % ("y" * 9000), {"a": "x" * 9000}).feedback) < 300


def test_the_rule_follows_the_options() -> None:
    assert "no other field" in JsonFields().rule
    assert "no other field" not in JsonFields(extra_fields="allow").rule
    assert "in the fields a, b" in JsonFields(("a", "b")).rule
