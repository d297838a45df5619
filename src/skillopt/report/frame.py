# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The table library ships partial types; ours are complete.
"""The history of a run as a pandas table, for notebooks: a row a record, flat columns, the same types in every run."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from skillopt.errors import ColumnError, DataError, MissingDependencyError
from skillopt.report.course import Record
from skillopt.report.history_columns import ALWAYS, NESTED, ColumnType, column_type, synonyms
from skillopt.report.run_source import RunSource, read_history

if TYPE_CHECKING:
    import pandas

_OLDEST_PANDAS = 3
_WIDTH = 110
"""Characters of a line of an error that lists columns."""


def history_frame(run: RunSource) -> pandas.DataFrame:
    """Return the history of a run as a table: one row for the baseline and for each step.

    Columns are the fields of history.json, explained in docs/run_directory.md. What a field holds by name is a column
    of its own, such as `total_usage.target.dollars`; lists stay lists. Steps and epochs are `int64`, other numbers
    `float64` with NaN for a gap, words `str`, lists `object`, truth values `boolean`. The columns of a step are there
    in every table; those that a run makes itself, such as `counters.replies_dropped`, where some record has them.

    Args:
        run: A run directory, a history.json, what `skillopt.train` returned, or records. Of a run whose baseline is not
            measured yet the table has no rows.

    Raises:
        MissingDependencyError: If pandas is not installed, or too old.
        RunDirectoryError: If there is no history, or one that cannot be read.
        DataError: If the records are none of a history.
    """
    library = _pandas()
    rows = [_flat(record) for record in read_history(run).records]
    names = dict.fromkeys([*ALWAYS, *(name for row in rows for name in row)])
    return library.DataFrame({name: _series(name, [row.get(name) for row in rows]) for name in names})


def column(frame: pandas.DataFrame, *candidates: str) -> pandas.Series:
    """Return the column of a table that has the first fitting name; its own name is in `.name`.

    Under each name the value's other names are tried as well, such as `rollout_hard` for `train_acc`. A column that
    holds nothing is taken only where none that holds something fits.

    Args:
        frame: A table of `history_frame`, or any other one of a history.
        candidates: Names of the column that is wanted, the preferred one first.

    Raises:
        ColumnError: If none fits; it is a KeyError too.
    """
    names = list(dict.fromkeys([*candidates, *(other for name in candidates for other in synonyms(name))]))
    there = [name for name in names if name in frame.columns]
    if not there:
        raise _no_column(candidates, [str(name) for name in frame.columns])
    found = [cast("pandas.Series", frame[name]) for name in there]
    return next((series for series in found if series.count()), found[0])


def _pandas():
    wanted = f"a table of a run needs pandas {_OLDEST_PANDAS} or newer"
    missing = MissingDependencyError(wanted, hint='pip install "skillopt[notebook]"')
    try:
        import pandas
    except ImportError as error:
        raise missing from error
    if int(pandas.__version__.partition(".")[0]) < _OLDEST_PANDAS:
        raise missing
    return pandas


def _flat(record: Record) -> dict[str, object]:
    """Return a record with the fields within its fields under names of their own.

    Raises:
        DataError: If that gives two fields one name.
    """
    flat: dict[str, object] = {}
    for name, value in _leaves(record, ""):
        if name in flat:
            raise DataError(f"a record has two values for {name}: as one field, and as a field within a field")
        flat[name] = value
    return flat


def _leaves(record: Record, beginning: str) -> Iterator[tuple[str, object]]:
    for key, value in record.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{beginning}{key}.")
        elif value is not None or key not in NESTED:
            yield f"{beginning}{key}", value


def _series(name: str, values: Sequence[object]) -> pandas.Series:
    """Return a column in the type that is stated for it, or else in the one that its values have in common.

    Raises:
        DataError: If a value does not fit the type that is stated, or is beyond what a table can hold.
    """
    stated = column_type(name)
    for number, value in enumerate(values):
        lacking = value is None and stated != "int64"
        if stated is not None and not lacking and not _fits(value, stated):
            raise DataError(f"record {number}: {name} is {value!r}; {_WANTED[stated]} belongs there")
    try:
        return _pandas().Series(values, dtype=stated or _common_type(values))
    except (OverflowError, ValueError) as error:
        raise DataError(f"{name} holds what no table can hold: {error}") from error


_WANTED: Mapping[ColumnType, str] = {"int64": "a whole number", "float64": "a number", "str": "a text"}


def _fits(value: object, stated: ColumnType) -> bool:
    match stated:
        case "int64":
            return isinstance(value, int) and not isinstance(value, bool)
        case "float64":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "str":
            return isinstance(value, str)
        case "object":
            return True


def _common_type(values: Sequence[object]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return "float64"
    if kinds in ({str}, {bool}):
        return "str" if kinds == {str} else "boolean"
    return "object"


def _no_column(candidates: Sequence[str], columns: Sequence[str]) -> ColumnError:
    by_lower_case = {name.lower(): name for name in columns}
    near = [
        by_lower_case[found]
        for name in map(str, candidates)
        for found in difflib.get_close_matches(name.lower(), by_lower_case, n=2, cutoff=0.6)
    ]
    wanted = " or ".join(map(repr, candidates)) or "without a name"
    told = f"; nearest: {', '.join(dict.fromkeys(near))}" if near else ""
    there = f"The columns are: {', '.join(columns)}" if columns else "The table has no columns."
    return ColumnError(
        f"there is no column {wanted}{told}",
        hint=textwrap.fill(there, _WIDTH, break_long_words=False, break_on_hyphens=False),
    )
