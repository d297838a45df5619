"""Laws that every scorer keeps, whatever the texts."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.digests import canonical_json
from skillopt.environments.extraction import Extraction, extract, without_reasoning
from skillopt.environments.options import Option
from skillopt.environments.prompt_template import render
from skillopt.environments.reading import read_json_object
from skillopt.environments.scorers.choice import chosen
from skillopt.environments.scorers.number import last_number
from skillopt.environments.scorers.settings import SCORERS, ScorerSettings, build_scorer
from skillopt.environments.scorers.text import anls, exact, token_f1
from skillopt.types import JsonValue, Task, Trajectory

WORDS = st.text(st.sampled_from("aAbB 12.,-()*$%\n{}\"'\\:"), max_size=30) | st.text(max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(min_size=1, max_size=4), JSON, min_size=1, max_size=4)
GOLDS: dict[str, JsonValue] = {
    "exact": "New York", "f1": "New York", "anls": "New York", "number": "1,234.5 km", "choice": "(B)",
    "pattern": r"N\w+", "json": {"city": "New York", "n": 1},
}  # fmt: skip


@pytest.mark.parametrize("scorer", SCORERS)
@given(predicted=WORDS)
def test_any_answer_gets_one_score_that_is_the_same_again(scorer: str, predicted: str) -> None:
    task, trajectory = Task("1", {"question": "Q", "answer": GOLDS[scorer]}), Trajectory((), predicted)
    first, again = (build_scorer(ScorerSettings(scorer=scorer)).score(predicted, task, trajectory) for _ in range(2))
    assert first == again
    assert 0.0 <= first.soft <= 1.0
    assert first.feedback
    assert first.hard == 0 or first.soft == 1.0
    assert "\n" not in first.feedback


@given(ours=WORDS, theirs=WORDS)
def test_text_similarities_are_symmetric_and_1_for_equal_texts(ours: str, theirs: str) -> None:
    assert exact(ours, theirs) == exact(theirs, ours)
    assert token_f1(ours, theirs) == pytest.approx(token_f1(theirs, ours))
    assert anls(ours, theirs) == pytest.approx(anls(theirs, ours))
    assert token_f1(ours, ours) == anls(ours, ours) == 1.0
    assert not exact(ours, theirs) or token_f1(ours, theirs) == 1.0


@given(st.fractions(max_denominator=10**4).filter(lambda value: abs(value) < 10**12))
def test_a_fraction_is_read_exactly_as_it_was_written(value: Fraction) -> None:
    quantity = last_number(f"So it is {value}.")
    assert quantity is not None
    assert quantity.value == value


@given(value=st.decimals(-(10**9), 10**9, places=2), ahead=st.sampled_from(["", "3 and ", "$", "x = ", "about -"]))
def test_a_number_with_thousands_is_read_exactly(value: object, ahead: str) -> None:
    quantity = last_number(f"{ahead}{value:,} km")
    negative = ahead.endswith("-") and not str(value).startswith("-")
    assert quantity is not None
    assert quantity.value == Fraction(str(value)) * (-1 if negative else 1)


@given(
    label=st.sampled_from("ABCD"),
    form=st.sampled_from(
        ["({})", "{}", "{}.", "**{}**", "Option {}", "\\boxed{{{}}}", "Answer: {}", "The answer is ({})."]
    ),
    lower=st.booleans(),
)
def test_every_form_of_every_label_is_read_in_either_case(label: str, form: str, *, lower: bool) -> None:
    options = tuple(Option(letter, f"text {letter}") for letter in "ABCD")
    written = form.format(label.lower() if lower else label)
    assert chosen(written, options) == chosen(written, ()) == label


@given(OBJECTS, WORDS.filter(lambda text: "{" not in text))
def test_a_json_object_is_found_in_any_prose_and_is_solved_by_itself(gold: dict[str, JsonValue], prose: str) -> None:
    reply = f"{prose}\n```json\n{canonical_json(gold)}\n```\n{prose}"
    assert read_json_object(reply) == gold
    task = Task("1", {"answer": gold})
    assert build_scorer(ScorerSettings(scorer="json")).score(reply, task, Trajectory((), reply)).hard == 1


@given(answer=WORDS.filter(lambda text: "<" not in text), before=WORDS, how=st.sampled_from(["auto", "tag"]))
def test_a_tagged_answer_is_found_behind_any_text(answer: str, before: str, how: Extraction) -> None:
    reply = f"{without_reasoning(before)}<answer>{answer}</answer>"
    assert extract(reply, how) == extract(f"<answer>{answer}", how)


@given(question=st.text(min_size=1).filter(str.strip), before=WORDS.map(lambda text: text.replace("{", "(")))
def test_a_tasks_text_reaches_the_prompt_unchanged(question: str, before: str) -> None:
    assert render(f"{before}\n{{question}}\nend", Task("1", {"question": question})) == f"{before}\n{question}\nend"
