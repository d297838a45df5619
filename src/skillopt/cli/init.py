"""`skillopt init`: a working configuration, seed skill and data template to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from skillopt.cli.pages import page
from skillopt.errors import UsageError

EPILOG = page(
    examples=(
        "skillopt init my_experiment",
        "skillopt init my_experiment --data answers.csv",
        "skillopt init my_experiment --data answers.csv --target ollama:qwen3 --optimizer openai:gpt-5.5",
    ),
    codes={0: "the files are written"},
)


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Where the files are written.")] = Path(),
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FILE", help="Your task file (JSON, JSONL, CSV or TSV); else a template."),
    ] = None,
    target: Annotated[
        str, typer.Option("--target", metavar="PROVIDER:MODEL", help="The frozen model that does the tasks.")
    ] = "local:qwen2.5-coder-0.5b",
    optimizer: Annotated[
        str, typer.Option("--optimizer", metavar="PROVIDER:MODEL", help="The model that edits the skill.")
    ] = "local:qwen2.5-coder-1.5b",
) -> int:
    """Write config.yaml, seed_skill.md and, without --data, a tasks.jsonl to fill in.

    Your task file is read where it is and not copied. Which of its fields holds the question and which the answer, and
    how answers are compared, is told from the file and written into config.yaml, where you can change it. No file is
    ever overwritten.
    """
    from skillopt.cli.starter import starter_files
    from skillopt.config.secrets import found_secrets
    from skillopt.models.providers import ModelName, parse_model_name
    from skillopt.text_files import plain, write_text_atomically

    named: list[ModelName] = []
    for option, name in (("--target", target), ("--optimizer", optimizer)):
        if any(found_secrets(name, ("model",))):
            raise UsageError(
                f"{option} is refused and not shown: it looks like a key or token",
                hint="Keys are read from the environment only, such as OPENAI_API_KEY.",
            )
        named.append(parse_model_name(name, key=option))
    if data is not None and not data.is_file():
        raise UsageError(f"--data is {data}, which is not a file", hint="Name your task file, or leave --data out.")
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is not a directory", hint="Name another one; it is made where missing.")
    files = starter_files(directory, data=data, target=target, optimizer=optimizer)
    present = [str(directory / name) for name in files if (directory / name).exists()]
    if present:
        raise UsageError(f"already there, and not overwritten: {', '.join(present)}", hint="Name another directory.")
    from skillopt.cli.terminal import say, say_unbroken

    for name, text in files.items():
        write_text_atomically(directory / name, text, place="DIRECTORY")
        say_unbroken(f"wrote {plain(str(directory / name))}")
    config = plain(shlex.quote(str(directory / "config.yaml")))
    say("\nNext:")
    say_unbroken(f"  skillopt check {config} --offline   # every setting and file; the plan and its price")
    weights = sorted({name.model for name in named if name.provider == "local" and not name.model.endswith(".gguf")})
    for model in weights:
        say_unbroken(f"  skillopt models fetch {plain(shlex.quote(model))}   # once: the weights of a local model")
    say_unbroken(f"  skillopt train {config}")
    return 0
