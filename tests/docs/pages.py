"""The pages, their commands and their blocks, as the tests read them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
}
"""The text of every page by its path."""

_BLOCK = re.compile(
    r"^(?:<!-- needs: (?P<needs>\w+) -->\n)?```(?P<kind>bash|console|sh)\n(?P<text>.*?)^```$", re.M | re.S
)


@dataclass(frozen=True)
class Line:
    """A command of a page.

    Attributes:
        page: Where it stands.
        needs: What a machine must have to run it, by the comment ahead of its block: "key" or "weights", "make"
            where it is run by others, "browser" where it answers until it is ended; "" where every machine can.
        words: The command, as a shell takes it apart.
    """

    page: str
    needs: str
    words: list[str]


def lines(page: str) -> list[Line]:
    """Return the commands of a page in their order."""
    return [
        Line(page, block["needs"] or "", shlex.split(text, comments=True))
        for block in _BLOCK.finditer(PAGES[page])
        for text in block["text"].splitlines()
        if text.strip()
    ]


def yaml_blocks(page: str) -> list[str]:
    """Return the YAML blocks of a page."""
    return re.findall(r"^```yaml\n(.*?)^```$", PAGES[page], re.M | re.S)
