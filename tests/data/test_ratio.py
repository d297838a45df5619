"""How a ratio divides tasks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.data.ratio import split_counts


@pytest.mark.parametrize(
    ("total", "weights", "counts"),
    [
        (10, (2, 1, 7), (2, 1, 7)),
        (11, (2, 1, 7), (2, 1, 8)),
        (12, (2, 1, 7), (2, 1, 9)),
        (13, (2, 1, 7), (3, 1, 9)),
        (100, (2, 1, 7), (20, 10, 70)),
        (177, (2, 1, 7), (35, 18, 124)),
        (246, (2, 1, 7), (49, 25, 172)),
        (400, (2, 1, 7), (80, 40, 280)),
        (534, (2, 1, 7), (107, 53, 374)),
        (100, (1, 1, 1), (34, 33, 33)),
    ],
)
def test_the_public_arithmetic_is_kept(total: int, weights: tuple[int, int, int], counts: tuple[int, int, int]) -> None:
    """F93: 177 items at 2:1:7."""
    assert split_counts(total, weights) == counts


@pytest.mark.parametrize(
    ("total", "counts"),
    [(3, (1, 1, 1)), (4, (1, 1, 2)), (5, (1, 1, 3)), (6, (1, 1, 4)), (7, (1, 1, 5)), (8, (1, 1, 6)), (9, (2, 1, 6))],
)
def test_few_tasks_still_fill_every_split(total: int, counts: tuple[int, int, int]) -> None:
    """More 6."""
    assert split_counts(total, (2, 1, 7)) == counts


@pytest.mark.parametrize("total", [0, 1, 2])
def test_fewer_tasks_than_splits_cannot_be_divided(total: int) -> None:
    """More 6."""
    with pytest.raises(ValueError, match="cannot fill"):
        split_counts(total, (2, 1, 7))


@given(st.integers(3, 500), st.tuples(*[st.integers(1, 1000)] * 3))
def test_every_task_goes_to_one_split_and_none_is_empty(total: int, weights: tuple[int, int, int]) -> None:
    counts = split_counts(total, weights)
    assert sum(counts) == total
    assert min(counts) >= 1
    shares = [total * weight / sum(weights) for weight in weights]
    if min(shares) >= 1:
        assert all(abs(count - share) < 1 for count, share in zip(counts, shares, strict=True))
