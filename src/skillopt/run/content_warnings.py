"""Warnings for keys in the user's own content: the seed skill and the tasks.

Both go to the models and stand in the run directory as they are, since whatever was taken out or changed would change
what is trained. So nothing is masked here; a person is told.
"""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.config.secrets import looks_secret
from skillopt.digests import canonical_json
from skillopt.skill.document import Skill
from skillopt.skill.lines import iterate_lines
from skillopt.types import Task

_MOST_NAMED = 3


def content_warnings(skill: Skill, tasks: Sequence[Task]) -> tuple[str, ...]:
    """Return a sentence for a seed skill and one for tasks that hold what looks like a key or token; none is shown."""
    found: list[str] = []
    lines = [str(line.number) for line in iterate_lines(skill.text) if looks_secret(skill.text[line.start : line.end])]
    goes = "goes to the models and into the run directory as it is"
    if lines:
        place = f"line{'s' if len(lines) > 1 else ''} {', '.join(lines[:_MOST_NAMED])}"
        found.append(f"the seed skill holds what looks like a key or token ({place}); a skill {goes}")
    holding = [task for task in tasks if looks_secret(canonical_json(dict(task.fields)))]
    if holding:
        count = f"{len(holding)} task{' holds' if len(holding) == 1 else 's hold'}"
        places = "; ".join(task.location or repr(task.id) for task in holding[:_MOST_NAMED])
        more = "; ..." if len(holding) > _MOST_NAMED else ""
        found.append(f"{count} what looks like a key or token ({places}{more}); a task {goes}")
    return tuple(found)
