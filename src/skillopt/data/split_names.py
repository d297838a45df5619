"""The names a split goes by."""

from __future__ import annotations

from skillopt.errors import UsageError
from skillopt.types import SplitName

SPLIT_NAMES: dict[SplitName, tuple[str, ...]] = {
    "train": ("train",),
    "val": ("val", "valid_seen", "selection", "valid", "validation", "dev"),
    "test": ("test", "valid_unseen"),
}
"""For each split, all names it may have on the command line, as a folder or as a file, its own first."""


def parse_split(name: str) -> SplitName:
    """Return the split that a name stands for.

    Raises:
        UsageError: For any other name, with the nearest one.
    """
    for split, names in SPLIT_NAMES.items():
        if name in names:
            return split
    from rapidfuzz import fuzz, process

    known = [alias for names in SPLIT_NAMES.values() for alias in names]
    found = process.extractOne(name, known, scorer=fuzz.ratio, score_cutoff=60)
    hint = f"Did you mean {found[0]}?" if found else f"Splits are {', '.join(known)}."
    raise UsageError(f"there is no split {name!r}", hint=hint)
