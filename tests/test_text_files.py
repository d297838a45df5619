from __future__ import annotations

import json
import os
import stat
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import RunDirectoryError
from skillopt.text_files import (
    holding_nothing_else,
    never_made_anew,
    plain,
    readable_name,
    remove_partial_files,
    safe_name,
    write_bytes_atomically,
    write_json_atomically,
    write_text_atomically,
)


def test_text_is_written_as_utf8_with_its_own_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "steps" / "step_0001" / "skill.md"
    write_text_atomically(path, "Größe\n規則\r\nlast")
    assert path.read_bytes() == "Größe\n規則\r\nlast".encode()
    assert [entry.name for entry in path.parent.iterdir()] == ["skill.md"]


def test_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    write_bytes_atomically(tmp_path / "new" / "picture.png", b"\x89PNG\r\n\xff")
    assert (tmp_path / "new" / "picture.png").read_bytes() == b"\x89PNG\r\n\xff"


def test_a_lone_surrogate_from_a_model_does_not_end_the_run(tmp_path: Path) -> None:
    write_text_atomically(tmp_path / "reply.txt", "a\ud800b")
    assert (tmp_path / "reply.txt").read_text("utf-8") == "a\\ud800b"


def test_a_new_file_can_be_read_by_whom_the_umask_allows(tmp_path: Path) -> None:
    touched, ours = tmp_path / "touched", tmp_path / "ours"
    touched.touch()
    write_text_atomically(ours, "text")
    assert stat.S_IMODE(ours.stat().st_mode) == stat.S_IMODE(touched.stat().st_mode)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_crash_while_writing_leaves_the_old_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """F83: the state file was corrupt after a kill; here the write ends before the rename, at two points."""
    path = tmp_path / "history.json"
    write_text_atomically(path, "old")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, call, killed)
    with pytest.raises(KeyboardInterrupt):
        write_text_atomically(path, "new and longer")
    assert path.read_text("utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["history.json"]


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    """F16, F83: a descriptor opened before the write goes on reading the whole old text."""
    path = tmp_path / "history.json"
    write_text_atomically(path, "old" * 1000)
    with path.open(encoding="utf-8") as reader:
        write_text_atomically(path, "new")
        assert reader.read() == "old" * 1000
    assert path.read_text("utf-8") == "new"


def test_a_path_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where a directory should be")
    path = tmp_path / "runs" / "skill.md"
    with pytest.raises(RunDirectoryError) as caught:
        write_text_atomically(path, "text")
    assert str(path) in caught.value.message
    assert "cannot be written: " in caught.value.message
    assert caught.value.hint


def test_a_directory_in_the_way_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "skill.md").mkdir()
    with pytest.raises(RunDirectoryError, match="cannot be written"):
        write_text_atomically(tmp_path / "skill.md", "text")
    assert [entry.name for entry in tmp_path.iterdir()] == ["skill.md"]


def test_json_is_written_for_people(tmp_path: Path) -> None:
    write_json_atomically(tmp_path / "history.json", {"step": 1, "answer": "Größe", "empty": []})
    text = '{\n  "step": 1,\n  "answer": "Größe",\n  "empty": []\n}\n'
    assert (tmp_path / "history.json").read_bytes() == text.encode()


HOSTILE = "a\x1b[31mb\rc\x07d\u202ee\ud800f\x9b2Jg\x7f\U000e0041"
"""What could colour, ring, clear or turn round the terminal of whoever looks at it."""


def test_foreign_text_loses_what_moves_a_cursor() -> None:
    assert plain(HOSTILE) == "a�[31mb�c�d�e�f�2Jg��"
    assert plain("a\u2028b\u2029c\u202ed\u2066e") == "a�b�c�d�e", "no other line ends, no turned direction"
    assert plain("two\nlines\tand ünïcode 日本") == "two\nlines\tand ünïcode 日本"


