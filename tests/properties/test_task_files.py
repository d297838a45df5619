"""Laws of reading task files: what is in the file is in the tasks, in whatever format and bytes it came."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.data.task_files import read_task_file
from skillopt.errors import DataError

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
ids = texts.filter(str.strip)
tables = st.dictionaries(ids, texts, min_size=1, max_size=6)
marks = st.sampled_from(["", "\ufeff"])


def found(directory: Path, name: str, text: str) -> dict[str, object]:
    path = directory / name
    path.write_bytes(text.encode("utf-8"))
    return {task.id: task.fields["q"] for task in read_task_file(path).tasks}


@given(tables, marks, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_json_and_jsonl_give_every_task_back(
    tmp_path_factory: pytest.TempPathFactory, table: dict[str, str], mark: str, end: str, escaped: bool
) -> None:
    directory = tmp_path_factory.getbasetemp()
    rows = [{"id": name, "q": text} for name, text in table.items()]
    lines = end.join(json.dumps(row, ensure_ascii=escaped) for row in rows)
    whole = json.dumps(rows, ensure_ascii=escaped, indent=1).replace("\n", end)
    assert found(directory, "t.jsonl", mark + lines) == table
    assert found(directory, "t.json", mark + whole) == table


@given(tables, marks, st.sampled_from(["\n", "\r\n"]), st.sampled_from([("t.csv", ","), ("t.tsv", "\t")]))
def test_csv_gives_every_task_back(
    tmp_path_factory: pytest.TempPathFactory, table: dict[str, str], mark: str, end: str, kind: tuple[str, str]
) -> None:
    name, delimiter = kind
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(
        [("id", "q"), *table.items()]
    )
    assert found(tmp_path_factory.getbasetemp(), name, mark + file.getvalue()) == table


@given(st.binary(max_size=60), st.sampled_from(["t.json", "t.jsonl", "t.csv"]))
def test_any_bytes_are_tasks_or_an_error_with_the_file(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str
) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(content)
    try:
        assert read_task_file(path).tasks
    except DataError as error:
        assert str(path) in str(error)


@given(st.lists(st.text('[]{}":,\\ 1aN\n', max_size=30), max_size=3), st.sampled_from(["t.json", "t.jsonl"]))
def test_any_shape_is_tasks_or_an_error_with_the_file(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], name: str
) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_text('{"id": 1, "q": 2}'.join(parts), "utf-8")
    try:
        assert read_task_file(path).tasks
    except DataError as error:
        assert str(path) in str(error)
