"""Reading files of one directory and of no other."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from skillopt.errors import RunDirectoryError
from skillopt.report.reading import DirectoryReader

ANY = re.compile(".*")
WHOLE_NUMBERS: TypeAdapter[Any] = TypeAdapter(dict[str, int])
ROWS_OF_NUMBERS: TypeAdapter[Any] = TypeAdapter(list[dict[str, int]])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    directory = tmp_path / "run"
    directory.mkdir()
    return directory


def test_a_file_is_read_as_it_is(root: Path) -> None:
    (root / "skill.md").write_bytes("# é\r\n".encode())
    assert DirectoryReader(root).text("skill.md") == "# é\r\n"


def test_what_is_not_there_is_no_error(root: Path) -> None:
    (root / "file").write_text("", "utf-8")
    reader = DirectoryReader(root)
    assert reader.text("none.md") is None
    assert reader.text("file/below.md") is None
    assert reader.names("none", ANY) == reader.names("file", ANY) == ()
    assert reader.value("none.json", WHOLE_NUMBERS, "nothing") == "nothing"
    assert reader.table("none.csv", ROWS_OF_NUMBERS, "nothing") == "nothing"


def test_names_that_match_come_in_the_order_of_their_numbers(root: Path) -> None:
    for name in ("step_10000", "step_9999", "step_0002", "step_two", "xstep_0001", "step_0003 "):
        (root / name).mkdir()
    assert DirectoryReader(root).names(".", re.compile(r"step_\d+")) == ("step_0002", "step_9999", "step_10000")


@pytest.mark.parametrize(
    "place", ["../secret.txt", "a/../../secret.txt", "/etc/hostname", "link.txt", "linked/secret.txt"]
)
def test_no_way_leads_out_of_the_directory(root: Path, place: str) -> None:
    (root / "a").mkdir()
    (root / "link.txt").symlink_to(root.parent / "secret.txt")
    (root / "linked").symlink_to(root.parent, target_is_directory=True)
    with pytest.raises(RunDirectoryError, match="outside of the run directory"):
        DirectoryReader(root).text(place)
    with pytest.raises(RunDirectoryError, match="outside of the run directory"):
        DirectoryReader(root).names("linked", ANY)


def test_a_link_within_the_directory_is_followed(root: Path) -> None:
    (root / "skill.md").write_text("here", "utf-8")
    (root / "link.md").symlink_to("skill.md")
    assert DirectoryReader(root).text("link.md") == "here"


@pytest.mark.parametrize("place", ["loop", "a\0b", "x" * 5000])
def test_a_name_that_is_none_is_one_message(root: Path, place: str) -> None:
    (root / "loop").symlink_to("loop")
    with pytest.raises(RunDirectoryError, match="cannot be read"):
        DirectoryReader(root).text(place)


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes in directories")
def test_a_pipe_is_not_waited_for(root: Path) -> None:
    os.mkfifo(root / "history.json")
    with pytest.raises(RunDirectoryError, match="no regular file"):
        DirectoryReader(root).text("history.json")


def test_a_file_beyond_all_bounds_is_refused_before_it_fills_the_memory(root: Path) -> None:
    with (root / "history.json").open("wb") as file:
        file.truncate(2**31)
    with pytest.raises(RunDirectoryError, match=r"history\.json is too large: 2,147,483,648 bytes"):
        DirectoryReader(root).value("history.json", WHOLE_NUMBERS, None)
    assert DirectoryReader(root).content("history.json", last=3) == b"\0\0\0"


def test_a_directory_in_the_place_of_a_file_is_one_message(root: Path) -> None:
    (root / "skill.md").mkdir()
    with pytest.raises(RunDirectoryError, match="no regular file"):
        DirectoryReader(root).text("skill.md")


def test_bytes_are_read_as_they_are(root: Path) -> None:
    (root / "picture.png").write_bytes(b"\x89PNG\r\n\xff")
    assert DirectoryReader(root).content("picture.png") == b"\x89PNG\r\n\xff"
    assert DirectoryReader(root).content("none.png") is None


def test_bytes_that_are_no_text_are_one_message(root: Path) -> None:
    (root / "skill.md").write_bytes(b"# \xff")
    with pytest.raises(RunDirectoryError, match=r"no UTF-8 text \(byte 2\)") as caught:
        DirectoryReader(root).text("skill.md")
    assert "once more" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "JSONDecodeError"), ('{"a": 1', "JSONDecodeError"), ("[" * 100_000, "RecursionError"), ('{"a": "b"}', "a: ")],
)
def test_a_value_of_another_shape_is_one_message_that_says_where(root: Path, text: str, reason: str) -> None:
    (root / "value.json").write_text(text, "utf-8")
    with pytest.raises(RunDirectoryError, match=re.escape(reason)) as caught:
        DirectoryReader(root).value("value.json", WHOLE_NUMBERS, None)
    assert "value.json" in caught.value.message and "once more" in caught.value.hint


def test_a_table_is_rows_by_the_names_of_their_columns_and_one_of_another_shape_is_one_message(root: Path) -> None:
    (root / "numbers.csv").write_text("a,b\n1,2\n3,4\n", "utf-8")
    assert DirectoryReader(root).table("numbers.csv", ROWS_OF_NUMBERS, ()) == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    (root / "numbers.csv").write_text("a,b\n1,2\n3,much\n", "utf-8")
    with pytest.raises(RunDirectoryError, match=r"numbers\.csv is nothing that .* 1\.b: Input should be a valid"):
        DirectoryReader(root).table("numbers.csv", ROWS_OF_NUMBERS, ())


def test_half_a_surrogate_pair_does_not_make_a_file_unreadable(root: Path) -> None:
    """A reply may hold one as an escape; no page can."""
    (root / "value.json").write_text(json.dumps({"a\ud800": 1}), "utf-8")
    assert DirectoryReader(root).value("value.json", WHOLE_NUMBERS, None) == {"a?": 1}


def test_the_end_of_a_file_is_read_without_the_rest(root: Path) -> None:
    (root / "log").write_bytes(b"0123456789")
    reader = DirectoryReader(root)
    assert [reader.content("log", last=last) for last in (3, 10, 99)] == [b"789", b"0123456789", b"0123456789"]
    assert reader.content("none", last=3) is None
    os.mkfifo(root / "pipe")
    with pytest.raises(RunDirectoryError, match="no regular file"):
        reader.content("pipe", last=3)
    (root / "link").symlink_to(root.parent / "secret.txt")
    with pytest.raises(RunDirectoryError, match="outside of the run directory"):
        reader.content("link", last=3)
