"""Pages of long tables, and addresses that keep what they are not asked to change."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit

from hypothesis import given
from hypothesis import strategies as some
from starlette.requests import Request

from skillopt.dashboard.rendering import Rendering, page_number, paged, run_url, with_query


def asked(query: bytes = b"", path: str = "/runs/x") -> Request:
    return Request(
        {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": query,
            "headers": [],
            "server": ("h", 1),
            "scheme": "http",
        }
    )


@given(total=some.integers(0, 300), size=some.integers(1, 60))
def test_the_pages_hold_every_item_once_and_in_order(total: int, size: int) -> None:
    items = list(range(total))
    first = paged(items, 1, size=size)
    pages = [paged(items, number, size=size) for number in range(1, first.pages + 1)]
    assert [item for page in pages for item in page.items] == items
    assert all(page.last - page.first + 1 == len(page.items) for page in pages if page.items)


@given(number=some.integers(-5, 10_000))
def test_a_page_beyond_the_ends_is_the_nearest_one(number: int) -> None:
    assert paged(range(100), number, size=10).number == min(10, max(1, number))


@given(text=some.text(max_size=12))
def test_whatever_is_asked_for_is_a_page_number(text: str) -> None:
    from urllib.parse import quote

    assert page_number(asked(f"page={quote(text)}".encode())) >= 0


def test_a_query_is_changed_in_its_place() -> None:
    request = asked(b"text=a%20b&page=3&token=secret")
    assert with_query(request, page=4) == "/runs/x?text=a+b&page=4"
    assert with_query(request, page=None, text="") == "/runs/x"


@given(parts=some.lists(some.text(some.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=3))
def test_every_part_of_an_address_is_one_segment(parts: list[str]) -> None:
    path = urlsplit(run_url(*parts)).path
    assert [unquote(part) for part in path.split("/")[2:]] == parts
    assert parse_qs(urlsplit(run_url(*parts)).query) == {}


def test_a_clock_reading_is_told_as_on_the_wall_and_exactly() -> None:
    html = Rendering().text("live.html.jinja", live=None, live_trouble=OSErrorLike("<b>", "hint"))
    assert "&lt;b&gt;" in html


class OSErrorLike:
    """What a template needs of an error."""

    def __init__(self, message: str, hint: str) -> None:
        self.message, self.hint = message, hint
