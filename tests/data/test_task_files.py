"""From rows to tasks: field mapping, ids, categories."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from skillopt.data.task_files import TaskFile, content_digest, read_task_file
from skillopt.errors import DataError
from skillopt.types import JsonValue


def read(directory: Path, *items: Mapping[str, JsonValue], fields: Mapping[str, str] | None = None) -> TaskFile:
    path = directory / "t.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    return read_task_file(path, fields=fields)


def test_a_task_has_its_id_fields_category_and_place(tmp_path: Path) -> None:
    file = read(
        tmp_path, {"id": "数-一", "question": "q", "category": "dates"}, {"id": 7, "question": "r", "task_type": 3}
    )
    first, second = file.tasks
    assert (first.id, dict(first.fields), first.category) == ("数-一", {"question": "q", "category": "dates"}, "dates")
    assert (second.id, second.category) == ("7", "3")
    assert second.location == f"{tmp_path / 't.jsonl'}, line 2"
    assert file.digest == hashlib.sha256((tmp_path / "t.jsonl").read_bytes()).hexdigest()


def test_fields_are_mapped_by_name_or_by_steps(tmp_path: Path) -> None:
    fields = {"question": "prompt", "answer": "gold.text", "id": "uid", "category": "meta.kind"}
    (task,) = read(
        tmp_path, {"uid": 5, "prompt": "q", "gold": {"text": "a"}, "meta": {"kind": "k"}, "more": 1}, fields=fields
    ).tasks
    assert (task.id, task.category) == ("5", "k")
    assert dict(task.fields) == {
        "gold": {"text": "a"}, "meta": {"kind": "k"}, "more": 1, "question": "q", "answer": "a", "category": "k",
    }  # fmt: skip


def test_a_name_with_a_dot_is_found_as_it_stands(tmp_path: Path) -> None:
    (task,) = read(tmp_path, {"a.b": 1}, fields={"x": "a.b"}).tasks
    assert dict(task.fields) == {"x": 1}


def test_a_mapped_field_that_is_missing_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 2: no field 'prompt', which env.fields names for 'question'\n.*id, q"):
        read(tmp_path, {"id": 1, "prompt": "x"}, {"id": 2, "q": "x"}, fields={"question": "prompt"})


def test_without_ids_the_content_gives_them_wherever_a_task_stands(tmp_path: Path) -> None:
    one = read(tmp_path, {"q": "x"}, {"q": "y"}).tasks
    other = read(tmp_path, {"q": "y"}, {"q": "x"}).tasks
    assert [task.id for task in one] == [task.id for task in reversed(other)]
    assert len(one[0].id) == 12


def test_without_ids_equal_tasks_are_an_error_that_names_the_lines(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"1 tasks that are equal.*\n.*line 1; .*line 3\nRemove"):
        read(tmp_path, {"q": "x"}, {"q": "y"}, {"q": "x"})


def test_the_same_id_twice_is_an_error_that_names_ids_and_lines(tmp_path: Path) -> None:
    """F95, More 6: a number and a text that read the same are the same id."""
    with pytest.raises(
        DataError, match=r"2 ids that stand more than once:\n  'a': .*line 1; .*line 3\n  '1': .*4; .*5"
    ):
        read(
            tmp_path,
            {"id": "a", "q": 1},
            {"id": "b", "q": 2},
            {"id": "a", "q": 3},
            {"id": 1, "q": 4},
            {"id": "1", "q": 5},
        )


def test_a_message_names_five_ids_and_counts_the_rest(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"7 ids(.*\n){6}  and 2 more") as caught:
        read(tmp_path, *({"id": n % 7, "q": n} for n in range(14)))
    assert "'5'" not in str(caught.value)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"q": 1}, "line 2: no id, though other tasks have one"),
        ({"id": None, "q": 1}, "line 2: no id"),
        ({"id": "", "q": 1}, "line 2: the id is ''; it must be text"),
        ({"id": " ", "q": 1}, "line 2: the id is ' '"),
        ({"id": True, "q": 1}, "line 2: the id is True"),
        ({"id": 1.5, "q": 1}, "line 2: the id is 1.5"),
        ({"id": ["a"], "q": 1}, "line 2: the id is"),
        ({"id": "b"}, "line 2: the task has no fields besides its id"),
        ({"id": "b", "q": "\ud800"}, "line 2: half of a surrogate pair"),
    ],
)
def test_a_row_that_is_no_task_is_named_with_its_line(tmp_path: Path, item: dict[str, JsonValue], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, {"id": "a", "q": 0}, item)


def test_a_number_beyond_all_bounds_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('[{"q": 1e999}]', "utf-8")
    with pytest.raises(DataError, match="line 1: a number is too large"):
        read_task_file(tmp_path / "t.json")


@pytest.mark.parametrize(("name", "content"), [("t.json", "[]"), ("t.jsonl", "\n"), ("t.csv", "a,b\n"), ("t.csv", "")])
def test_a_file_without_tasks_is_an_error(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(DataError, match="holds no tasks"):
        read_task_file(tmp_path / name)


def test_the_key_of_an_object_of_tasks_is_the_id(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"a": {"q": 1}, "b": {"q": 2, "id": "c"}}', "utf-8")
    assert [task.id for task in read_task_file(tmp_path / "t.json").tasks] == ["a", "c"]


def test_content_is_the_same_under_another_id(tmp_path: Path) -> None:
    one, two = read(tmp_path, {"id": 1, "q": "x"}, {"id": 2, "q": "x"}).tasks
    assert content_digest(one) == content_digest(two)
    assert one.digest != two.digest


def test_a_long_document_fits_a_csv_cell(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(f"id,question,answer\na,{'x' * 200_000},b\n", "utf-8")
    assert len(str(read_task_file(path).tasks[0].fields["question"])) == 200_000
