"""The seam to code that is not ours; what it looks like to a user is in e2e/test_foreign_code.py."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from skillopt.environments.foreign import foreign_code, place_of, shape_of, undisturbed, words_of
from skillopt.errors import DataError, EnvironmentLoadError


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit("no words")


def test_whatever_is_raised_becomes_ours_with_its_place() -> None:
    with (
        pytest.raises(
            EnvironmentLoadError, match=r"test_foreign\.py, line \d+: doing it raised ValueError: boom"
        ) as caught,
        foreign_code("doing it raised ", hint="mend it"),
    ):
        raise ValueError("boom")
    assert caught.value.hint == "mend it"


def test_our_own_errors_come_through_as_they_are() -> None:
    with pytest.raises(DataError, match=r"^task 7 lacks a word$"), foreign_code("doing it raised "):
        raise DataError("task 7 lacks a word")


def test_an_import_error_has_its_own_advice() -> None:
    with pytest.raises(EnvironmentLoadError) as caught, foreign_code(hint="a", import_hint="b"):
        raise ModuleNotFoundError("no such thing")
    assert caught.value.hint == "b"


def test_an_interruption_that_nobody_pressed_is_an_error_like_any_other() -> None:
    with pytest.raises(EnvironmentLoadError, match="KeyboardInterrupt"), foreign_code():
        raise KeyboardInterrupt


def test_one_that_was_pressed_ends_the_program_and_the_handler_is_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), foreign_code():
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10**9):
            pass
    assert signal.getsignal(signal.SIGINT) is before


def test_a_thread_of_its_own_is_never_interrupted() -> None:
    raised: list[BaseException] = []

    def work() -> None:
        try:
            with foreign_code():
                raise KeyboardInterrupt
        except EnvironmentLoadError as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(raised) == 1


def test_directory_and_streams_are_put_back_whatever_happens(tmp_path: Path) -> None:
    directory, out = Path.cwd(), sys.stdout
    with pytest.raises(ZeroDivisionError), undisturbed():
        os.chdir(tmp_path)
        sys.stdout = None  # type: ignore[assignment]
        raise ZeroDivisionError
    assert (Path.cwd(), sys.stdout) == (directory, out)


def test_a_directory_that_was_removed_is_not_gone_back_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with undisturbed():
        pass


def test_a_library_is_not_named_where_a_line_of_the_users_called_it() -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads("nope")
    assert place_of(caught.value, short=True).startswith("test_foreign.py, line ")


def test_what_cannot_be_said_or_shown_is_told_by_its_type() -> None:
    class Blank:
        def __repr__(self) -> str:
            raise KeyboardInterrupt

    assert words_of(Mute()) == "a Mute without a message"
    assert len(words_of(ValueError("x" * 9999))) == 2000
    assert shape_of(Blank()) == "a Blank"
    assert len(shape_of("x" * 9999)) == 100
    assert place_of(ValueError("never raised")) == ""
