from __future__ import annotations

import sys
from pathlib import Path

import pytest

from skillopt.environments.scorers.python_function import load_function
from skillopt.errors import DataError, EnvironmentLoadError
from skillopt.types import JsonValue, Score, Task, Trajectory

TASK = Task("t9", {"answer": "x", "hint": "h"})


def scored(directory: Path, body: str, parameters: str = "predicted, answer") -> Score:
    path = directory / "scoring.py"
    path.write_text(f"from skillopt import Score\ndef f({parameters}):\n    {body}\n", "utf-8")
    return load_function(f"{path}:f").score("the answer", TASK, Trajectory((), "the whole reply"))


@pytest.mark.parametrize(
    ("body", "hard", "soft"),
    [
        ("return True", 1, 1.0),
        ("return False", 0, 0.0),
        ("return 1", 1, 1.0),
        ("return 0.25", 0, 0.25),
        ("return 0.9999", 0, 0.9999),
        ("import fractions; return fractions.Fraction(1, 2)", 0, 0.5),
        ("return (0.5, 'half')", 0, 0.5),
        ("return True, 'yes'", 1, 1.0),
        ("return Score(1, 0.5, 'odd', 'p')", 1, 0.5),
    ],
)
def test_every_form_of_return_value_becomes_a_score(tmp_path: Path, body: str, hard: int, soft: float) -> None:
    score = scored(tmp_path, body)
    assert (score.hard, score.soft) == (hard, soft)


def test_feedback_is_the_functions_own_or_states_the_facts(tmp_path: Path) -> None:
    assert scored(tmp_path, "return 0.5, 'half of it'").feedback == "half of it"
    assert scored(tmp_path, "return 0.5").feedback == "Expected 'x'; the answer was 'the answer' (score 0.5)."
    assert scored(tmp_path, "return Score(0, 0.0, 'no')").predicted == "the answer"
    assert scored(tmp_path, "return Score(0, 0.0, 'no', 'mine')").predicted == "mine"


@pytest.mark.parametrize("fields", [{}, {"answer": None}, {"answer": ""}, {"answer": []}, {"answer": [None, " "]}])
@pytest.mark.parametrize("value", ["0.5", "True", "(0.0, 'no')"])
def test_a_task_without_an_answer_expects_none_that_could_be_named(
    tmp_path: Path, fields: dict[str, JsonValue], value: str
) -> None:
    """Not "null": the optimizer would teach the target to say it."""
    path = tmp_path / "scoring.py"
    path.write_text(f"def f(predicted):\n    return {value}\n", "utf-8")
    score = load_function(f"{path}:f").score("x", Task("1", fields), Trajectory((), "x"))
    assert score.expected == ""
    assert "Expected" not in score.feedback


@pytest.mark.parametrize("value", ["float('nan')", "1.01", "-0.1", "float('inf')", "7", "(2.0, 'x')"])
def test_a_number_outside_0_to_1_is_an_error_and_never_a_score(tmp_path: Path, value: str) -> None:
    """More 3: NaN is not a score, and nothing is clipped."""
    with pytest.raises(ValueError, match=r"scorer f returned .* for task 't9'; it must be from 0 to 1"):
        scored(tmp_path, f"return {value}")


@pytest.mark.parametrize("value", ["None", "'1'", "[1]", "(1, 2)", "(1, 'a', 'b')", "{}"])
def test_any_other_value_is_an_error(tmp_path: Path, value: str) -> None:
    with pytest.raises(TypeError, match="scorer f returned"):
        scored(tmp_path, f"return {value}")


def test_an_exception_of_the_function_comes_through_as_it_is(tmp_path: Path) -> None:
    """F6: the runner is the one seam that records it."""
    with pytest.raises(ZeroDivisionError):
        scored(tmp_path, "return 1 / 0")


def test_parameters_are_given_by_name(tmp_path: Path) -> None:
    body = "return True, repr((task.fields['hint'], trajectory.output, answer, scale))"
    assert scored(tmp_path, body, "trajectory, task, answer, scale=2, *rest, **more").feedback == (
        "('h', 'the whole reply', 'x', 2)"
    )
    assert scored(tmp_path, "return True", "").hard == 1


@pytest.mark.parametrize("parameters", ["text", "predicted, gold", "predicted, /"])
def test_a_parameter_that_there_is_not_is_an_error_at_load(tmp_path: Path, parameters: str) -> None:
    with pytest.raises(EnvironmentLoadError, match="asks for") as caught:
        scored(tmp_path, "return 1", parameters)
    assert "predicted, answer, task, trajectory" in caught.value.hint


def test_an_answer_is_needed_only_by_a_function_that_asks_for_it(tmp_path: Path) -> None:
    path = tmp_path / "scoring.py"
    path.write_text("def needs(answer):\n    return 1\ndef free(predicted):\n    return 1\n", "utf-8")
    load_function(f"{path}:free").check(Task("1", {}))
    with pytest.raises(DataError, match="'answer' is missing"):
        load_function(f"{path}:needs").check(Task("1", {}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "no function 'f'"),
        ("f = 3\n", "no function 'f'"),
        ("async def f(predicted):\n    return 1\n", "is async"),
        ("def f(:\n", "line 1"),
        ("import not_installed_anywhere\n", "ModuleNotFoundError"),
    ],
)
def test_a_function_that_cannot_be_loaded_says_why(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "scoring.py"
    path.write_text(text, "utf-8")
    with pytest.raises(EnvironmentLoadError, match=message):
        load_function(f"{path}:f")


@pytest.mark.parametrize("name", ["no_such_package_at_all:f", "nowhere.py:f", "plain"])
def test_a_name_that_leads_nowhere_is_an_error(name: str) -> None:
    with pytest.raises(EnvironmentLoadError):
        load_function(name)


def test_a_function_of_an_importable_module_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "importable_scoring.py").write_text("def f(predicted):\n    return predicted == 'yes'\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    loaded = load_function("importable_scoring:f")
    assert loaded.score("yes", TASK, Trajectory((), "")).hard == 1
    assert len(loaded.sha256) == 64
    monkeypatch.delitem(sys.modules, "importable_scoring")


def test_the_identity_is_the_function_and_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "scoring.py"
    path.write_text("def f():\n    return 1\ndef g():\n    return 1\n", "utf-8")
    first, other = load_function(f"{path}:f"), load_function(f"{path}:g")
    assert first.identity != other.identity
    assert str(tmp_path) not in str(first.identity)
    path.write_text("def f():\n    return 0\ndef g():\n    return 1\n", "utf-8")
    assert load_function(f"{path}:f").identity != first.identity
