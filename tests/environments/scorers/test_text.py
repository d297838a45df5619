from __future__ import annotations

import pytest

from skillopt.environments.scorers.base import Scorer
from skillopt.environments.scorers.text import Anls, Exact, Normalise, TokenF1, anls, exact, token_f1
from skillopt.errors import DataError
from skillopt.types import JsonValue, Score, Task, Trajectory


def scored(scorer: Scorer, predicted: str, answer: JsonValue) -> Score:
    task = Task("1", {"answer": answer})
    scorer.check(task)
    return scorer.score(predicted, task, Trajectory((), predicted))


@pytest.mark.parametrize(
    ("predicted", "gold", "em", "f1"),
    [
        ("The Beatles", "beatles", 1, 1.0),
        ("New York City", "New York", 0, 0.8),
        ("Shakespeare's", "Shakespeares", 1, 1.0),
        ("U.S.A.", "USA", 1, 1.0),
        ("", "The", 1, 1.0),
        ("a b c", "b c d", 0, 0.8),
        ("x", "", 0, 0.0),
        ("go go", "go", 0, 2 / 3),
    ],
)
def test_squad_vectors(predicted: str, gold: str, em: int, f1: float) -> None:
    assert int(exact(predicted, gold)) == em
    assert token_f1(predicted, gold) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("predicted", "gold", "similarity"),
    [
        ("kitten", "sitting", 0.571), ("Hello World", "hello  world", 1.0), ("abcd", "abzz", 0.0),
        ("abcde", "abcdf", 0.8), ("", "", 1.0), ("", "abc", 0.0),
    ],
)  # fmt: skip
def test_anls_vectors(predicted: str, gold: str, similarity: float) -> None:
    assert anls(predicted, gold) == pytest.approx(similarity, abs=5e-4)


@pytest.mark.parametrize(
    ("predicted", "gold", "equal_under"),
    [
        ("2024-03-05", "20240305", {"squad"}),
        ("ab-1", "AB-1", {"squad", "case"}),
        ("AB  1", "AB 1", {"squad", "case", "spaces"}),
        ("the AB-1", "AB-1", {"squad"}),
        ("AB-1", "AB-1", {"squad", "case", "spaces", "none"}),
        ("AB-1\n", "AB-1", {"squad", "case", "spaces", "none"}),
        ("cafe\u0301", "caf\u00e9", {"squad", "case", "spaces"}),
    ],
)
def test_normalise_says_what_may_differ(predicted: str, gold: str, equal_under: set[Normalise]) -> None:
    """A house format (dates, codes) needs case and punctuation to count."""
    ways: tuple[Normalise, ...] = ("squad", "case", "spaces", "none")
    assert {way for way in ways if scored(Exact(way), predicted, gold).hard} == equal_under


def test_the_best_of_several_accepted_answers_counts() -> None:
    score = scored(TokenF1(), "New York City", ["Boston", "New York", "NYC"])
    assert (score.hard, score.soft) == (0, pytest.approx(0.8))
    assert score.feedback == (
        "Expected 'Boston' or 'New York' or 'NYC'; the answer was 'New York City' (token F1 0.80)."
    )
    assert scored(Exact(), "nyc", ["New York", "NYC"]).hard == 1
    assert scored(TokenF1(), "nyc", ["New York", "NYC"]).hard == 1
    assert scored(Anls(), "kitten", ["dog", "sitting"]).soft == pytest.approx(4 / 7)


def test_anls_solves_from_0_999() -> None:
    long = "x" * 2000
    assert scored(Anls(), long[:-1], long).hard == 1
    assert scored(Anls(), long[:-3], long).hard == 0


@pytest.mark.parametrize("scorer", [Exact(), Exact("none"), TokenF1(), Anls()])
def test_no_answer_is_never_right(scorer: Scorer) -> None:
    score = scorer.score("", Task("1", {"answer": "Paris"}), Trajectory((), ""))
    assert (score.hard, score.soft) == (0, 0.0)
    assert "no answer was found" in score.feedback


@pytest.mark.parametrize("scorer", [Exact(), TokenF1()])
@pytest.mark.parametrize("gold", ["The", "] ]", "...", ["fine", "(-)"]])
def test_an_expected_answer_of_which_nothing_is_left_is_an_error(scorer: Scorer, gold: JsonValue) -> None:
    """Otherwise every answer made of punctuation would be right."""
    with pytest.raises(DataError, match="nothing is left") as caught:
        scorer.check(Task("1", {"answer": gold}))
    assert "normalise: spaces" in caught.value.hint
    assert scored(Exact("spaces"), "] ]", "] ]").hard == 1


def test_the_rule_of_each_says_what_counts() -> None:
    rules = [scorer.rule for scorer in (Exact(), Exact("case"), Exact("spaces"), Exact("none"), TokenF1(), Anls())]
    assert len(set(rules)) == len(rules)
