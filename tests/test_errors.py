"""Errors say what went wrong and what to do."""

from __future__ import annotations

import inspect
import shlex
import sys

import pytest

from skillopt import errors
from skillopt.errors import (
    FatalModelError,
    ModelError,
    RateLimitError,
    SkillOptError,
    TransientModelError,
    install_line,
)

CLASSES = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, SkillOptError)]


def test_the_hint_stands_below_the_message() -> None:
    error = SkillOptError("what went wrong", hint="what to do")
    assert str(error) == "what went wrong\nwhat to do"
    assert (error.message, error.hint) == ("what went wrong", "what to do")


def test_an_extra_is_added_to_the_installation_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pip that a shell finds may belong to another Python, to which the name is somebody else's package."""
    assert shlex.split(install_line("dashboard")) == [sys.executable, "-m", "pip", "install", "skillopt[dashboard]"]
    monkeypatch.setattr(sys, "executable", "/with space/python")
    assert shlex.split(install_line("local"))[0] == "/with space/python"


def test_an_error_without_a_hint_is_its_message() -> None:
    assert str(SkillOptError("what went wrong")) == "what went wrong"


@pytest.mark.parametrize("error_class", CLASSES)
def test_every_error_stands_in_the_tree_of_the_module_and_says_when_it_is_raised(error_class: type) -> None:
    assert errors.__doc__ and error_class.__name__ in errors.__doc__
    assert error_class.__doc__


def test_a_rate_limit_may_pass_and_tells_the_wait() -> None:
    error = RateLimitError("slow down", retry_after=2.5)
    assert isinstance(error, TransientModelError)
    assert (error.status, error.retry_after) == (429, 2.5)


def test_what_may_pass_is_told_apart_from_what_will_not() -> None:
    assert issubclass(TransientModelError, ModelError)
    assert issubclass(FatalModelError, ModelError)
    assert not issubclass(FatalModelError, TransientModelError)
