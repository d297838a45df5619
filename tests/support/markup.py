"""What an HTML page is made of, for tests that look for what must not be there."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass(frozen=True)
class Element:
    """One element: its tag, its attributes, and the text directly in it."""

    tag: str
    attributes: dict[str, str | None]
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text directly in it."""
        return "".join(self.texts)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.text: list[str] = []
        self.others: list[str] = []
        self._open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"<{tag}> has an attribute twice"
        element = Element(tag, dict(attrs))
        self.elements.append(element)
        if tag not in ("meta", "br", "img", "link", "input"):
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open[-1].tag == tag, f"</{tag}> closes {self._open[-1:]}"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if self._open:
            self._open[-1].texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)

    def whole(self) -> None:
        assert not self._open, f"not closed: {[element.tag for element in self._open]}"


@dataclass(frozen=True)
class Page:
    """A parsed page.

    Attributes:
        elements: In their order.
        text: All text, scripts and styles among it.
        others: Comments and the like.
    """

    elements: tuple[Element, ...]
    text: str
    others: tuple[str, ...]

    def named(self, tag: str) -> tuple[Element, ...]:
        """The elements of a tag."""
        return tuple(element for element in self.elements if element.tag == tag)


def parsed(html: str) -> Page:
    """Parse a page; raises AssertionError where its elements do not nest."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    parser.whole()
    return Page(tuple(parser.elements), "".join(parser.text), tuple(parser.others))
