"""How many tasks each split gets from a ratio. Pure arithmetic on whole numbers."""

from __future__ import annotations


def split_counts(total: int, weights: tuple[int, int, int]) -> tuple[int, int, int]:
    """Divide a number of tasks by weights, with largest remainders; no split is left empty.

    Each split gets its whole share; what is left goes, one each, to the largest remainders, among equal ones to the
    larger weight, then to the earlier split. A split that would get none takes one from the largest.

    Args:
        total: Number of tasks, at least 3.
        weights: Parts of train, val and test, each at least 1.

    Raises:
        ValueError: If there are fewer tasks than splits.
    """
    if total < len(weights):
        raise ValueError(f"{total} tasks cannot fill {len(weights)} splits")
    whole = sum(weights)
    counts = [total * weight // whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda index: (-(total * weights[index] % whole), -weights[index], index))
    for index in order[: total - sum(counts)]:
        counts[index] += 1
    while 0 in counts:
        counts[counts.index(max(counts))] -= 1
        counts[counts.index(0)] += 1
    return counts[0], counts[1], counts[2]
