"""`skillopt init`: files that check and train as they are."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.commands import Command
from tests.support.runs import SMALL, read_json

from skillopt.config.load import load_config
from skillopt.data.splits import load_splits

PARAMETERS = "?seed=5&rules=4&tasks=32&rules_per_task=1"
MODELS = ("--target", f"simulated:target{PARAMETERS}", "--optimizer", f"simulated:optimizer{PARAMETERS}")


def test_the_template_checks_as_it_is(command: Command, tmp_path: Path) -> None:
    code, said, _ = command("init", "my experiment")
    assert code == 0
    assert sorted(path.name for path in (tmp_path / "my experiment").iterdir()) == [
        "config.yaml",
        "seed_skill.md",
        "tasks.jsonl",
    ]
    commands = [shlex.split(line, comments=True)[1:] for line in said.splitlines() if line.startswith("  skillopt")]
    assert [words[0] for words in commands] == ["check", "models", "models", "train"]
    code, said, error = command(*commands[0])
    assert (code, error) == (0, "")
    assert "train 10, val 10, test 10" in said


def test_a_task_file_of_ones_own_trains(command: Command, tmp_path: Path) -> None:
    """The three commands of the README, on the tasks of the simulated world."""
    data = tmp_path / "my data" / "frågor.jsonl"
    data.parent.mkdir()
    rows = [{"prompt": task.question, "gold": task.answer} for task in SMALL.tasks]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert command("init", "mine", "--data", data, *MODELS)[0] == 0
    assert not (tmp_path / "mine" / "tasks.jsonl").exists()
    assert command("check", "mine/config.yaml", "--offline")[0] == 0
    code, said, _ = command("train", "mine/config.yaml", "train.num_epochs=1")
    assert code == 0, said
    assert read_json(tmp_path / "mine" / "run" / "summary.json")["state"] == "improved"


def write(path: Path, text: str, *, encoding: str = "utf-8") -> Path:
    path.write_text(text, encoding, newline="")
    return path


SHAPES: dict[str, tuple[Callable[[Path], Path], dict[str, str], str]] = {
    "a JSON list": (
        lambda at: write(at / "a.json", json.dumps([{"question": f"q{n}", "answer": f"a{n}"} for n in range(3)])),
        {},
        "exact",
    ),
    "a JSON object that holds the list": (
        lambda at: write(at / "a.json", json.dumps({"data": [{"input": f"q{n}", "output": n} for n in range(3)]})),
        {"question": "input", "answer": "output"},
        "number",
    ),
    "CSV from a spreadsheet": (
        lambda at: write(
            at / "a.csv", 'Prompt,Ground_Truth\r\n"a, b","1,000"\r\nc,2.5\r\nd,-3\r\n', encoding="utf-8-sig"
        ),
        {"question": "Prompt", "answer": "Ground_Truth"},
        "number",
    ),
    "TSV": (
        lambda at: write(at / "a.tsv", "query\tlabel\na (A) x (B) y\tA\nb\tB\nc\tb\n"),
        {"question": "query", "answer": "label"},
        "choice",
    ),
    "options in a field of their own": (
        lambda at: write(
            at / "a.jsonl",
            "".join(json.dumps({"question": f"q{n}", "choices": ["x", "y"], "answer": "y"}) + "\n" for n in range(3)),
        ),
        {"options": "choices"},
        "choice",
    ),
    "objects": (
        lambda at: write(
            at / "a.jsonl", "".join(json.dumps({"question": f"q{n}", "answer": {"x": n}}) + "\n" for n in range(3))
        ),
        {},
        "json",
    ),
    "several accepted answers": (
        lambda at: write(
            at / "a.jsonl", "".join(json.dumps({"question": f"q{n}", "answers": ["x", n]}) + "\n" for n in range(3))
        ),
        {"answer": "answers"},
        "exact",
    ),
    "answers of punctuation alone": (
        lambda at: write(
            at / "a.jsonl", "".join(json.dumps({"question": f"q{n}", "answer": "+"}) + "\n" for n in range(3))
        ),
        {},
        "exact",
    ),
    "answers that are none of the options": (
        lambda at: write(
            at / "a.jsonl",
            "".join(json.dumps({"question": f"q{n}", "options": ["x", "z"], "answer": "A y"}) + "\n" for n in range(3)),
        ),
        {},
        "exact",
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_fields_and_scorer_are_told_from_the_file(command: Command, tmp_path: Path, shape: str) -> None:
    make, fields, scorer = SHAPES[shape]
    code, _, error = command("init", "mine", "--data", make(tmp_path), *MODELS)
    assert code == 0, error
    env = load_config(tmp_path / "mine" / "config.yaml").config.env
    assert env.fields == fields
    assert (env.model_extra or {})["scorer"] == scorer
    assert len(load_splits(env).train) == 1
    code, _, error = command("check", "mine/config.yaml", "--offline")
    assert (code, error) == (0, "")


def test_options_are_shown_to_the_target(command: Command, tmp_path: Path) -> None:
    make, _, _ = SHAPES["options in a field of their own"]
    command("init", "mine", "--data", make(tmp_path), *MODELS)
    assert (load_config(tmp_path / "mine" / "config.yaml").config.env.model_extra or {})["prompt"] == (
        "{question}\n\n{options}"
    )


@pytest.mark.parametrize("name", ["config.yaml", "seed_skill.md", "tasks.jsonl"])
def test_nothing_is_ever_overwritten(command: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine", "utf-8")
    code, said, error = command("init")
    assert (code, said) == (2, "")
    assert error.startswith(f"error: already there, and not overwritten: {name}\n")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["d", "--data", "nope.csv"], 2, "--data is nope.csv, which is not a file"),
        (["d", "--data", "."], 2, "--data is ., which is not a file"),
        (["d", "--data", "a.txt"], 1, "task files end in"),
        (["d", "--data", "q.jsonl"], 1, "no field holds the question; the fields are frage, answer"),
        (["d", "--data", "empty.jsonl"], 1, "empty.jsonl, line 2"),
        (["a.txt"], 2, "a.txt is not a directory"),
        (["d", "--target", "gpt-5.5"], 1, "--target is 'gpt-5.5'; it must be provider:model"),
    ],
)
def test_a_mistake_writes_nothing(command: Command, tmp_path: Path, words: list[str], code: int, message: str) -> None:
    write(tmp_path / "a.txt", "text")
    write(tmp_path / "q.jsonl", '{"frage": "?", "answer": "!"}\n')
    write(tmp_path / "empty.jsonl", '{"question": "?", "answer": "!"}\n{"question": "??", "answer": ""}\n')
    result, said, error = command("init", *words)
    assert (result, said) == (code, "")
    assert message in error
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("models", "weights"),
    [
        ((), ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"]),
        (("--target", "local:qwen2.5-coder-1.5b"), ["qwen2.5-coder-1.5b"]),
        (("--target", "openai:a", "--optimizer", "local:own.gguf"), []),
    ],
)
def test_the_weights_that_local_models_need_are_named(
    command: Command, models: tuple[str, ...], weights: list[str]
) -> None:
    code, said, _ = command("init", "mine", *models)
    assert code == 0
    assert [line.split()[3] for line in said.splitlines() if "models fetch" in line] == weights
