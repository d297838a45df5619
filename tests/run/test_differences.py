"""Old and new, as a person reads them."""

from __future__ import annotations

import pytest

from skillopt.run.differences import changed_keys, setting_line, tasks_line


def test_a_key_that_is_not_there_counts_as_null_and_a_truth_value_is_no_number() -> None:
    before = {"a": 1, "b": None, "c": [1, 2], "d": {"x": 1, "y": 2}, "gone": 0}
    after = {"a": True, "c": [2, 1], "d": {"y": 2, "x": 1}, "new": None}
    assert changed_keys(before, after) == ["a", "c", "gone"]


def test_short_values_are_shown_whole() -> None:
    assert setting_line("train.seed", 42, 43) == "train.seed: 42 -> 43"
    assert setting_line("env.split_mode", None, "ratio") == 'env.split_mode: null -> "ratio"'
    assert setting_line("evaluation.guards", {}, {"safe": 0.5}) == 'evaluation.guards: {} -> {"safe": 0.5}'


def test_long_values_are_cut_to_where_they_begin_to_differ() -> None:
    line = setting_line("environment.settings.prompt", "a" * 300 + "OLD" + "b" * 300, "a" * 300 + "NEW" + "b" * 300)
    assert len(line) < 320
    old, new = line.removeprefix("environment.settings.prompt: ").split(" -> ")
    assert old.startswith("...aaa") and old.endswith("bbb...")
    assert old.replace("OLD", "NEW") == new != old


def test_a_value_that_only_goes_on_shows_where_it_ends() -> None:
    line = setting_line("environment.settings.prompt", "a" * 300, "a" * 300 + " tail")
    assert ' tail"' in line


def test_digests_are_short() -> None:
    assert setting_line("seed skill (digest)", "a" * 64, "b" * 64) == (
        'seed skill (digest): "aaaaaaaaaaaa..." -> "bbbbbbbbbbbb..."'
    )


@pytest.mark.parametrize(
    ("key", "before", "after"),
    [
        ("model.target.extra_body.api_key", "one-of-mine", "another-of-mine"),
        ("environment.settings.token", "one-of-mine", None),
        ("model.target.base_url", "https://user:one-of-mine@host/v1", "https://host/v1"),
        ("environment.settings.header", "Bearer one-of-mine-0123456789", "none"),
    ],
)
def test_what_may_be_secret_is_hidden(key: str, before: str, after: str | None) -> None:
    """The probes' row 18: an older version, or a person, may have let one into the record."""
    line = setting_line(key, before, after)
    assert "of-mine" not in line
    assert "(not shown)" in line


def test_a_split_says_which_tasks_came_went_and_changed() -> None:
    before = [("a", "1"), ("b", "2"), ("c", "3")]
    after = [("b", "2"), ("c", "4"), ("d", "5"), ("e", "6")]
    assert tasks_line("val", before, after) == ('tasks of val: 2 added ("d", "e"), 1 removed ("a"), 1 changed ("c")')


def test_a_split_in_another_order_says_so() -> None:
    assert tasks_line("train", [("a", "1"), ("b", "2")], [("b", "2"), ("a", "1")]) == (
        "tasks of train: the same tasks in another order"
    )


def test_of_many_tasks_a_few_are_named_and_none_breaks_the_line() -> None:
    after = [(f"{number}\n{'x' * 100}", "1") for number in range(50)]
    line = tasks_line("test", [], after)
    assert line.startswith('tasks of test: 50 added ("0\\nxxx')
    assert line.endswith("and 45 more)")
    assert "\n" not in line
    assert len(line) < 300
