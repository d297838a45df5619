"""Which training tasks a step works on where only unsolved ones are drawn."""

from __future__ import annotations

import random
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from skillopt.data.sampling import unsolved_batch
from skillopt.results import LastSeen
from skillopt.types import Task

TASKS = tuple(Task(str(number), {"q": number}) for number in range(6))


def drawn(last_seen: Mapping[str, LastSeen], size: int = 4, *, seed: int = 0) -> list[str]:
    return [task.id for task in unsolved_batch(TASKS, last_seen, size=size, draw=random.Random(seed))]


def seen(**solved: bool | None) -> dict[str, LastSeen]:
    """Tasks `_N` as they were seen, each a step after the one before it."""
    return {name[1:]: LastSeen(step, value) for step, (name, value) in enumerate(solved.items(), start=1)}


def test_at_first_any_task_may_come_in_an_order_of_the_generator() -> None:
    batches = {tuple(drawn({}, seed=seed)) for seed in range(50)}
    assert {task for batch in batches for task in batch} == {task.id for task in TASKS}
    assert len(batches) > 25
    assert drawn({}, seed=3) == drawn({}, seed=3)


def test_what_was_solved_or_could_not_be_measured_is_left_alone_while_others_wait() -> None:
    assert set(drawn(seen(_0=True, _1=False, _2=None, _3=True), size=9)) == {"1", "4", "5"}


def test_fewer_than_a_batch_make_a_smaller_one() -> None:
    assert drawn(seen(_0=True, _1=True, _2=False, _3=True, _4=True, _5=True)) == ["2"]


def test_where_none_is_left_those_seen_longest_ago_come_again() -> None:
    last_seen = seen(_3=True, _1=True, _5=None, _0=True, _2=True, _4=True)
    assert drawn(last_seen, size=3) == ["3", "1", "5"]


@given(
    st.dictionaries(st.sampled_from([task.id for task in TASKS]), st.sampled_from([True, False, None])),
    st.integers(1, 8),
    st.integers(0, 99),
)
def test_a_batch_is_never_empty_nor_too_large_and_holds_no_task_twice(
    known: dict[str, bool | None], size: int, seed: int
) -> None:
    last_seen = {task: LastSeen(1, solved) for task, solved in known.items()}
    batch = drawn(last_seen, size=size, seed=seed)
    unsolved = {task.id for task in TASKS if known.get(task.id, False) is False}
    assert len(set(batch)) == len(batch) == min(size, len(unsolved) or len(TASKS))
    assert not unsolved or set(batch) <= unsolved
