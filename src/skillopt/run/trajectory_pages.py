"""The page of a trajectory: Markdown for people, and read back exactly, whatever a task or a model wrote into it.

Each message stands below a heading of its role. A line of a text that reads as such a heading gets a backslash, which
Markdown shows as the line itself: so nobody but us can begin a message or a verdict. Control characters are replaced
when a page is written, and do not come back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args

from skillopt.text_files import plain
from skillopt.types import Message, Rollout

Speaker = Literal["system", "user", "assistant", "tool"]

_VERDICT: Final = "verdict"
_HEADING: Final = re.compile(rf"## ({'|'.join((*get_args(Speaker), _VERDICT))})")
_LIKE_ONE: Final = re.compile(rf"^(\\*){_HEADING.pattern}$", re.MULTILINE)
_WITH_A_BACKSLASH: Final = re.compile(rf"^\\(\\*){_HEADING.pattern}$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TrajectoryPage:
    """What a page holds.

    Attributes:
        turns: The messages, in their order, without control characters.
        verdict: How it was scored, in words, with the scorer's feedback; "" where the page has none.
    """

    turns: tuple[Message, ...]
    verdict: str


def trajectory_page(rollout: Rollout) -> str:
    """Return the page of a measured rollout."""
    assert rollout.trajectory is not None and rollout.score is not None, "only measured rollouts have a page"
    score = rollout.score
    criteria = "".join(f", {name} {value:.3f}" for name, value in score.criteria.items())
    told = f"{'solved' if score.hard else 'failed'}, partial credit {score.soft:.3f}{criteria}. {score.feedback}"
    sections = [(turn.role, turn.content) for turn in rollout.trajectory.turns]
    title = plain(rollout.task.id).replace("\n", "\N{REPLACEMENT CHARACTER}")
    told_all = "\n\n".join(f"## {role}\n\n{_as_text(text)}" for role, text in (*sections, (_VERDICT, told)))
    return f"# {title}\n\n{told_all}\n"


def read_trajectory_page(page: str) -> TrajectoryPage:
    """Read a page; one that holds no message of ours gives all its text as the verdict."""
    lines = page.removesuffix("\n").split("\n")
    begins = [number for number, line in enumerate(lines) if _HEADING.fullmatch(line)]
    if not begins:
        return TrajectoryPage((), page)
    sections = [
        # A blank line follows the heading, and one stands ahead of the next.
        (lines[begin].removeprefix("## "), "\n".join(lines[begin + 2 : end - 1 if end < len(lines) else end]))
        for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True)
    ]
    texts = [(name, _WITH_A_BACKSLASH.sub(r"\1## \2", text)) for name, text in sections]
    return TrajectoryPage(
        tuple(Message(cast("Speaker", name), text) for name, text in texts if name != _VERDICT),
        "\n".join(text for name, text in texts if name == _VERDICT),
    )


def _as_text(text: str) -> str:
    return _LIKE_ONE.sub(r"\\\1## \2", plain(text))
