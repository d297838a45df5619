"""Rows of task files: every format, every line end, every fault with its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillopt.data.rows import is_task_file, read_rows
from skillopt.errors import DataError

CONTENTS = {
    "t.json": '[{"id": "a", "q": "x"},\n{"id": "b", "q": "y"}]',
    "t.jsonl": '{"id": "a", "q": "x"}\n{"id": "b", "q": "y"}\n',
    "t.ndjson": '{"id": "a", "q": "x"}\n{"id": "b", "q": "y"}',
    "t.csv": "id,q\na,x\nb,y\n",
    "t.TSV": "id\tq\na\tx\nb\ty",
}


def rows(path: Path, content: str | bytes) -> list[tuple[int, object]]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return [(row.line, row.values) for row in read_rows(path)]


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_format_reads_with_any_line_end_and_mark(tmp_path: Path, name: str, end: str, mark: str) -> None:
    found = rows(tmp_path / name, mark + CONTENTS[name].replace("\n", end))
    assert [values for _, values in found] == [{"id": "a", "q": "x"}, {"id": "b", "q": "y"}]
    assert [line for line, _ in found] == ([2, 3] if name in ("t.csv", "t.TSV") else [1, 2])


@pytest.mark.parametrize(
    "text",
    [
        '{"data": [{"q": 1}], "version": {"a": 1}}',
        '{"version": {"a": 1}, "data": [{"q": 1}]}',
        '{"canary": "x", "examples": [{"q": 1}]}',
    ],
)
def test_a_list_may_stand_in_an_object(tmp_path: Path, text: str) -> None:
    assert rows(tmp_path / "t.json", text) == [(1, {"q": 1})]


def test_an_object_of_objects_gives_each_its_key(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"a": {"q": 1},\n "b": {"q": 2}}', "utf-8")
    assert [(row.line, row.key, row.values) for row in read_rows(path)] == [(1, "a", {"q": 1}), (2, "b", {"q": 2})]


def test_unusual_separators_inside_text_end_no_line(tmp_path: Path) -> None:
    assert rows(tmp_path / "t.jsonl", '{"q": "a\u2028b\u0085c\u000bd"}\n'.replace("\u000b", "\\u000b")) == [
        (1, {"q": "a\u2028b\u0085c\u000bd"})
    ]


def test_a_csv_cell_may_hold_lines_and_the_next_row_keeps_its_number(tmp_path: Path) -> None:
    assert rows(tmp_path / "t.csv", 'q,a\r\n"x\r\ny",1\r\n\r\nz,2\r\n') == [
        (2, {"q": "x\r\ny", "a": "1"}),
        (5, {"q": "z", "a": "2"}),
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.json", "", "t.json is empty"),
        ("t.json", '"x"', "line 1: a list of tasks is needed"),
        ("t.json", '[{"a": 1},\n 3]', "line 2: a bare value where a task is needed"),
        ("t.json", '{"a": 1}', "line 1: a bare value where a task is needed"),
        ("t.json", '{"a": 1}\n{"a": 2}', r"line 2: .*must be named .jsonl"),
        ("t.json", '[{"a": 1}]\nx', "line 2: text after the end"),
        ("t.json", '{"data": [], "examples": []}', "two lists of tasks, data and examples"),
        ("t.json", '{"a": {"b": 1},\n"a": {"b": 1}}', "line 2: the key 'a' stands here a second time"),
        ("t.json", '{a: 1}', "a key in quotes is needed"),
        ("t.json", '[{"a": 1}', r"line 1: the file ends where '\]'|',' is needed"),
        ("t.jsonl", '{"a": 1}\n\n{"a": nope}', "line 3: column 7: not valid JSON"),
        ("t.jsonl", '{"a": 1}\n{"a": NaN}', "line 2: NaN is no JSON number"),
        ("t.jsonl", "{}\n[1]", "line 2: a list where a task is needed"),
        ("t.jsonl", "{}\nnull", "line 2: null where a task is needed"),
        ("t.jsonl", '[{"a": 1},\n{"a": 2}]', r"line 1: .*\nA file that is one JSON list must be named .json"),
        ("t.jsonl", b'{"a": 1}\n{"a": "\xff"}', r"not UTF-8 text \(line 2\)"),
        ("t.jsonl", '{"a": 1}'.encode("utf-16"), r"not UTF-8 text \(line 1\)\nIt looks like UTF-16; save it as UTF-8"),
        ("t.jsonl", '{"a": \0}', "line 1: .*not valid JSON"),
        ("t.csv", "a,b\n1,2\n1\0,2", "line 3: a NUL byte"),
        ("t.csv", "a,b\n1,2,3", "line 2: 3 cells, but the header names 2 columns"),
        ("t.csv", "a,b\n1", "line 2: 1 cells"),
        ("t.csv", ",b\n0,1", "line 1: column 1 has no name"),
        ("t.csv", "a, a\n0,1", "line 1: two columns are named 'a'"),
        ("t.csv", 'a\n"x', "line 2: not valid CSV"),
        ("t.txt", "x", r"task files end in .json, .jsonl, .ndjson, .csv or .tsv"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_file_and_line(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        rows(tmp_path / name, content)
    assert name in str(caught.value)


def test_what_is_no_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """F95, F98: a path that is wrong is an error, and a pipe is not waited for."""
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "tasks.jsonl").write_text("{}", "utf-8")
    for name, message in {
        "pipe.jsonl": "is a pipe and not a file",
        "folder.json": "is a directory",
        "task.jsonl": "does not exist\nDid you mean .*tasks.jsonl",
        "nowhere/t.json": "directory .*nowhere does not exist either",
        "a\0.json": "cannot be read",
    }.items():
        with pytest.raises(DataError, match=message):
            list(read_rows(tmp_path / name))
    with pytest.raises(DataError, match="task files end in"):
        list(read_rows(Path("/dev/zero")))


def test_a_task_file_is_known_by_its_name() -> None:
    assert is_task_file(Path("a.JSONL"))
    assert not is_task_file(Path(".a.jsonl"))
    assert not is_task_file(Path("a.md"))
