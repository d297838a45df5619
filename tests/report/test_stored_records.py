"""What views rely on in records and summaries: checked, and handed on as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from tests.support.records import record
from tests.support.runs import read_json

from skillopt.report.stored_records import CARD, MANIFEST, RECORD, RECORDS, SUMMARY, fits

VIEWS: dict[str, TypeAdapter[Any]] = {
    "history.json": RECORDS,
    "summary.json": SUMMARY,
    "run_card.json": CARD,
    "split_manifest.json": MANIFEST,
}


@pytest.mark.parametrize("name", VIEWS)
def test_what_a_run_wrote_fits_and_is_handed_on_as_it_stands(eventful: Path, name: str) -> None:
    written = read_json(eventful / name)
    checked = VIEWS[name].validate_python(written)
    assert checked == (tuple(written) if isinstance(written, list) else written)


@pytest.mark.parametrize(
    "changed", [{"epoch": "1"}, {"best_score": 10**400}, {"edits": None}, {"sign_test": {"better": -1}}]
)
def test_what_is_there_and_is_another_thing_does_not_fit(changed: dict[str, Any]) -> None:
    assert fits(record(1, a_later_version="knows it"), RECORD)
    assert not fits(record(1, **changed), RECORD)


def test_what_is_missing_is_said_by_who_needs_it() -> None:
    assert fits({"step": 1}, RECORD)
    assert fits({}, SUMMARY)
    assert not fits({"selection": 5}, SUMMARY)


@pytest.mark.parametrize("more", [{"total_usage": 5}, {"usage": {}}, {"final": 5}, {"test": {"seed": 1, "best": 1}}])
def test_an_early_summary_has_nothing_of_what_only_a_whole_one_has(more: dict[str, Any]) -> None:
    """F16: a view shows what is there, so what is there has been checked."""
    early = {"state": "provider_failed", "message": "no key"}
    assert SUMMARY.validate_python(early) == early
    with pytest.raises(ValidationError, match="whole"):
        SUMMARY.validate_python({**early, **more})
