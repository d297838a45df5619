#!/usr/bin/env python3
"""Write the generated parts of README.md and of the pages in docs/: settings, commands, exit codes, providers, ...

    python scripts/write_docs.py            # writes what differs
    python scripts/write_docs.py --check    # writes nothing, names the pages that differ, exit code 1

A page says where a part belongs by a pair of comments, `<!-- generated: NAME -->` and `<!-- end -->`; everything
outside of them is written by hand.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from skillopt.cli.main import app
from skillopt.cli.pages import END_STATES, ERROR, ERRORS, HUNG_UP, MISUSE, TERMINATED, end_codes
from skillopt.config.presets import PRESETS
from skillopt.config.schema import Config
from skillopt.config.table import SettingDescription, settings_reference
from skillopt.environments.question_answering import QuestionAnsweringSettings
from skillopt.models.failure_table import TABLE, Row
from skillopt.models.providers import ALIASES, PROVIDERS
from skillopt.models.weights import KNOWN, gigabytes
from skillopt.run.outcome import EndState

ROOT = Path(__file__).parents[1]
_PART = re.compile(r"(?<=<!-- generated: )([a-z ]+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)
_WIDTH = 100
_ROLES = "optimizer|target"


def settings() -> str:
    """Return a table for every section of a configuration."""
    parts: list[str] = []
    for name, field in Config.model_fields.items():
        rows = [row for row in settings_reference() if row.key.split(".")[0] == name]
        parts.append(f"## {name}\n\n{field.description}\n\n{_settings_table(rows)}")
    return "\n\n".join(parts)


def presets() -> str:
    """Return the table of what each preset sets; an empty cell is the default."""
    known = [tuple(row.key.split(".")) for row in settings_reference()]
    rows: list[tuple[str, ...]] = []
    for key in known:
        cells = [f"`{json.dumps(values[key])}`" if key in values else "" for values in PRESETS.values()]
        if any(cells):
            rows.append((f"`{'.'.join(key)}`", *cells))
    return _table(("setting", *(f"`{name}`" for name in PRESETS)), rows)


def question_answering() -> str:
    """Return the table of the settings that question answering adds to the section `env`."""
    return _settings_table(settings_reference(QuestionAnsweringSettings, prefix="env"))


def _settings_table(rows: Sequence[SettingDescription]) -> str:
    cells = [
        (f"`{row.key.replace(_ROLES, 'ROLE')}`", _type(row), f"`{row.default}`" if row.default else "", row.meaning)
        for row in rows
    ]
    return _table(("setting", "what it holds", "default", "meaning"), cells)


def _type(row: SettingDescription) -> str:
    return ", ".join(part for part in (row.type, row.range) if part)


def commands() -> str:
    """Return the help page of every command."""
    return "\n\n".join(
        f"## {name}\n\n```text\n{page}\n```" for name, page in _help_pages(typer.main.get_command(app), "skillopt")
    )


def _help_pages(command: Any, name: str) -> Iterator[tuple[str, str]]:
    context = command.make_context(name, [], resilient_parsing=True, terminal_width=_WIDTH)
    yield name, command.get_help(context)
    for inner in getattr(command, "commands", {}).values():
        yield from _help_pages(inner, f"{name} {inner.name}")


def exit_codes() -> str:
    """Return the table of exit codes with what to do about each."""
    rows = [(str(state.exit_code), f"`{state}`", END_STATES[state], state.advice) for state in EndState]
    advice = {
        ERROR: "The message says what, where and what to do. What was recorded is kept.",
        MISUSE: "The message says what could not be read; `--help` shows what there is.",
        HUNG_UP: EndState.INTERRUPTED.advice,
        TERMINATED: EndState.INTERRUPTED.advice,
    }
    interrupted = f"`{EndState.INTERRUPTED}`"
    states = {HUNG_UP: interrupted, TERMINATED: interrupted}
    rows += [(str(code), states.get(code, ""), ERRORS[code], advice[code]) for code in advice]
    return _table(("code", "end of a training", "meaning", "what to do"), sorted(rows, key=lambda row: int(row[0])))


def exit_codes_in_short() -> str:
    """Return the exit codes with their meaning, a line each."""
    meanings = {**ERRORS, **end_codes()}
    return _table(("code", "meaning"), [(str(code), meanings[code]) for code in sorted(meanings)])


def providers() -> str:
    """Return the table of providers."""
    other: dict[str, list[str]] = {}
    for alias, name in ALIASES.items():
        other.setdefault(name, []).append(f"`{alias}`")
    rows: list[tuple[str, ...]] = []
    for provider in PROVIDERS.values():
        variables = " or ".join(f"`{variable}`" for variable in provider.key_variables)
        key = variables if provider.key_needed else ", ".join(part for part in (variables, "not needed") if part)
        address = f"`{provider.base_url}`" if provider.base_url else _address(provider.client)
        rows.append((f"`{provider.name}`", ", ".join(other.get(provider.name, [])), address, key))
    return _table(("provider", "other words", "address", "key from"), rows)


def _address(client: str) -> str:
    return "by its own library (extra `[providers]`)" if client == "adapted" else "`base_url` must say it"


def embedded_models() -> str:
    """Return the table of the embedded models."""
    rows = [(f"`local:{one.name}`", gigabytes(one.size), f"`{one.sha256[:16]}...`") for one in KNOWN.values()]
    return _table(("model", "download", "sha256 of its weights"), rows)


def failures() -> str:
    """Return the table of what can become of a call and what is done about it."""
    return _table(
        ("what comes of a call", "target", "optimizer", "the other calls of the role", "is a paid call"),
        [(row.happens, row.target.value, row.optimizer.value, _others(row), _paid(row)) for row in TABLE],
    )


def _others(row: Row) -> str:
    parts = [("half as many at once", row.halves), ("wait as long as it asks", row.pauses)]
    return ", ".join(words for words, so in parts if so)


def _paid(row: Row) -> str:
    return "yes" if row.paid else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in cells)} |"

    return "\n".join([line(head), line(["---"] * len(head)), *map(line, rows)])


PARTS: Mapping[str, Callable[[], str]] = {
    "settings": settings,
    "presets": presets,
    "question answering": question_answering,
    "commands": commands,
    "exit codes": exit_codes,
    "exit codes in short": exit_codes_in_short,
    "providers": providers,
    "embedded models": embedded_models,
    "failures": failures,
}
"""What can be generated, by the name that a page calls it by."""


def rewritten(page: str) -> str:
    """Return a page with its generated parts made anew."""
    return _PART.sub(lambda part: f"{part[1]}{part[2]}\n{PARTS[part[1]]()}\n\n", page)


def pages() -> list[Path]:
    """Return the pages that may have generated parts."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def main(arguments: Sequence[str]) -> int:
    """Write or check the pages; return the exit code."""
    differing: list[Path] = []
    for path in pages():
        page = path.read_text(encoding="utf-8")
        if rewritten(page) != page:
            differing.append(path)
            if "--check" not in arguments:
                path.write_text(rewritten(page), encoding="utf-8", newline="\n")
    for path in differing:
        name = path.relative_to(ROOT).as_posix()
        print(f"{name} {'differs: run make docs' if '--check' in arguments else 'written'}")  # noqa: T201
    return int(bool(differing) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