def test_json_on_disk_acts_on_no_terminal_and_means_the_same(tmp_path: Path) -> None:
    value = {HOSTILE: [HOSTILE, "日本"]}
    write_json_atomically(tmp_path / "value.json", value)
    text = (tmp_path / "value.json").read_text("utf-8")
    assert plain(text) == text
    assert json.loads(text) == value
    assert "日本" in text


def test_the_name_of_a_thing_is_a_readable_part_of_a_directorys_name() -> None:
    assert readable_name("openrouter:qwen/qwen3:free") == "openrouter_qwen_qwen3_free"
    assert readable_name("../" + "x" * 99) == "..\N{LOW LINE}" + "x" * 57


def test_json_without_a_json_form_writes_nothing(tmp_path: Path) -> None:
    """More 3: NaN is no score, and no other program could read it."""
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json_atomically(tmp_path / "history.json", {"val_acc": float("nan")})
    assert not list(tmp_path.iterdir())


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=5))
def test_json_comes_back_as_it_went(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = tmp_path_factory.getbasetemp() / "value.json"
    write_json_atomically(path, value)
    assert json.loads(path.read_text("utf-8")) == value


@pytest.mark.parametrize(
    ("identifier", "beginning"),
    [
        ("train-0012", "train_0012-"),
        ("../../etc/passwd", "etc_passwd-"),
        ("C:\\temp\\x", "C__temp_x-"),
        ("問題１", "問題１-"),
        ("प्रश्न", "प्रश्न-"),
        ("", "id-"),
        ("...", "id-"),
        ("a\x00b\n", "a_b-"),
        ("\u202egpj.exe", "gpj_exe-"),
    ],
)
def test_a_name_shows_the_readable_part_of_its_identifier(identifier: str, beginning: str) -> None:
    name = safe_name(identifier)
    assert name.startswith(beginning)
    assert len(name) == len(beginning) + 12


@pytest.mark.parametrize(
    "group",
    [
        ("Task", "task", "TASK"),
        (unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é")),
        ("a/b", "a\\b", "a_b", "a:b"),
        ("x" * 300 + "1", "x" * 300 + "2"),
        ("", ".", "..", "id"),
        ("\ud800", "\ud801"),
    ],
)
def test_identifiers_that_differ_in_anything_get_names_that_differ_everywhere(group: tuple[str, ...]) -> None:
    names = {unicodedata.normalize("NFD", safe_name(identifier)).casefold() for identifier in group}
    assert len(names) == len(group)


RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³")}


@given(
    st.text()
    | st.text(min_size=1).map(lambda text: text * 99)
    | st.sampled_from(sorted(RESERVED)).map(str.upper)
    | st.sampled_from(["CON.txt", "aux ", "nul."])
)
def test_every_name_is_safe_on_every_system(identifier: str) -> None:
    name = safe_name(identifier)
    assert name == safe_name(identifier)
    assert name.split(".")[0].strip().casefold() not in RESERVED
    assert len(name) <= 53
    assert len(name.encode("utf-8")) <= 255
    assert not set(name) & set('<>:"/\\|?* .')
    assert not any(unicodedata.category(char)[0] == "C" for char in name)
    assert Path(name).name == name


def test_a_file_that_holds_the_text_already_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay passes hundreds of files that are right; writing them again would take seconds of waiting for disks."""
    path = tmp_path / "page.md"
    write_text_atomically(path, "Größe\n")
    monkeypatch.setattr(os, "fsync", None)
    write_text_atomically(path, "Größe\n")
    with pytest.raises(TypeError):
        write_text_atomically(path, "Grösse\n")
    assert path.read_text("utf-8") == "Größe\n"


def test_a_page_that_need_not_be_durable_waits_for_no_disk_and_is_never_half_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.md"
    write_text_atomically(path, "old")
    monkeypatch.setattr(os, "fsync", None)
    with path.open(encoding="utf-8") as reader:
        write_text_atomically(path, "new", durable=False)
        assert reader.read() == "old"
    assert path.read_text("utf-8") == "new"


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    kept = [tmp_path / name for name in (".partial", ".x.partial", "0123456789abcdef.partial", "a.md")]
    left = [tmp_path / ".0123456789abcdef.partial", tmp_path / "steps" / ".fedcba9876543210.partial"]
    left[1].parent.mkdir()
    for path in (*kept, *left):
        path.write_text("half", "utf-8")
    remove_partial_files(tmp_path)
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(kept)


def test_what_was_not_written_in_the_block_is_gone_at_its_end_and_not_before(tmp_path: Path) -> None:
    for name in ("same.md", "old.md", "deep/old.md", "deep/kept.json", "mine.txt"):
        write_text_atomically(tmp_path / name, "old")
    (tmp_path / "link.md").symlink_to(tmp_path.parent)
    with holding_nothing_else(tmp_path, ours=lambda path: path.suffix != ".txt"):
        write_text_atomically(tmp_path / "same.md", "old")
        write_text_atomically(tmp_path / "new.md", "new")
        write_json_atomically(tmp_path / "deep" / "kept.json", "new")
        assert (tmp_path / "deep" / "old.md").exists()
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if not path.is_dir()}
    assert names == {"same.md", "new.md", "deep/kept.json", "mine.txt"}


def test_a_file_system_that_keeps_neither_case_nor_unicode_form_takes_nothing_away(tmp_path: Path) -> None:
    """There a file comes back under another name than it was written by."""
    (tmp_path / unicodedata.normalize("NFD", "größe.md")).write_text("as it comes back", "utf-8")
    with holding_nothing_else(tmp_path, ours=Path.exists):
        write_text_atomically(tmp_path / "Größe.md", "as it was written")
    assert len(list(tmp_path.iterdir())) == 2


def test_a_block_that_fails_removes_nothing(tmp_path: Path) -> None:
    write_text_atomically(tmp_path / "old.md", "old")
    with pytest.raises(KeyboardInterrupt), holding_nothing_else(tmp_path, ours=Path.exists):
        raise KeyboardInterrupt
    assert (tmp_path / "old.md").exists()


def test_a_directory_that_is_not_there_yet_holds_nothing_else(tmp_path: Path) -> None:
    with holding_nothing_else(tmp_path / "none", ours=Path.exists):
        pass


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("text", ["", "text"])
def test_a_named_pipe_in_the_place_of_a_file_is_replaced_and_never_waited_for(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.md"
    os.mkfifo(path)
    write_text_atomically(path, text)
    assert path.is_file() and path.read_text("utf-8") == text


@pytest.mark.parametrize("replaced", [False, True], ids=["gone", "another one in its place"])
def test_a_directory_that_is_worked_in_is_never_made_anew(tmp_path: Path, replaced: bool) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    run.mkdir()
    with never_made_anew(run):
        write_text_atomically(run / "steps" / "one.md", "one")
        run.rename(elsewhere)
        if replaced:
            run.mkdir()
        with pytest.raises(RunDirectoryError, match="run is gone: the directory was moved or removed"):
            write_text_atomically(run / "steps" / "two.md", "two")
        assert not (run / "steps").exists() and run.exists() is replaced
        write_text_atomically(tmp_path / "beside" / "three.md", "three")
    write_text_atomically(run / "steps" / "four.md", "four")


def test_of_two_directories_that_are_worked_in_each_is_kept_until_its_own_block_ends(tmp_path: Path) -> None:
    first, second = (never_made_anew(tmp_path / name) for name in ("first", "second"))
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    for name in ("first", "second"):
        (tmp_path / name).rmdir()
    write_text_atomically(tmp_path / "first" / "file", "text")
    with pytest.raises(RunDirectoryError, match="second is gone"):
        write_text_atomically(tmp_path / "second" / "file", "text")
    second.__exit__(None, None, None)
    write_text_atomically(tmp_path / "second" / "file", "text")
