"""How pages are made of templates: every value is text, a missing one an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import UndefinedError

from skillopt.report.templating import own_file, page_environment


def render(template: str, **values: object) -> str:
    return page_environment().from_string(template).render(**values)


def test_a_value_is_text_without_control_characters() -> None:
    assert render("{{ one }}", one="<b>\x1b[31m&\"'") == "&lt;b&gt;\N{REPLACEMENT CHARACTER}[31m&amp;&#34;&#39;"
    assert render("{{ one }}", one="{{ 7 * 6 }}") == "{{ 7 * 6 }}"


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("{{ missing }}")


def test_templates_of_another_place_win(tmp_path: Path) -> None:
    (tmp_path / "parts.html.jinja").write_text("mine", "utf-8")
    assert page_environment(tmp_path).get_template("parts.html.jinja").render() == "mine"
    assert page_environment(tmp_path).get_template("report.html.jinja")


@pytest.mark.parametrize(
    ("template", "words"),
    [("{{ 0.125 | percent }}", "12.5 %"), ("{{ none | percent }}", ""), ("{{ 12345 | number }}", "12,345"),
     ("{{ none | dollars }}", "unknown"), ("{{ 0.05 | dollars }}", "$0.0500"), ("{{ 1234.5 | dollars }}", "$1,234.50"),
     ("{{ 'abcdef' | cut(3) }}", "abc\n... 3 more characters"), ("{{ 'over_budget' | words }}", "over budget"),
     ("{{ 'accept_new_best' | words }}", "accepted, new best"),
     ("{{ 'accept' | tone }} {{ 'reject' | tone }} {{ 'x' | tone }}", "good bad quiet")],
)  # fmt: skip
def test_numbers_and_words_are_shown_for_people(template: str, words: str) -> None:
    assert render(template) == words


def test_style_sheets_and_scripts_are_files_of_the_package() -> None:
    assert ".verdict" in own_file("templates/report.css")
