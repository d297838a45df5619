"""The `skillopt` command: finds the command, turns our errors into one message and an exit code.

Command modules import what they need when they run, so that `--help` and errors answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from skillopt.cli import check, evaluate, init, models, train
from skillopt.errors import MeasurementError, ModelError, SkillOptError, UsageError

app = typer.Typer(
    name="skillopt",
    help="Train a skill document for a frozen language-model agent, and prove on held-out tasks that it got better.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("init")(init.init)
app.command("check")(check.check)
app.command("train")(train.train)
app.command("eval")(evaluate.evaluate)
app.add_typer(models.app, name="models")


def main() -> None:
    """Run the `skillopt` command."""
    sys.exit(run(sys.argv[1:]))


def main_train() -> None:
    """Run `skillopt-train`: the same as `skillopt train`."""
    sys.exit(run(["train", *sys.argv[1:]]))


def main_eval() -> None:
    """Run `skillopt-eval`: the same as `skillopt eval`."""
    sys.exit(run(["eval", *sys.argv[1:]]))


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code.

    An error that a person can act on is one message on standard error. Anything else is a fault of ours and keeps its
    traceback.
    """
    # Everything after `--cfg-options` is an override, as trailing words are, so the flag itself says nothing more.
    words = [word for word in arguments if word != "--cfg-options"]
    try:
        result = app(words, standalone_mode=False)
    except SkillOptError as error:
        return _report(error)
    except KeyboardInterrupt:
        print("interrupted; what was recorded is kept: run the same command to go on", file=sys.stderr)  # noqa: T201
        return 130
    except typer.Abort:
        return 130
    except Exception as error:
        from click import ClickException

        if not isinstance(error, ClickException):
            raise
        error.show()
        return error.exit_code
    return result if isinstance(result, int) else 0


def _report(error: SkillOptError) -> int:
    print(f"error: {error}", file=sys.stderr)  # noqa: T201
    if isinstance(error, UsageError):
        return 2
    if isinstance(error, ModelError | MeasurementError):
        from skillopt.run.outcome import EndState

        return EndState.PROVIDER_FAILED.exit_code
    return 1
