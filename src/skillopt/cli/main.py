"""The `skillopt` command: finds the command, turns our errors into one message and an exit code.

Command modules import what they need when they run, so that `--help` and errors answer at once.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, NoReturn

import typer

from skillopt.cli import check, dashboard, diff, evaluate, init, models, noise, recover, report, show, train
from skillopt.cli.pages import ERROR, INTERRUPTED, MISUSE
from skillopt.cli.streams import enduring_output
from skillopt.config.secrets import masked
from skillopt.disk import is_refusal, refusal
from skillopt.errors import Interrupted, LimitReached, MeasurementError, ModelError, SkillOptError, UsageError
from skillopt.text_files import plain

_RECORDING = frozenset({"train", "eval", "noise"})
"""The commands that go on with what they recorded."""


def _new_app(**more: Any) -> typer.Typer:
    return typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, **more)


def _alone(command: Callable[..., int], epilog: str) -> typer.Typer:
    """Return an application that is one command, for the console scripts named after it."""
    alone = _new_app()
    alone.command(epilog=epilog)(command)
    return alone


app = _new_app(name="skillopt", no_args_is_help=True)
app.command("init", epilog=init.EPILOG, short_help="Write a configuration and a seed skill to start from.")(init.init)
app.command("check", epilog=check.EPILOG, short_help="Check all that a training needs; show its price.")(check.check)
app.command("train", epilog=train.EPILOG, short_help="Train a skill and measure it on held-out tasks.")(train.train)
app.command("eval", epilog=evaluate.EPILOG, short_help="Measure and compare skills on a split.")(evaluate.evaluate)
app.command("show", epilog=show.EPILOG, short_help="Walk a run: its steps, tasks and edits.")(show.show)
app.command("diff", epilog=diff.EPILOG, short_help="Compare two runs, or two skills.")(diff.diff)
app.command("noise", epilog=noise.EPILOG, short_help="Measure the noise of the selection split.")(noise.noise)
app.command("report", epilog=report.EPILOG, short_help="Write the picture and the page of a run.")(report.report)
app.command("dashboard", epilog=dashboard.EPILOG, short_help="Show the runs of a directory on a live page.")(
    dashboard.dashboard
)
app.command("recover", epilog=recover.EPILOG, short_help="Keep what is whole of damaged evidence.")(recover.recover)
app.add_typer(models.app, name="models")


def _show_version(wanted: bool) -> None:
    if wanted:
        from skillopt import __version__

        print(f"skillopt {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback(epilog="skillopt COMMAND --help has examples and the exit codes of each command.")
def skillopt(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Train a skill document for a frozen language-model agent, and prove on held-out tasks that it got better."""


def main() -> None:
    """Run the `skillopt` command."""
    _end_with(sys.argv[1:])


def main_train() -> None:
    """Run `skillopt-train` or `scripts/train.py`: the same as `skillopt train`."""
    _end_with(sys.argv[1:], _alone(train.train, train.EPILOG), program=Path(sys.argv[0]).name)


def main_eval() -> None:
    """Run `skillopt-eval`: the same as `skillopt eval`."""
    _end_with(sys.argv[1:], _alone(evaluate.evaluate, evaluate.EPILOG), program=Path(sys.argv[0]).name)


def run(arguments: Sequence[str], application: typer.Typer = app, *, program: str = "skillopt") -> int:
    """Run a command and return its exit code.

    An error that a person can act on is one message on standard error, and so is what the disk or the system refuses.
    Anything else is a fault of ours and keeps its traceback. Output that could not be delivered is said at the end, and
    the code is then not 0.

    Args:
        arguments: The command line without the program's name.
        application: The command or commands.
        program: The program's name, for messages.
    """
    with enduring_output() as output:
        code = _run(arguments, application, program)
        output.flush()
        if output.lost is not None:
            _print(f"error: standard output could not be written ({output.lost.strerror}), and a part of it is lost")
            code = code or ERROR
    return code


def _run(arguments: Sequence[str], application: typer.Typer, program: str) -> int:
    # Everything after `--cfg-options` is an override, as trailing words are, so the flag itself says nothing more.
    words = [word for word in arguments if word != "--cfg-options"]
    try:
        result = application(words, prog_name=program, standalone_mode=False)
    except SkillOptError as error:
        return _report(error)
    except typer.TyperException as error:
        named = words[:1] if any(known.name in words[:1] for known in application.registered_commands) else []
        return _report_misuse(error, " ".join([program, *named]))
    except OSError as error:
        if not is_refusal(error):
            raise
        records = application is not app or not _RECORDING.isdisjoint(words[:1])
        return _report(refusal(error, str(error.filename or "the system refused something"), recorded=records))
    except KeyboardInterrupt:
        result = INTERRUPTED
    if result == INTERRUPTED:
        _print("interrupted; what was recorded is kept: run the same command again to go on")
    return result if isinstance(result, int) else 0


def _report(error: SkillOptError) -> int:
    if isinstance(error, Interrupted):
        _print(str(error))
        return error.exit_code
    _print(f"error: {error}")
    if isinstance(error, UsageError):
        return MISUSE
    if isinstance(error, ModelError | MeasurementError | LimitReached):
        from skillopt.run.outcome import EndState

        if isinstance(error, LimitReached):
            _print(EndState.LIMIT_REACHED.advice)
            return EndState.LIMIT_REACHED.exit_code
        return EndState.PROVIDER_FAILED.exit_code
    return ERROR


def _report_misuse(error: typer.TyperException, called: str) -> int:
    """Say what the parser could not make sense of, and where the help is.

    Args:
        error: The parser's.
        called: The program with its command, for an error that does not know where it happened.
    """
    message = error.format_message()
    if message.startswith("Usage:"):
        _print(message)  # no command was named, so the parser's message is the whole page
        return MISUSE
    command = getattr(getattr(error, "ctx", None), "command_path", called)
    _print(f"error: {message}\n{command} --help shows what there is.")
    return MISUSE


def _print(text: str) -> None:
    print(plain(masked(text, os.environ)), file=sys.stderr)  # noqa: T201


def _end_with(arguments: Sequence[str], application: typer.Typer = app, *, program: str = "skillopt") -> NoReturn:
    """Run a command and end the process with its exit code; a traceback is shown without keys."""
    try:
        code = run(arguments, application, program=program)
    finally:
        sys.excepthook = _show_crash  # not earlier: typer puts a hook of its own there
    sys.exit(code)


def _show_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print a traceback; the message of an error may hold the key that it stumbled over."""
    _print("".join(traceback.format_exception(kind, error, trace)).rstrip())


if __name__ == "__main__":
    main()
