"""What the help pages have in common: examples and exit codes, kept in their lines at the end of each page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillopt.run.outcome import EndState

END_STATES: Mapping[EndState, str] = {
    EndState.IMPROVED: "the best skill scores strictly higher than the seed",
    EndState.ALL_REJECTED: "candidates were made and none scored higher",
    EndState.NOT_CONFIRMED: "a gain at the gate was not seen again in fresh passes",
    EndState.NO_CANDIDATES: "no step made a skill that differs from the seed",
    EndState.SATURATED: "the seed has the highest possible score already",
    EndState.PROVIDER_FAILED: "a model, or too many tasks, gave no usable answer",
    EndState.LIMIT_REACHED: "a limit was reached (`limits`)",
    EndState.INTERRUPTED: "Ctrl-C; in order, or at once by a second one",
}
"""Each end of a training in a few words; scores are those on the selection split."""

ERROR, MISUSE, HUNG_UP, INTERRUPTED, TERMINATED = 1, 2, 129, 130, 143

ERRORS: Mapping[int, str] = {
    ERROR: "a setting, a file or a directory is wrong, or output was lost",
    MISUSE: "the command was called wrongly",
    HUNG_UP: "interrupted (the terminal was closed)",
    INTERRUPTED: "interrupted (Ctrl-C)",
    TERMINATED: "interrupted (SIGTERM)",
}
"""What the exit codes mean that every command has."""


MEASURED: Mapping[int, str] = {
    0: "every task was measured",
    EndState.PROVIDER_FAILED.exit_code: "some or all tasks could not be measured, or the model did not answer",
    EndState.LIMIT_REACHED.exit_code: "a limit was reached (`limits`)",
}
"""What the exit codes of commands mean that measure and do not train."""


def page(*, examples: Sequence[str], codes: Mapping[int, str]) -> str:
    """Return the end of a help page: examples as they are typed, and what each exit code means.

    Args:
        examples: Commands that work.
        codes: What the command's own exit codes mean; those of wrong use and wrong files are the same everywhere.
    """
    meanings = sorted({**ERRORS, **codes}.items())
    # A line with the character \b alone tells the formatter to leave the lines that follow as they are.
    return "\n".join(
        ["\b", "Examples:", *(f"  {example}" for example in examples), "", "\b", "Exit codes:"]
        + [f"  {code:<5}{meaning}" for code, meaning in meanings]
    )


def end_codes() -> dict[int, str]:
    """Return the exit codes of a training with their meaning."""
    return {state.exit_code: f"{state}: {meaning}" for state, meaning in END_STATES.items()}
