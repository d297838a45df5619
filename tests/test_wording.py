"""What is said everywhere is said in the same words, which have one home."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.report.templating import page_environment
from skillopt.wording import SIMULATED, counted, simulated_notice

PACKAGE = Path(__file__).parents[1] / "src" / "skillopt"
HOME = PACKAGE / "wording.py"


@pytest.mark.parametrize(("number", "words"), [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks"), (1234, "1,234 tasks")])
def test_one_is_no_plural(number: int, words: str) -> None:
    assert counted(number, "task") == words
    assert page_environment().from_string("{{ number | counted('task') }}").render(number=number) == words


def test_a_plural_may_be_a_word_of_its_own() -> None:
    assert [counted(number, "pass", plural="passes") for number in (1, 2)] == ["1 pass", "2 passes"]


def test_numbers_of_simulated_models_are_named_where_real_ones_stand_beside_them() -> None:
    assert simulated_notice() == "SIMULATED MODELS: these numbers say nothing about real ones."
    assert simulated_notice(["B"]) == "SIMULATED MODELS in B: its numbers say nothing about real ones."
    assert simulated_notice(["A", "C"]) == "SIMULATED MODELS in A, C: their numbers say nothing about real ones."


def test_a_page_says_it_in_a_place_of_its_own() -> None:
    template = '{% import "parts.html.jinja" as parts %}{{ parts.simulated() }}'
    said = page_environment().from_string(template).render()
    assert said == f'<p class="simulated"><strong>{simulated_notice()}</strong></p>'


def test_no_other_file_says_that_models_are_simulated_in_words_of_its_own() -> None:
    files = [path for path in PACKAGE.rglob("*") if path.suffix in {".py", ".jinja", ".js"} and path != HOME]
    assert len(files) > 300
    assert [path.name for path in files if SIMULATED in path.read_text("utf-8")] == []


def plurals_by_hand(code: str) -> Iterator[str]:
    """Every f-string with a number, a noun, and an s that depends on something."""
    for text in (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.JoinedStr)):
        for parts in zip(text.values, text.values[1:], text.values[2:], strict=False):
            match parts:
                case (
                    ast.FormattedValue(),
                    ast.Constant(value=str(noun)),
                    ast.FormattedValue(value=ast.IfExp(body=ast.Constant(), orelse=ast.Constant()) as ending),
                ) if noun.startswith(" ") and {ast.literal_eval(ending.body), ast.literal_eval(ending.orelse)} in (
                    {"", "s"},
                    {"", "es"},
                ):
                    yield ast.unparse(text)
                case _:
                    pass


def test_no_other_module_makes_a_plural_by_hand() -> None:
    assert list(plurals_by_hand("""f"{n} step{'' if n == 1 else 's'}"; f"{n} pass{'es' if n > 1 else ''}" """))
    assert not list(plurals_by_hand("""f"line{'s' if n > 1 else ''} {n}" """))
    modules = [path for path in PACKAGE.rglob("*.py") if path != HOME]
    assert [found for path in modules for found in plurals_by_hand(path.read_text("utf-8"))] == []
