"""The ends of help pages."""

from __future__ import annotations

from skillopt.cli import evaluate, noise
from skillopt.cli.pages import END_STATES, end_codes, page
from skillopt.run.outcome import EndState


def test_every_end_of_a_training_is_explained() -> None:
    assert set(END_STATES) == set(EndState)
    assert {code: text.split(":")[0] for code, text in end_codes().items()} == {
        state.exit_code: state.value for state in EndState
    }


def test_a_page_lists_codes_in_their_order_and_examples_as_they_are_typed() -> None:
    """129 to 143 are those of the signals, with which every command can end."""
    text = page(examples=("skillopt train config.yaml",), codes={13: "the model did not answer", 0: "all is well"})
    codes = [int(line.split()[0]) for line in text.splitlines() if line.strip()[:1].isdigit()]
    assert codes == [0, 1, 2, 13, 129, 130, 143]
    assert "\n  skillopt train config.yaml\n" in text


def test_what_measures_may_end_at_a_limit_too() -> None:
    for command in (evaluate, noise):
        codes = [int(line.split()[0]) for line in command.EPILOG.splitlines() if line.strip()[:1].isdigit()]
        assert codes == [0, 1, 2, 13, 14, 129, 130, 143]
