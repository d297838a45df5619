"""A large training that nothing limits begins on a terminal only when a person says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.pseudo_terminal import on_a_terminal
from tests.support.commands import in_a_process, write_tiny_run

DEAR = {f"model__{role}__price": {"input": 10_000.0, "output": 10_000.0} for role in ("target", "optimizer")}
"""Ten dollars are reached by a tiny run."""


def started(directory: Path, *words: str, typed: str | None, **settings: Any) -> tuple[int, str]:
    config = write_tiny_run(directory, **{**DEAR, **settings})
    return on_a_terminal("train", config, *words, columns=100, cwd=directory, typed=typed)


@pytest.mark.parametrize("typed", ["n\n", "\n", "what?\n", "\x04"], ids=["no", "nothing", "something", "end"])
def test_anything_but_yes_begins_nothing(tmp_path: Path, typed: str) -> None:
    """F115: no surprise on the bill."""
    code, said = started(tmp_path, typed=typed)
    assert (code, "The training may cost up to $" in said, "not begun; no model was asked" in said) == (1, True, True)
    assert not (tmp_path / "run").exists()


def test_yes_begins_and_the_same_command_again_does_not_ask(tmp_path: Path) -> None:
    _, said = started(tmp_path, typed="y\n")
    assert "Begin? [y/N]" in said
    assert (tmp_path / "run" / "summary.json").exists()
    _, again = started(tmp_path, typed="")
    assert "Begin?" not in again


@pytest.mark.parametrize(
    ("words", "typed", "settings"),
    [
        (["--yes"], "", {}),
        ([], None, {}),
        ([], "", {"limits__dollars": 1000.0}),
        ([], "", {"limits__target": {"calls": 999}, "limits__optimizer": {"tokens": 999_999}}),
        ([], "", {f"model__{role}__price": {"input": 0.1, "output": 0.1} for role in ("target", "optimizer")}),
    ],
    ids=["--yes", "nobody to ask", "limited", "both roles limited", "cheap"],
)
def test_it_is_not_asked_where_it_need_not_or_cannot_be(
    tmp_path: Path, words: list[str], typed: str | None, settings: dict[str, Any]
) -> None:
    _, said = started(tmp_path, *words, typed=typed, **settings)
    assert "Begin?" not in said
    assert (tmp_path / "run" / "summary.json").exists()


def test_in_a_log_and_in_the_plan_it_is_a_warning(tmp_path: Path) -> None:
    config = write_tiny_run(tmp_path, **DEAR)
    for words in (("train", config), ("train", config, "--dry-run")):
        _, said, _ = in_a_process(*words, cwd=tmp_path)
        assert "warning: the training may cost up to $" in said
