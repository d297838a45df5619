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
        words, hint = _told(error)
        raise ConfigError(f"{file}{place}: not valid YAML: {words}", hint=_other_kind(text, file) or hint) from None
    except yaml.reader.ReaderError as error:
        ahead = text[: error.position]
        place = f"line {ahead.count(chr(10)) + 1}, column {len(ahead) - ahead.rfind(chr(10))}"
        raise ConfigError(f"{file}, {place}: not valid YAML: a control character stands here") from None
    except RecursionError:
        raise ConfigError(f"{file}: values are nested too deeply") from None
    if not isinstance(values, dict):
        hint = _other_kind(text, file) or "A configuration begins with a section, such as `model:`."
        raise ConfigError(f"{file} holds no mapping", hint=hint)
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


_INDENT = "Look at the indentation of this line and of those above it; keys of one section stand in one column."
_QUOTES = "Text with signs in it that mean something in YAML stands in quotes."
_ONE = "A configuration is one YAML mapping, and nothing comes behind it."
_PROBLEMS: tuple[tuple[str, str, str], ...] = (
    (r"expected ',' or '(?P<end>[]}])', but got '(?P<token>.*)'", "expected ',' or '{end}', but {token}{since}", ""),
    (r"but found another document", "a second document begins here", f"{_ONE} Remove the line ---."),
    (r"expected '<document start>', but found .*", "the mapping has ended, but more follows", _ONE),
    (r"found character '\\t' .*", "a tab stands here", "Indent with spaces."),
    (r"found character '(?P<end>.)' .*", "no value begins with '{end}'", _QUOTES),
    (r"mapping values are not allowed here", "no ':' may stand here", f"{_INDENT} {_QUOTES}"),
    (r"sequence entries are not allowed here", "no '- ' may stand here", f"{_INDENT} {_QUOTES}"),
    (r"mapping keys are not allowed here", "no '? ' may stand here", f"{_INDENT} {_QUOTES}"),
    (r"expected <block end>, but found '(?P<token>.*)'", "expected the next entry{since}, but {token}", _INDENT),
    (r"expected the node content, but found '(?P<token>.*)'", "expected a value, but {token}", _QUOTES),
    (r"could not find expected ':'", "a key has no ':' behind it{since}", f"{_INDENT} {_QUOTES}"),
    (r"found unexpected (end of stream|document separator)", "a quote is never closed{since}", ""),
    (r"found undefined alias .*", "an alias names nothing that has an anchor", f"{_QUOTES} `*` begins an alias."),
    (r"found unknown escape character .*", "no such escape with a backslash", "Use single quotes."),
    (r"found undefined tag handle .*", "tags have no meaning here", f"{_QUOTES} `!` begins a tag."),
    (r"expected (chomping|a comment).*", "this may not stand behind `|` or `>`", "The text begins on the next line."),
)
"""What PyYAML says, what is said in its place, and what to do. Its own words quote the text it stumbled over, which may
be a key that was pasted in."""

_TOKENS: Mapping[str, str] = {
    "<stream end>": "the text ends",
    "<document start>": "a new document begins",
    "<document end>": "the document ends",
    "<block end>": "the section ends",
    "<block mapping start>": "a mapping begins",
    "<block sequence start>": "a list begins",
    "<scalar>": "a word follows",
    "?": "a key follows",
    "-": "a list entry follows",
}


def _told(error: yaml.MarkedYAMLError) -> tuple[str, str]:
    """Return what is wrong in words that a person can read, none of them the file's, and what to do."""
    problem = error.problem or ""
    if type(error) is yaml.MarkedYAMLError:
        return problem, ""  # It is one of ours.
    began = error.context_mark
    since = f" (it begins on line {began.line + 1}, column {began.column + 1})" if began else ""
    for pattern, words, hint in _PROBLEMS:
        if found := re.fullmatch(pattern, problem, re.DOTALL):
            parts = found.groupdict()
            said = parts.get("token", "")
            token = _TOKENS.get(said, f"'{said}' follows" if re.fullmatch(r"\W", said) else "something else follows")
            return words.format(end=parts.get("end"), token=token, since=since), hint
    return f"it cannot be read here{since}", _QUOTES


def _other_kind(text: str, file: Path) -> str:
    """Return what a file is meant for that looks like no configuration; "" where it looks like one."""
    first = [line.strip() for line in text.split("\n", 100)[:100] if line.strip()][:2]
    rows = len(first) > 1 and all(line.startswith("{") and line.endswith("}") for line in first)
    if rows or file.suffix.lower() in (".jsonl", ".csv", ".tsv"):
        return "This looks like a task file, which env.data_path names in a configuration; name the configuration here."
    if file.suffix.lower() in (".md", ".markdown"):
        return "This looks like a skill, which env.skill_init names in a configuration; name the configuration here."
    return ""


_Dumper.add_representer(str, _represent_text)
