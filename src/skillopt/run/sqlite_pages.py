"""Reads the rows of an SQLite file page by page, as far as they can be read, however little of the file is whole.

SQLite finds a row by way of the pages above it, so one bad page can cost a whole table. Here every page is looked at by
itself: one that has rows gives them, whatever became of the rest. Which table a row belongs to is not
known here, and a row may come twice; who reads knows rows by what they hold. Nothing is written.

The format is that of https://www.sqlite.org/fileformat2.html: section 1.6 has the pages, 2.1 the records, 4.1 the log.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

_MAGIC = b"SQLite format 3\0"
_HEADER_LENGTH = 100
"""Bytes ahead of the first page's own header."""
_PAGE_SIZE = 4096
"""Of every file of ours; read from the file where its header is whole."""

_LOG_MAGICS = (0x377F0682, 0x377F0683)
_LOG_HEADER_LENGTH = 32
_FRAME_HEADER_LENGTH = 24

_TABLE_LEAF, _INDEX_LEAF, _INDEX_INTERIOR = 0x0D, 0x0A, 0x02
_CHILD_LENGTH = 4
"""Bytes of the number of the page below, of which an interior page has one in its header and one in each cell."""
_INTEGER_LENGTHS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}

Cell: TypeAlias = str | bytes | int | float | None
"""What a column of a row holds."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row that was found.

    Attributes:
        rowid: Its number within its table, from 1; None in a table without numbers, or in an index.
        cells: Its columns, without those that were added to the table after it was written.
    """

    rowid: int | None
    cells: tuple[Cell, ...]


class _Unreadable(Exception):
    """A row, or a page, is not what it should be."""


def read_rows(database: bytes, log: bytes = b"") -> Iterator[Row]:
    """Find every row that can be read.

    Args:
        database: The file.
        log: Its write-ahead log (`-wal`); frames of it that are not committed are left out.
    """
    pages = _pages(database, log)
    for number, page in pages.items():
        yield from _rows(page, pages, offset=_HEADER_LENGTH if number == 1 else 0)


def _pages(database: bytes, log: bytes) -> dict[int, bytes]:
    """Return the pages by number, from 1; the log's newest wins."""
    size = _page_size(database, log)
    pages = {start // size + 1: database[start : start + size] for start in range(0, len(database), size)}
    pages.update(_logged_pages(log, size))
    # The end of a file that was cut: rows lie at the end of a page, so half of one gives none, but it may be a chain's.
    return {number: page.ljust(size, b"\0") for number, page in pages.items()}


def _page_size(database: bytes, log: bytes) -> int:
    size = _PAGE_SIZE
    if database.startswith(_MAGIC):
        size = int.from_bytes(database[16:18], "big")
    elif len(log) >= _LOG_HEADER_LENGTH and int.from_bytes(log[:4], "big") in _LOG_MAGICS:
        size = int.from_bytes(log[8:12], "big")
    size = 65536 if size == 1 else size
    return size if size in {2**power for power in range(9, 17)} else _PAGE_SIZE


def _logged_pages(log: bytes, size: int) -> dict[int, bytes]:
    """Return the pages of the log up to its last commit, each as it was written last."""
    committed: dict[int, bytes] = {}
    open_pages: dict[int, bytes] = {}
    salts = log[16:24]
    frame = _FRAME_HEADER_LENGTH + size
    for start in range(_LOG_HEADER_LENGTH, len(log) - frame + 1, frame):
        number, pages_after_commit = struct.unpack_from(">II", log, start)
        if log[start + 8 : start + 16] != salts:
            continue  # Of an earlier round of the log, or damaged.
        open_pages[number] = log[start + _FRAME_HEADER_LENGTH : start + frame]
        if pages_after_commit:
            committed.update(open_pages)
            open_pages.clear()
    return committed


def _rows(page: bytes, pages: dict[int, bytes], *, offset: int) -> Iterator[Row]:
    kind = page[offset]
    if kind not in (_TABLE_LEAF, _INDEX_LEAF, _INDEX_INTERIOR):
        return
    # The tree of an index, or of a table without numbers, has rows on its interior pages too.
    child = _CHILD_LENGTH if kind == _INDEX_INTERIOR else 0
    (count,) = struct.unpack_from(">H", page, offset + 3)
    for number in range(count):
        place = offset + 8 + child + 2 * number
        if place + 2 > len(page):
            return
        try:
            (start,) = struct.unpack_from(">H", page, place)
            length, start = _varint(page, start + child)
            rowid = None
            if kind == _TABLE_LEAF:
                rowid, start = _varint(page, start)
            payload = _payload(page, start, length, pages, table=kind == _TABLE_LEAF)
            yield Row(rowid, _cells(payload))
        except _Unreadable:
            continue


def _payload(page: bytes, start: int, length: int, pages: dict[int, bytes], *, table: bool) -> bytes:
    """Return a row's bytes, with those that other pages hold."""
    size = len(page)
    most = size - 35 if table else (size - 12) * 64 // 255 - 23
    if length > most:
        least = (size - 12) * 32 // 255 - 23
        local = least + (length - least) % (size - 4)
        local = local if local <= most else least
    else:
        local = length
    found = [page[start : start + local]]
    left = length - local
    link = start + local
    seen: set[int] = set()
    while left > 0:
        if link + 4 > size:
            raise _Unreadable
        following = int.from_bytes(page[link : link + 4], "big")
        if following in seen or following not in pages:
            raise _Unreadable
        seen.add(following)
        page, link = pages[following], 0
        found.append(page[4 : 4 + min(left, size - 4)])
        left -= size - 4
    payload = b"".join(found)
    if len(payload) != length:
        raise _Unreadable
    return payload


def _cells(payload: bytes) -> tuple[Cell, ...]:
    """Return the columns of a row from its bytes: first the types, then the values."""
    header, place = _varint(payload, 0)
    types: list[int] = []
    while place < header:
        kind, place = _varint(payload, place)
        types.append(kind)
    start = header
    cells: list[Cell] = []
    for kind in types:
        cell, start = _cell(kind, payload, start)
        cells.append(cell)
    if start != len(payload) or place != header:
        raise _Unreadable
    return tuple(cells)


def _cell(kind: int, payload: bytes, start: int) -> tuple[Cell, int]:
    if kind in (0, 8, 9):
        return {0: None, 8: 0, 9: 1}[kind], start
    length = 8 if kind == 7 else _INTEGER_LENGTHS.get(kind, (kind - 12) // 2)
    value = payload[start : start + length]
    if length < 0 or len(value) != length:
        raise _Unreadable
    if kind == 7:
        return struct.unpack(">d", value)[0], start + length
    if kind < 12:
        return int.from_bytes(value, "big", signed=True), start + length
    if kind % 2 == 0:
        return value, start + length
    try:
        return value.decode("utf-8"), start + length
    except UnicodeDecodeError:
        raise _Unreadable from None


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """Return a number of 1 to 9 bytes, and where the next thing begins."""
    value = 0
    for index in range(start, min(start + 8, len(data))):
        value = value << 7 | data[index] & 0x7F
        if data[index] < 0x80:
            return value, index + 1
    if start + 8 >= len(data):
        raise _Unreadable
    value = value << 8 | data[start + 8]
    return (value - 2**64 if value >= 2**63 else value), start + 9
