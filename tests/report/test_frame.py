"""The history of a run as a pandas table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.records import record

from skillopt import report
from skillopt.errors import ColumnError, DataError, MissingDependencyError, SkillOptError, install_line
from skillopt.report.frame import column, history_frame
from skillopt.report.history_columns import ALWAYS


def types(frame: pandas.DataFrame) -> dict[str, str]:
    return {str(name): str(dtype) for name, dtype in frame.dtypes.items()}


@pytest.fixture(scope="module")
def records(eventful: Path) -> list[dict[str, Any]]:
    return json.loads((eventful / "history.json").read_text("utf-8"))


def test_a_table_has_a_row_for_each_record_and_their_values(eventful: Path, records: list[dict[str, Any]]) -> None:
    frame = history_frame(eventful)
    assert frame["step"].tolist() == list(range(9))
    for name in ("val_acc", "current_score", "skill_tokens", "action", "best_origin"):
        assert frame[name].tolist() == [record[name] for record in records]
    for name in ("train_acc", "edit_budget"):
        assert frame[name][1:].tolist() == [record[name] for record in records[1:]]
        assert frame[name].isna().tolist() == [True] + [False] * 8
    assert frame["total_usage.target.dollars"].tolist() == [
        record["total_usage"]["target"]["dollars"] for record in records
    ]
    assert frame["support_counts"][1] == records[1]["support_counts"]
    assert frame["support_counts"][0] is None


def test_every_source_gives_the_same_table(eventful: Path, records: list[dict[str, Any]]) -> None:
    frame = history_frame(records)
    for source in (eventful, str(eventful), eventful / "history.json"):
        pandas.testing.assert_frame_equal(history_frame(source), frame)


def test_the_stated_columns_are_there_first_in_their_types_for_any_number_of_records(
    records: list[dict[str, Any]],
) -> None:
    """A run that ended after its baseline draws an empty budget; it does not end in a KeyError."""
    for some in ([], records[:1], records):
        frame = history_frame(some)
        told = types(frame)
        assert list(told)[: len(ALWAYS)] == list(ALWAYS)
        assert {name: told[name] for name in ALWAYS} == dict(ALWAYS)
        assert len(frame) == len(some)


def test_all_of_a_column_that_two_tables_share_has_one_type(records: list[dict[str, Any]]) -> None:
    whole = types(history_frame(records))
    for number in range(len(records)):
        part = types(history_frame(records[number : number + 1]))
        assert part == {name: whole[name] for name in part}


def test_a_gap_where_fields_within_a_field_could_be_is_no_column_of_its_own() -> None:
    frame = history_frame([record(0), record(1, sign_test=None), record(2, sign_test={"p_value": 0.5})])
    assert "sign_test" not in frame.columns
    assert frame["sign_test.p_value"].isna().tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, None], "float64"),
        ([None, None], "float64"),
        ([1, 0.5], "float64"),
        (["a", None], "str"),
        ([True, None], "boolean"),
        ([[1], None], "object"),
        ([True, 1], "object"),
        (["a", 1], "object"),
    ],
)
def test_a_column_that_is_not_stated_has_the_type_of_its_values(values: list[Any], dtype: str) -> None:
    frame = history_frame([record(step, counters={"mine": value}) for step, value in enumerate(values)])
    assert types(frame)["counters.mine"] == dtype
    assert frame["counters.mine"].isna().tolist() == [value is None for value in values]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"step": None}, "record 1: step is None; a whole number belongs there"),
        ({"step": True}, "record 1: step is True; a whole number belongs there"),
        ({"val_acc": "0.5"}, "record 1: val_acc is '0.5'; a number belongs there"),
        ({"reason": 5}, "record 1: reason is 5; a text belongs there"),
        ({"step": 2**70}, "step holds what no table can hold"),
        ({"counters": {"a": 10**400}}, "counters.a holds what no table can hold"),
        ({"edits.applied": 1, "edits": {"applied": 2}}, "two values for edits.applied"),
    ],
)
def test_a_value_that_does_not_fit_is_told(more: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError) as error:
        history_frame([record(0), {**record(1), **more}])
    assert told in str(error.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.dictionaries(st.text(max_size=3), JSON, max_size=4), max_size=4))
def test_any_records_are_a_table_of_as_many_rows_or_an_error_of_ours(made: list[dict[str, Any]]) -> None:
    given_records = [{"step": number, "epoch": 0, "other": inner} for number, inner in enumerate(made)]
    try:
        frame = history_frame(given_records)
    except SkillOptError:
        return
    assert len(frame) == len(made)
    assert all(str(name) in ALWAYS or str(name).startswith("other") for name in frame.columns)


def test_a_column_is_found_by_the_first_name_that_fits(eventful: Path) -> None:
    frame = history_frame(eventful)
    assert column(frame, "val_acc").name == "val_acc"
    assert column(frame, "accuracy on val", "val_acc", "train_acc").name == "val_acc"
    assert column(frame, "learning_rate").name == "edit_budget"
    assert column(frame, "wall_time_s").name == "timing.wall_time_s"
    assert column(frame, "timing.evaluate_s").tolist()[1:] == frame["timing.gate_s"].fillna(0).tolist()[1:]
    assert column(frame, "train_accuracy").tolist()[1:] == frame["train_acc"].tolist()[1:]


def test_records_of_other_tools_of_the_method_are_read_by_their_names() -> None:
    """The names in which the public tool writes what it solved, and no baseline."""
    public = [
        {"step": step, "epoch": 1, "rollout_hard": 0.5, "selection_hard": 0.25, "edit_budget": 4} for step in (1, 2)
    ]
    for frame in (history_frame(public), pandas.DataFrame(public)):
        assert column(frame, "train_acc").tolist() == [0.5, 0.5]
        assert column(frame, "candidate_val_acc").tolist() == [0.25, 0.25]


def test_a_column_that_holds_nothing_gives_way_to_one_that_holds_something() -> None:
    frame = history_frame([record(0), record(1, train_acc=None, rollout_hard=0.5)])
    assert column(frame, "train_acc").name == "rollout_hard"
    assert column(history_frame([record(0)]), "edit_budget", "broken").name == "edit_budget"


def test_a_name_that_fits_nothing_is_an_error_with_the_nearest_and_all_there_are(eventful: Path) -> None:
    frame = history_frame(eventful)
    with pytest.raises(KeyError) as error:
        column(frame, "Val_Ac", "gate_s")
    assert isinstance(error.value, ColumnError)
    first, _, rest = str(error.value).partition("\n")
    assert first.startswith("there is no column 'Val_Ac' or 'gate_s'; nearest: val_acc, ")
    assert "timing.gate_s" in first
    assert rest.replace("\n", " ") == f"The columns are: {', '.join(frame.columns)}"


@pytest.mark.parametrize("name", [1, None])
def test_a_name_that_is_no_text_fits_nothing(name: Any) -> None:
    with pytest.raises(ColumnError, match=f"there is no column {name}"):
        column(history_frame([record(0)]), name)


def test_no_name_at_all_and_no_column_at_all_are_told() -> None:
    with pytest.raises(ColumnError, match="there is no column without a name\nThe columns are: a"):
        column(pandas.DataFrame({"a": [1]}))
    with pytest.raises(ColumnError, match=r"there is no column 'a'\nThe table has no columns\."):
        column(pandas.DataFrame(), "a")


WITHOUT_PANDAS = """
import sys
sys.modules["pandas"] = None
from skillopt.errors import MissingDependencyError
from skillopt.report import history_frame, plot_scores
try:
    history_frame([])
except MissingDependencyError as error:
    print(error)
plot_scores(sys.argv[1])
"""


def test_without_pandas_the_line_that_installs_it_is_told_and_pictures_are_drawn(eventful: Path) -> None:
    result = subprocess.run([sys.executable, "-c", WITHOUT_PANDAS, eventful], capture_output=True, text=True)
    assert result.stderr == ""
    assert result.stdout.splitlines()[-1] == install_line("notebook")


def test_an_old_pandas_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would make the text `None` of a gap."""
    monkeypatch.setattr(pandas, "__version__", "2.2.3")
    with pytest.raises(MissingDependencyError, match="pandas 3 or newer"):
        history_frame([])


def test_the_public_names_are_these_and_no_others() -> None:
    assert report.__all__ == sorted(report.__all__) == dir(report)
    for name in report.__all__:
        assert callable(getattr(report, name)) and getattr(report, name).__doc__
    assert not hasattr(report, "plot_everything")
