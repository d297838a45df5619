"""Two skills on the same tasks."""

from __future__ import annotations

import pytest
from tests.support.values import rollout, unmeasured

from skillopt.types import Comparison, Pair, PairCategory, PairPolicy

PAIRS = tuple(Pair(rollout(n), rollout(n), category) for n, category in enumerate(PairCategory))


def test_the_categories_have_the_public_names_and_two_of_them_are_changes() -> None:
    assert {category.value: category.changed for category in PairCategory} == {
        "improved": True,
        "regressed": True,
        "persistent_fail": False,
        "stable_success": False,
    }


@pytest.mark.parametrize(("policy", "shown"), [("mixed", 4), ("changed", 2), ("unchanged", 2)])
def test_a_policy_shows_all_pairs_or_one_half(policy: PairPolicy, shown: int) -> None:
    comparison = Comparison(policy, (), (), PAIRS)
    assert len(comparison.shown) == shown
    assert policy == "mixed" or {pair.category.changed for pair in comparison.shown} == {policy == "changed"}


def test_every_compared_task_is_counted_once() -> None:
    """More 5: a missing result is no category."""
    current = (*(pair.current for pair in PAIRS), unmeasured(9))
    counts = Comparison("changed", (), current, PAIRS).counts
    assert counts == {"improved": 1, "regressed": 1, "persistent_fail": 1, "stable_success": 1, "unmeasured": 1}
    assert [pair.task.id for pair in PAIRS] == ["t0", "t1", "t2", "t3"]
