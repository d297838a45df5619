"""`skillopt init`: a working configuration, seed skill and data template to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt.errors import UsageError


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Where the files are written.")] = Path(),
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FILE", help="Your task file (JSON, JSONL or CSV); without it, a template."),
    ] = None,
    target: Annotated[
        str, typer.Option("--target", metavar="PROVIDER:MODEL", help="The frozen model that does the tasks.")
    ] = "local:qwen2.5-coder-0.5b",
    optimizer: Annotated[
        str, typer.Option("--optimizer", metavar="PROVIDER:MODEL", help="The model that edits the skill.")
    ] = "local:qwen2.5-coder-1.5b",
) -> int:
    """Write config.yaml, seed_skill.md and, without --data, a tasks.jsonl to fill in.

    No file is ever overwritten.

    Example: skillopt init my_experiment --data answers.csv --target ollama:qwen3 --optimizer openai:gpt-5.5
    """
    from skillopt.cli.starter import starter_files
    from skillopt.cli.terminal import console
    from skillopt.models.providers import parse_model_name
    from skillopt.text_files import write_text_atomically

    for option, name in (("--target", target), ("--optimizer", optimizer)):
        parse_model_name(name, key=option)
    if data is not None and not data.is_file():
        raise UsageError(f"--data is {data}, which is not a file", hint="Name your task file, or leave --data out.")
    files = starter_files(directory, data=data, target=target, optimizer=optimizer)
    present = [str(directory / name) for name in files if (directory / name).exists()]
    if present:
        raise UsageError(f"already there, and not overwritten: {', '.join(present)}", hint="Name another directory.")
    out = console()
    for name, text in files.items():
        write_text_atomically(directory / name, text)
        out.print(f"wrote {directory / name}", markup=False, highlight=False, soft_wrap=True)
    config = directory / "config.yaml"
    out.print(f"Next: skillopt check {config} --offline, then skillopt train {config}", markup=False, highlight=False)
    return 0
