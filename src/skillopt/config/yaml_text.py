"""YAML to values with their lines, and back.

The dialect is YAML 1.1 as PyYAML reads it, without its traps: `2:1:7` is text and no number in base 60, `1e-3` is a
number, there are no dates and no octal numbers, a key is the text that was written, and a key that stands twice is an
error. Nothing is known here of what the keys mean.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml

from skillopt.config.provenance import KeyPath
from skillopt.config.secrets import dotted
from skillopt.errors import ConfigError, UsageError
from skillopt.types import JsonValue

_MOST_NODES = 10_000
"""Most values of one file, aliases written out; far above any configuration and far below what exhausts memory."""

DEEPEST = 32
"""Most levels of keys and lists; a configuration has five."""

_UNUSUAL_BREAK = re.compile("[\x85\u2028\u2029\ufeff]")
_PREFIX = "tag:yaml.org,2002:"
_SCALARS = frozenset(_PREFIX + kind for kind in ("null", "bool", "int", "float", "str"))


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - the place PyYAML looks it up


for _kind, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF", list("yYnNtTfFoO")),
    ("int", r"[-+]?(?:0|[1-9][0-9_]*)", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*|[0-9][0-9_]*(?=[eE]))(?:[eE][-+]?[0-9]+)?",
        list("-+.0123456789"),
    ),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", list("-+.")),
    ("merge", r"<<", ["<"]),
):
    cast("Any", _Loader).add_implicit_resolver(_PREFIX + _kind, re.compile(f"^(?:{_pattern})$"), _first)


class _Dumper(yaml.SafeDumper):
    """Writes text so that this loader and any YAML 1.1 reader read it back as text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: Any, text: str) -> yaml.ScalarNode:
    style = "'" if not isinstance(_plain(text), str) else None
    if _UNUSUAL_BREAK.search(text):
        style = '"'  # the one style in which PyYAML writes them as escapes
    return dumper.represent_scalar(_PREFIX + "str", text, style=style)


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML mapping as it was read.

    Attributes:
        values: Keys and values, nested.
        lines: For every key, the line it stands on, from 1.
    """

    values: dict[str, JsonValue]
    lines: Mapping[KeyPath, int]


def read_document(text: str, file: Path) -> Document:
    """Read the one YAML mapping of a file.

    Raises:
        ConfigError: With file, line and column, for a syntax error, a key given twice, a tag, a number that is not
            finite, or anything but a mapping.
    """
    if not text.strip(" \t\r\n\ufeff"):
        raise ConfigError(f"{file} is empty", hint="It needs at least the models, the data and a skill.")
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        reader = _Reader(loader)
        values = reader.value(node, ()) if node is not None else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{file}{place}: not valid YAML: {_without_quotation(error.problem or '')}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{file}: not valid YAML: {getattr(error, 'reason', error)}") from None
    except RecursionError:
        raise ConfigError(f"{file}: values are nested too deeply") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{file} holds no mapping", hint="A configuration begins with a section, such as `model:`.")
    return Document(values, reader.lines)


def read_value(text: str) -> JsonValue:
    """Read one value given on the command line.

    Text that begins with `[`, `{` or a quote is read as YAML; any other text is a number, `true`, `false`, `null`, or
    itself, whatever colons, `#` or `=` it holds.

    Raises:
        UsageError: If a list, mapping or quoted text is not valid YAML.
    """
    if not text.startswith(("[", "{", '"', "'")):
        return _plain(text)
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        return _Reader(loader).value(node, ()) if node is not None else None
    except (yaml.YAMLError, RecursionError):
        raise UsageError(
            "a value that begins with a bracket or a quote is not complete YAML",
            hint="Write lists as '[a, b]', mappings as '{a: b}', quoted text as '\"text\"', in quotes for the shell.",
        ) from None


def write_document(values: Mapping[str, JsonValue]) -> str:
    """Return values as YAML that reads back as the same values, keys in their order."""
    return yaml.dump(dict(values), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


class _Reader:
    """Turns nodes into values and notes the line of every key."""

    def __init__(self, loader: _Loader) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._loader: Any = loader  # its methods are not typed
        self._nodes = 0

    def value(self, node: yaml.Node, path: KeyPath, *, depth: int = 0) -> JsonValue:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise _problem(f"more than {_MOST_NODES} values", node)
        if depth > DEEPEST:
            raise _problem(f"values are nested too deeply, in more than {DEEPEST} levels", node)
        if isinstance(node, yaml.MappingNode) and node.tag == _PREFIX + "map":
            return self._mapping(node, path, depth=depth)
        if isinstance(node, yaml.SequenceNode) and node.tag == _PREFIX + "seq":
            return [self.value(item, path, depth=depth + 1) for item in cast("list[yaml.Node]", node.value)]
        if isinstance(node, yaml.ScalarNode) and node.tag in _SCALARS:
            return self._scalar(node)
        raise _problem("tags have no meaning here", node)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath, *, depth: int) -> dict[str, JsonValue]:
        values: dict[str, JsonValue] = {}
        for key_node, value_node in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            if not isinstance(key_node, yaml.ScalarNode):
                raise _problem("a key must be text", key_node)
            key = str(key_node.value)
            if key_node.tag == _PREFIX + "merge":
                raise _problem("`<<` has no meaning here; a file is built on another one by `_base_`", key_node)
            if key in values:
                first = self.lines[(*path, key)]
                raise _problem(f"the key {dotted((key,))} stands here a second time, after line {first}", key_node)
            self.lines[(*path, key)] = key_node.start_mark.line + 1
            values[key] = self.value(value_node, (*path, key), depth=depth + 1)
        return values

    def _scalar(self, node: yaml.ScalarNode) -> JsonValue:
        plain = self._loader.resolve(yaml.ScalarNode, node.value, (True, False))
        fits = node.tag in (plain, _PREFIX + "str") or (plain, node.tag) == (_PREFIX + "int", _PREFIX + "float")
        if not fits:  # a tag that was written out; what PyYAML does with text of another kind is not defined
            raise _problem("a value does not fit its tag", node)
        try:
            value: JsonValue = self._loader.construct_object(node)
        except ValueError:
            raise _problem("a number has too many digits", node) from None
        if isinstance(value, float) and not math.isfinite(value):
            raise _problem("a number must be finite", node)
        return value


def _problem(text: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=text, problem_mark=node.start_mark)


def _plain(text: str) -> JsonValue:
    """Return what unquoted text means; text that is no finite number stays text."""
    loader = _Loader("")
    tag: str = cast("Any", loader).resolve(yaml.ScalarNode, text, (True, False))
    try:
        return _Reader(loader).value(yaml.ScalarNode(tag, text), ()) if tag in _SCALARS else text
    except yaml.YAMLError:
        return text


def _without_quotation(problem: str) -> str:
    # The reader's messages quote the text they stumbled over, which may be a key that was pasted in.
    return re.sub(r"'(?!<)[^']{2,}'", "a name", problem)


_Dumper.add_representer(str, _represent_text)
