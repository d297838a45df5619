"""The tasks that an analyst cites for an edit: how it is asked for them, and how they are read.

Nobody is asked unless edits are vetted (`vet.py`): prompts and replies are otherwise as if this module did not exist.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from skillopt.step.replies import as_object


def citation_request(task_ids: Sequence[str]) -> str:
    """Return what is added to the end of a reflection's prompt."""
    return (
        '\n\nEach edit also has "task_ids": the ids of those of these tasks that it is made for. It is tried on them '
        f"before it is taken. The ids are: {json.dumps(list(task_ids), ensure_ascii=False)}"
    )


def cited_tasks(entry: Any, task_ids: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Read the tasks that an entry of a reply cites.

    Args:
        entry: An edit as it came.
        task_ids: The ids that were shown.

    Returns:
        Those of them that the entry names, in the order they were shown; none where it names none. And how many ids it
        names that were not shown.
    """
    said: object = (as_object(entry) or {}).get("task_ids")
    values = cast("list[object]", said) if isinstance(said, list) else [] if said is None else [said]
    named = {str(value).strip() for value in values}
    known = tuple(identifier for identifier in task_ids if identifier.strip() in named)
    return known, len(named - {identifier.strip() for identifier in task_ids})
