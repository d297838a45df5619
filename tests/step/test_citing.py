"""The tasks that an analyst cites for an edit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skillopt.step.citing import citation_request, cited_tasks

SHOWN = ("t1", "Ünit 7", "3")


def test_the_request_names_every_id_as_it_is_to_be_written() -> None:
    text = citation_request(SHOWN)
    assert '"task_ids"' in text
    assert text.endswith(json.dumps(list(SHOWN), ensure_ascii=False))


@pytest.mark.parametrize(
    ("said", "cited", "unknown"),
    [
        (["3", "t1"], ("t1", "3"), 0),
        (["t1", "t1", "t9", "t8"], ("t1",), 2),
        (" Ünit 7 ", ("Ünit 7",), 0),
        ([3], ("3",), 0),
        ([], (), 0),
        (None, (), 0),
        (["t9"], (), 1),
        ({"t1": 1}, (), 1),
    ],
)
def test_ids_that_were_shown_count_and_an_edit_that_cites_none_has_none(
    said: Any, cited: tuple[str, ...], unknown: int
) -> None:
    assert cited_tasks({"op": "append", "task_ids": said}, SHOWN) == (cited, unknown)


@pytest.mark.parametrize("entry", ["no edit", None, {"op": "append"}])
def test_an_entry_without_citations_has_none(entry: Any) -> None:
    assert cited_tasks(entry, SHOWN) == ((), 0)
