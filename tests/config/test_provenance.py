"""Layers over layers: which value shows, and where it came from."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.config.provenance import COMMAND_LINE, DEFAULT, Layer, Origin, Provenance, stacked
from skillopt.types import JsonValue

keys = st.sampled_from("abc")
trees = st.recursive(
    st.integers() | st.lists(st.integers(), max_size=2), lambda t: st.dictionaries(keys, t), max_leaves=6
)
layers = st.lists(st.dictionaries(keys, trees), max_size=4)


def layer(values: dict[str, JsonValue], line: int, *, replaced: frozenset[tuple[str, ...]] = frozenset()) -> Layer:
    def paths(value: JsonValue, path: tuple[str, ...]) -> list[tuple[str, ...]]:
        inner = value.items() if isinstance(value, dict) else ()
        return [(*path, key) for key, _ in inner] + [p for key, v in inner for p in paths(v, (*path, key))]

    return Layer(values, {path: Origin("file", Path("/c"), line) for path in paths(values, ())}, replaced)


@settings(max_examples=50)
@given(layers)
def test_every_value_that_shows_comes_from_the_last_layer_that_gave_it(
    given_layers: list[dict[str, JsonValue]],
) -> None:
    values, provenance = stacked([layer(tree, line) for line, tree in enumerate(given_layers, 1)], {"d": 0})
    assert provenance["d"] == DEFAULT

    def check(value: JsonValue, path: tuple[str, ...]) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                check(inner, (*path, key))
        elif path != ("d",):
            tree: JsonValue = given_layers[provenance.of(path).line - 1]
            for key in path:
                assert isinstance(tree, dict)
                tree = tree[key]
            assert tree == value

    check(values, ())


def test_lists_are_replaced_and_mappings_merge() -> None:
    values, _ = stacked([layer({"a": [1, 2], "b": {"x": 1}}, 1), layer({"a": [3], "b": {"y": 2}}, 2)], {})
    assert values == {"a": [3], "b": {"x": 1, "y": 2}}


def test_a_mapping_that_was_replaced_by_a_value_leaves_no_origins_behind() -> None:
    _, provenance = stacked([layer({"a": {"b": 1}}, 1), layer({"a": 2}, 2), layer({"a": {"c": 3}}, 3)], {})
    assert set(provenance.origins) == {("a",), ("a", "c")}


def test_a_replaced_section_starts_anew_from_its_defaults() -> None:
    below, above = layer({"a": {"x": 1, "y": 2}}, 1), layer({"a": {"y": 3}}, 2, replaced=frozenset({("a",)}))
    values, provenance = stacked([below, above], {"a": {"x": 0}})
    assert values == {"a": {"x": 0, "y": 3}}
    assert (provenance["a.x"], provenance["a.y"].line) == (DEFAULT, 2)


def test_an_origin_says_where_in_words() -> None:
    assert [str(origin) for origin in (DEFAULT, COMMAND_LINE, Origin("file", Path("/c.yaml"), 3))] == [
        "default",
        "command line",
        "/c.yaml, line 3",
    ]


def test_a_key_that_was_never_set_has_the_place_of_its_section() -> None:
    provenance = Provenance({("a",): COMMAND_LINE})
    assert (provenance.nearest(("a", "b", "c")), provenance.of(("a", "b")), provenance.nearest(("z",))) == (
        COMMAND_LINE,
        DEFAULT,
        DEFAULT,
    )
