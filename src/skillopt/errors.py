"""Every error that SkillOpt raises on purpose, in one tree.

    SkillOptError                     something a person can act on; the message says what, where and what to do
    ├── UsageError                    the command was called wrongly
    ├── ConfigError                   a configuration file or override is wrong
    ├── DataError                     a task file, split or manifest is wrong
    ├── SkillError                    a skill document cannot be read
    ├── EnvironmentLoadError          an environment, scorer or its code cannot be loaded or used
    ├── MissingDependencyError        an optional extra is not installed
    ├── WeightsError                  the weights of an embedded model cannot be fetched or kept
    ├── RunDirectoryError             a run directory cannot be used (other settings, in use, damaged, not writable)
    ├── ColumnError                   a table of a run has no column by any of the names given; a KeyError as well
    ├── MeasurementError              too little could be measured for any decision
    ├── LimitReached                  a configured limit stops the run in order
    ├── Interrupted                   somebody asked the run to end, and it ended in order
    └── ModelError                    a model did not answer as asked
        ├── TransientModelError       worth another attempt: connection, timeout, 408, 409, 425, 429, 5xx
        │   ├── RateLimitError        429, with the wait the provider asked for
        │   └── ModelTimeoutError     no answer within the seconds that a call may take
        ├── FatalModelError           another attempt cannot help: 400, 401, 403, 404 and the like; the run stops
        └── UnusableReplyError        the model answered, but with nothing that can be used (empty, cut, reasoning only)

At the level of one task a failure is a value (`types.Failure`), never an exception that ends the batch; exceptions
are for what ends a stage or the run.
"""

from __future__ import annotations

import shlex
import sys


class SkillOptError(Exception):
    """Base of all errors that are meant for a person.

    Args:
        message: What went wrong and where (file and line, or key), in one sentence.
        hint: What to do next. Empty where the message already says it.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(SkillOptError):
    """The command line was used wrongly."""


class ConfigError(SkillOptError):
    """A configuration value, key or file is wrong; the message names the key, the value and where it was set."""


class DataError(SkillOptError):
    """A task file or a split is wrong; the message names the file, the line and the ids."""


class SkillError(SkillOptError):
    """A skill document cannot be read, such as an unclosed protected section."""


class EnvironmentLoadError(SkillOptError):
    """An environment, a scorer or the Python code it names cannot be loaded or used."""


class MissingDependencyError(SkillOptError):
    """An optional extra is needed; the hint is the line that installs it."""


def install_line(extra: str) -> str:
    """Return the line that adds an extra to the installation that is running, whichever pip a shell would find.

    Another Python's pip does not see this installation, and fetches what the index has under its name.
    """
    return f'{shlex.quote(sys.executable or "python")} -m pip install "skillopt[{extra}]"'


class WeightsError(SkillOptError):
    """The weights of an embedded model cannot be fetched or kept; the message says what each source answered."""


class RunDirectoryError(SkillOptError):
    """A run directory cannot be used: it belongs to other settings, is in use, is damaged or cannot be written."""


class ColumnError(SkillOptError, KeyError):
    """A table of a run has no such column; the message names the nearest, the hint all there are."""


class MeasurementError(SkillOptError):
    """Too few tasks could be measured; holds the first distinct reasons in its message."""


class LimitReached(SkillOptError):
    """A configured limit (calls, tokens, dollars, minutes) is reached; the run ends in order."""


class Interrupted(SkillOptError):
    """Somebody asked the run to end, such as by Ctrl-C; it ended in order.

    Args:
        message: What asked.
        exit_code: What the process shall return: 130 after SIGINT, 143 after SIGTERM.
    """

    def __init__(self, message: str, *, exit_code: int) -> None:
        super().__init__(message, hint="What was recorded is kept: run the same command again to go on.")
        self.exit_code = exit_code


class ModelError(SkillOptError):
    """A model did not answer as asked.

    Args:
        message: The provider's own words, with the model's name in front.
        hint: What to do next.
        status: HTTP status code, where there was one.

    Attributes:
        paid: Fresh, cached and output tokens of an answer that began as a success and was none: the provider may bill
            it, so it counts as a paid call. Zeros where the answer does not say them; None for what costs nothing.
    """

    paid: tuple[int, int, int] | None = None

    def __init__(self, message: str, *, hint: str = "", status: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class TransientModelError(ModelError):
    """A failure that may pass by itself: connection lost, timeout, or a server's 408, 409, 425, 429 or 5xx."""


class RateLimitError(TransientModelError):
    """The provider asks for fewer requests.

    Args:
        message: The provider's own words.
        retry_after: Seconds to wait, as the provider asked; None where it did not say.
        status: HTTP status code.
    """

    def __init__(self, message: str, *, retry_after: float | None = None, status: int | None = 429) -> None:
        super().__init__(message, status=status)
        self.retry_after = retry_after


class ModelTimeoutError(TransientModelError):
    """No answer within the seconds that a call may take; tried again less often than other failures that may pass."""


class FatalModelError(ModelError):
    """A failure that another attempt cannot mend: bad request, bad key, no permission, unknown model."""


class UnusableReplyError(ModelError):
    """The model answered with nothing usable: empty, cut at its token limit, or reasoning without an answer."""
