"""The `skillopt` command: help, mistakes, exit codes, and how little it takes to answer them."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from tests.support.commands import Command, in_a_process, write_tiny_run

from skillopt import __main__ as start
from skillopt import __version__
from skillopt.cli import main as main_module
from skillopt.cli.main import main_eval, main_train, run
from skillopt.errors import ConfigError, FatalModelError, Interrupted, MeasurementError, SkillOptError, UsageError

COMMANDS = ("init", "check", "train", "eval")
HEAVY = {"aiohttp", "genai_prices", "matplotlib", "omegaconf", "pydantic_ai", "rich.console", "xllamacpp"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_examples_and_exit_codes(command: Command, name: str) -> None:
    code, said, _ = command(name, "--help")
    assert code == 0
    assert said.startswith(f"Usage: skillopt {name} [OPTIONS]")
    examples = said[said.index("  Examples:") : said.index("  Exit codes:")].splitlines()[1:]
    assert any(line.strip().startswith(f"skillopt {name}") for line in examples)
    for line in ("0  ", "1    a setting, a file or a directory is wrong", "2    the command", "130  interrupted"):
        assert f"\n    {line}" in said


def test_the_help_lists_every_command_with_a_whole_sentence(command: Command) -> None:
    code, said, _ = command("--help")
    assert code == 0
    for name in (*COMMANDS, "models"):
        (line,) = (line for line in said.splitlines() if line.startswith(f"  {name} "))
        assert line.endswith(".") and not line.endswith("...")


def test_without_a_command_the_help_is_shown_as_misuse(command: Command) -> None:
    code, said, error = command()
    assert (code, said) == (2, "")
    assert error.startswith("Usage: skillopt [OPTIONS] COMMAND")


def test_the_version_is_shown(command: Command) -> None:
    assert command("--version") == (0, f"skillopt {__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "message", "help_of"),
    [
        (["frobnicate"], "No such command 'frobnicate'.", "skillopt"),
        (["--frobnicate"], "No such option: --frobnicate", "skillopt"),
        (["train", "--frobnicate"], "No such option: --frobnicate", "skillopt train"),
        (["train", "--confg", "a.yaml"], "Possible options: --config", "skillopt train"),
        (["check", "--config"], "'--config' requires an argument", "skillopt check"),
        (["eval", "a.yaml", "--split"], "'--split' requires an argument", "skillopt eval"),
        (["init", "a", "b"], "extra argument", "skillopt init"),
    ],
)
def test_a_command_line_that_cannot_be_read_is_one_message(
    command: Command, words: list[str], message: str, help_of: str
) -> None:
    code, said, error = command(*words)
    assert (code, said) == (2, "")
    first, second = error.splitlines()
    assert first.startswith("error: ") and message in first
    assert second == f"{help_of} --help shows what there is."


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (UsageError("wrong"), 2),
        (ConfigError("wrong"), 1),
        (SkillOptError("wrong"), 1),
        (FatalModelError("wrong"), 13),
        (MeasurementError("wrong"), 13),
    ],
)
def test_our_errors_are_a_message_and_a_code(
    capsys: pytest.CaptureFixture[str], raised: SkillOptError, code: int
) -> None:
    assert run([], raising(raised)) == code
    assert capsys.readouterr() == ("", "error: wrong\n")


def test_a_message_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    run([], raising(ConfigError("task \x1b[2J\u202e7", hint="look\there")))
    assert capsys.readouterr().err == "error: task �[2J�7\nlook\there\n"


def test_an_interruption_is_a_message_and_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([], raising(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err.startswith("interrupted; what was recorded is kept")


def test_an_interruption_in_order_has_the_code_of_its_signal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([], raising(Interrupted("interrupted (SIGTERM)", exit_code=143))) == 143
    assert capsys.readouterr().err == (
        "interrupted (SIGTERM)\nWhat was recorded is kept: run the same command again to go on.\n"
    )


def test_what_the_system_refuses_is_a_message_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([], raising(PermissionError(errno.EACCES, "Permission denied", "some/file"))) == 1
    message, advice = capsys.readouterr().err.splitlines()
    assert message == "error: some/file: Permission denied"
    assert "write permission" in advice and "what was recorded" in advice


def test_a_command_that_records_nothing_is_not_said_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_dir", refuse)
    assert run(["init", "."]) == 1
    assert capsys.readouterr().err.endswith("then run the same command again.\n")


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("train", "CONFIG", "env.out_root=taken/run"), "env.out_root"),
        (("train", "CONFIG", "--fork", "taken/run"), "--fork"),
        (("eval", "CONFIG", "--out", "taken/eval"), "--out"),
        (("noise", "CONFIG", "--out", "taken/noise"), "--out"),
        (("report", "RUN", "--out", "taken/report.html"), "--out"),
        (("init", "taken/start"), "DIRECTORY"),
    ],
)
def test_a_place_that_cannot_be_is_told_by_what_names_it(
    command: Command, tmp_path: Path, words: tuple[str, ...], place: str
) -> None:
    """Nothing was recorded there that a second try could go on with."""
    config, run_directory = write_tiny_run(tmp_path), tmp_path / "young"
    run_directory.mkdir()
    (run_directory / "events.jsonl").touch()
    (tmp_path / "taken").touch()
    if "--fork" in words:
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "evidence.sqlite").touch()
    named = {"CONFIG": config, "RUN": run_directory}
    code, _, error = command(*(named.get(word, word) for word in words))
    assert code == 1
    message, advice = error.splitlines()
    assert message.startswith("error: ") and "taken/" in message
    assert advice.startswith("A file stands where a directory should be")
    assert advice.endswith(f"or name another place ({place}).")


def test_a_system_error_that_says_nothing_of_disks_is_a_fault_of_ours() -> None:
    with pytest.raises(OSError, match="strange"):
        run([], raising(OSError("strange")))


@pytest.mark.parametrize("module", ["skillopt", "skillopt.cli.main"])
def test_the_package_can_be_run_as_a_module(tmp_path: Path, module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == (f"skillopt {__version__}\n", "")


@pytest.mark.skipif(os.name != "posix", reason="another system sends no SIGINT to one process")
@pytest.mark.parametrize("entry", ["main", "main_train", "main_eval"])
def test_ctrl_c_while_the_command_is_imported_is_one_word_and_its_code(tmp_path: Path, entry: str) -> None:
    """The name of a module that the command imports first stands for the moment of the import."""
    (tmp_path / "typer.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)\n", "utf-8")
    begin = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from skillopt.__main__ import {entry}; {entry}()"
    done = subprocess.run([sys.executable, "-c", begin], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.skipif(os.name != "posix", reason="another system sends no SIGINT to one process")
def test_ctrl_c_that_is_ignored_stays_ignored_while_the_command_is_imported(tmp_path: Path) -> None:
    held = "import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN); os.kill(os.getpid(), signal.SIGINT)"
    begin = f"{held}; from skillopt.__main__ import main; os.kill(os.getpid(), signal.SIGINT); main()"
    done = subprocess.run([sys.executable, "-c", begin, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"skillopt {__version__}\n", "")


def test_ctrl_c_as_the_command_begins_or_ends_is_one_word_and_its_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main_module, "main", interrupted)
    with pytest.raises(SystemExit) as ended:
        start.main()
    assert (ended.value.code, *capsys.readouterr()) == (130, "", "interrupted\n")


def test_every_console_script_begins_where_ctrl_c_is_minded() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    scripts = tomllib.loads(project.read_text("utf-8"))["project"]["scripts"]
    assert all(target.startswith("skillopt.__main__:") for target in scripts.values())
    assert all(callable(getattr(start, target.partition(":")[2])) for target in scripts.values())


def test_a_fault_of_ours_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        run([], raising(ZeroDivisionError()))


def raising(error: BaseException) -> typer.Typer:
    application = typer.Typer(pretty_exceptions_enable=False)

    @application.command()
    def fail() -> None:
        raise error

    return application


@pytest.mark.parametrize(("entry", "name"), [(main_train, "skillopt-train"), (main_eval, "skillopt-eval")])
def test_the_aliases_are_their_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, entry: Callable[[], None], name: str
) -> None:
    monkeypatch.setattr(sys, "argv", [f"some/where/{name}", "--help"])
    with pytest.raises(SystemExit) as ended:
        entry()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"Usage: {name} [OPTIONS] [CONFIG]")


def test_help_and_mistakes_load_nothing_heavy(tmp_path: Path) -> None:
    lines = ["", "--help", "train --help", "train --bogus", "train nofile.yaml", "init --data nofile.csv"]
    code = f"""import sys; from skillopt.cli.main import run
for line in {lines!r}: run(line.split())
print(*sys.modules)"""
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert HEAVY & set(result.stdout.split()) == set()


def test_the_first_help_page_makes_no_classes_of_the_configuration() -> None:
    """They take as long as all the rest of it."""
    code = """import sys; from skillopt.cli.main import run
for line in ("", "--help"): run(line.split())
print(*sys.modules)"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pydantic" not in result.stdout.split()


def test_a_terminal_without_unicode_gets_question_marks(tmp_path: Path) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    write_tiny_run(tmp_path / "työ")
    code, said, error = in_a_process("check", "työ/config.yaml", "--offline", cwd=tmp_path, environment=ascii_only)
    assert (code, error) == (0, "")
    assert said.isascii()
    assert "/ty??/config.yaml" in said or "/ty?/config.yaml" in said
