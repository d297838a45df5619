"""The stated columns are those of real records, and names that mean the same mean the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skillopt.report.history_columns import ALWAYS, NESTED, column_type, synonyms


def fields(record: dict[str, Any], beginning: str = "") -> Iterator[tuple[str, object]]:
    for key, value in record.items():
        if isinstance(value, dict):
            yield from fields(value, f"{beginning}{key}.")
        else:
            yield f"{beginning}{key}", value


@pytest.fixture(scope="module")
def records(eventful: Path) -> list[dict[str, Any]]:
    return json.loads((eventful / "history.json").read_text("utf-8"))


def test_every_stated_column_is_a_field_of_a_real_step(records: list[dict[str, Any]]) -> None:
    assert [name for name in ALWAYS if name not in records[-1]] == []


def test_every_field_of_a_real_step_is_stated_or_holds_fields(records: list[dict[str, Any]]) -> None:
    """A field that history.json gains is to be stated here; those of an epoch's end and spending are fields within."""
    within = {name for record in records for name, value in record.items() if isinstance(value, dict)}
    assert {name for record in records for name in record} - ALWAYS.keys() - within - NESTED == set()


def test_a_field_that_is_null_in_some_records_and_holds_fields_in_others_is_known(
    records: list[dict[str, Any]],
) -> None:
    def null(record: dict[str, Any]) -> set[str]:
        inner = [null(value) for value in record.values() if isinstance(value, dict)]
        return {key for key, value in record.items() if value is None}.union(*inner)

    def holding(record: dict[str, Any]) -> set[str]:
        inner = [holding(value) for value in record.values() if isinstance(value, dict)]
        return {key for key, value in record.items() if isinstance(value, dict)}.union(*inner)

    both = set[str]().union(*map(null, records)) & set[str]().union(*map(holding, records))
    assert both and both <= NESTED


def test_only_columns_of_numbers_are_left_unstated(records: list[dict[str, Any]]) -> None:
    others = {
        name: value
        for record in records
        for name, value in fields(record)
        if column_type(name) is None and name.rpartition(".")[2] not in NESTED and not isinstance(value, int | float)
    }
    assert set(others.values()) <= {None}


def test_the_types_between_epochs_are_those_of_a_step() -> None:
    assert column_type("slow_update.action") == column_type("meta_skill.reason") == column_type("action") == "str"
    assert column_type("slow_update.broken") == "object"
    assert column_type("criteria.reason") is None, "a scorer may call a criterion as it likes"


def test_each_name_stands_for_one_value(records: list[dict[str, Any]]) -> None:
    """Two names of one line that a record has both must say the same."""
    for record in records[1:]:
        told = dict(fields(record))
        for name in told:
            for other in synonyms(name):
                assert told.get(other, told[name]) == told[name], (name, other)


def test_names_of_one_value_lead_to_each_other() -> None:
    assert synonyms("rollout_hard")[0] == "train_acc"
    assert synonyms("train_acc")[0] == "rollout_hard"
    assert "edit_budget" in synonyms("learning_rate")
    assert synonyms("reason") == ()
