"""Whatever a person names as a file: read, or refused with one message; never a hang, a traceback or a full memory."""

from __future__ import annotations

import os
import re
import socket
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.config.layers import file_layers
from skillopt.data.manifest import check_against_manifest
from skillopt.data.task_files import read_task_file
from skillopt.environments.python_code import load_file
from skillopt.errors import SkillOptError
from skillopt.skill.document import Skill
from skillopt.user_files import UnusableFile, open_user_file, read_user_file, read_user_text

SOURCE = Path(__file__).parents[1] / "src" / "skillopt"
READERS: dict[str, Callable[[Path], object]] = {
    "config.yaml": file_layers,
    "tasks.json": read_task_file,
    "tasks.jsonl": read_task_file,
    "tasks.csv": read_task_file,
    "split_manifest.json": lambda path: check_against_manifest(path, {}),
    "skill.md": Skill.load,
    "my_env.py": load_file,
}
"""Every kind of file that a user names, and what reads it."""


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def directory(path: Path) -> None:
    path.mkdir()


def dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def bound_socket(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)  # The system takes no more than 108 bytes for a socket's path.
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(before)


def gigabytes(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(5 << 30)


def utf_16(path: Path) -> None:
    path.write_bytes("x: ä".encode("utf-16"))


HOSTILE: dict[Callable[[Path], None], str] = {
    pipe: "is a pipe and not a file",
    device: "is a link to /dev/zero, which is a device and not a file",
    directory: "is a directory and not a file",
    dangling: "is a link to .*nowhere, which does not exist",
    loop: "Too many levels of symbolic links",
    bound_socket: "is a socket and not a file",
    gigabytes: "is too large: 5,368,709,120 bytes",
    utf_16: r"is not UTF-8 text \(line 1\)\nIt looks like UTF-16|not a Python file|invalid|non-utf-8|null",
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_what_is_no_readable_file_is_one_message_wherever_it_is_named(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    make(tmp_path / name)
    with pytest.raises(SkillOptError, match=HOSTILE[make]) as raised:
        READERS[name](tmp_path / name)
    assert name in str(raised.value)


def test_nothing_else_opens_the_files_that_a_user_names() -> None:
    opening = re.compile(r"\bopen\(|\.read_(text|bytes)\(")
    for part in ("config", "data", "environments", "evaluation", "harness", "skill", "step", "epoch"):
        for path in (SOURCE / part).rglob("*.py"):
            assert not opening.search(path.read_text("utf-8")), path


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"\xef\xbb\xbfa\r\nb")
    (tmp_path / "link").symlink_to("real")
    assert read_user_text(tmp_path / "link", most_bytes=100) == "\ufeffa\r\nb"


def test_a_file_that_is_longer_than_the_system_says_is_stopped_at_the_bound() -> None:
    """Files of the system have no size, and others grow while they are read."""
    path = Path("/proc/self/maps")
    if not path.is_file():
        pytest.skip("this system has no such file")
    assert path.stat().st_size == 0
    with pytest.raises(UnusableFile, match="more than 100"):
        read_user_file(path, most_bytes=100)


def test_the_bound_itself_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100)
    assert len(read_user_file(tmp_path / "a", most_bytes=100)) == 100
    with pytest.raises(UnusableFile, match="100 bytes, and at most 99"):
        read_user_file(tmp_path / "a", most_bytes=99)


@pytest.mark.parametrize("before", [0, (1 << 20) - 1, (1 << 20) - 2])
def test_the_line_that_is_not_utf8_is_told_wherever_it_stands(tmp_path: Path, before: int) -> None:
    """The character is whole, or cut by the border between two pieces."""
    (tmp_path / "a").write_bytes(b"x" * (before // 2) + b"\n" + b"x" * (before - before // 2 - 1) + b"\xc3\x28\n")
    with pytest.raises(UnusableFile, match=r"line 2"):
        read_user_text(tmp_path / "a", most_bytes=1 << 22)


def test_a_file_is_closed_also_when_reading_it_ends_early(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    with open_user_file(tmp_path / "a", most_bytes=9) as file:
        number: int = vars(file.raw)["_file"].fileno()
    with pytest.raises(OSError):
        os.fstat(number)


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.csv", "t.tsv"])
@pytest.mark.parametrize("fill", [b"\0", b"a", b"[", b'"', b"{"])
def test_one_line_of_hundreds_of_megabytes_does_not_fill_the_memory(tmp_path: Path, name: str, fill: bytes) -> None:
    with (tmp_path / name).open("wb") as file:
        start = b'[{"q": "' if name == "t.json" and fill in (b"a", b"\0") else b""
        file.write(start + fill * ((1 << 20) - len(start)))
        for _ in range(39):
            file.write(fill * (1 << 20))
        file.truncate(300 << 20)
    tracemalloc.start()
    try:
        with pytest.raises(SkillOptError, match=name):
            read_task_file(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 150 << 20
    finally:
        tracemalloc.stop()
