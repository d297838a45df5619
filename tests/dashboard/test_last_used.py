"""What is kept while it is among the last used."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from skillopt.dashboard.last_used import LastUsed


@given(most=some.integers(1, 4), names=some.lists(some.sampled_from("abcdef"), max_size=30))
def test_what_was_used_last_is_kept_and_all_who_ask_for_it_get_the_same(most: int, names: list[str]) -> None:
    kept = LastUsed[object](most)
    for number, name in enumerate(names):
        last = list(dict.fromkeys(reversed(names[:number])))[:most]
        before = kept.get(name)
        assert (before is not None) == (name in last)
        assert kept.get_or_make(name, object) is (before or kept.get(name))


def test_a_value_takes_the_place_of_another_one_of_its_name() -> None:
    kept = LastUsed[str](2)
    assert kept.get("a") is None
    assert kept.keep("a", "old") == "old" and kept.keep("a", "new") == "new"
    assert kept.keep("b", "other") == "other" and kept.get("a") == "new"
