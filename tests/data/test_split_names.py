"""A split by any of its names, and by no other."""

from __future__ import annotations

import pytest

from skillopt.data.split_names import parse_split
from skillopt.errors import UsageError


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train", "train"),
        ("val", "val"),
        ("valid_seen", "val"),
        ("selection", "val"),
        ("test", "test"),
        ("valid_unseen", "test"),
    ],
)
def test_a_split_is_known_by_its_public_names(name: str, split: str) -> None:
    assert parse_split(name) == split


@pytest.mark.parametrize(
    ("name", "nearest"), [("vall", "val"), ("trian", "train"), ("valid-seen", "valid_seen"), ("tset", "test")]
)
def test_a_misspelt_split_is_an_error_that_names_the_nearest(name: str, nearest: str) -> None:
    """F98, More 8."""
    with pytest.raises(UsageError, match=f"Did you mean {nearest}\\?"):
        parse_split(name)


@pytest.mark.parametrize("name", ["", "VAL", "zzzzzzz"])
def test_no_other_name_is_taken_for_a_split(name: str) -> None:
    """F98."""
    with pytest.raises(UsageError):
        parse_split(name)
