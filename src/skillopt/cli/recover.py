"""`skillopt recover`: what is whole of damaged evidence, made usable again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.pages import page

if TYPE_CHECKING:
    from skillopt.run.recovery import Recovery

EPILOG = page(
    examples=("skillopt recover run",),
    codes={0: "the evidence is usable: it was whole, or what is whole of it was recovered"},
)

_KINDS = {
    "replies": "replies",
    "trajectories": "trajectories",
    "rollouts": "rollouts",
    "payments": "payments",
    "given_up": "failures that the run went on with",
    "notes": "notes of the run",
}


def recover(
    directory: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory, or that of an evaluation.")],
) -> int:
    """Keep what is whole of the damaged evidence in RUN, so that the run can go on.

    The damaged file is moved aside as evidence.sqlite.damaged-1 and never written to; the new evidence.sqlite holds
    every record that is what was written. The same training command then goes on and pays only for what was lost.
    Evidence that is whole stays as it is.
    """
    from skillopt.cli.terminal import say, say_unbroken
    from skillopt.run.recovery import recover as recover_evidence
    from skillopt.text_files import plain

    recovery = recover_evidence(directory)
    if recovery.aside is None:
        counts = ", ".join(f"{found.recovered} {_KINDS[found.table]}" for found in recovery.found if found.recovered)
        say_unbroken(f"{plain(str(recovery.evidence))} is whole; nothing was changed")
        say(f"It holds {counts or 'nothing yet'}.")
        return 0
    _show(recovery)
    if recovery.lost_identity:
        say(
            "Which run it is was noted there, and is lost. Start it with its own settings and data: those that "
            "config.yaml and split_manifest.json in the directory say."
        )
    say_unbroken(f"The damaged file is kept: {plain(str(recovery.aside))}")
    say("Run the same training command to go on: what was recovered is not paid again.")
    return 0


def _show(recovery: Recovery) -> None:
    from skillopt.cli.terminal import new_table, say, show_table

    numbers = ("recovered", "damaged", "missing")
    table = new_table("records", *numbers, right=frozenset(numbers))
    for found in recovery.found:
        table.add_row(_KINDS[found.table], str(found.recovered), str(found.damaged), str(found.missing))
    show_table(table)
    if any(found.damaged for found in recovery.found):
        say("Damaged ones are there, but are not what was written.")
    if any(found.missing for found in recovery.found):
        say("Missing ones must have been there, since later ones are.")
    say("Whether still later ones are lost is not known.")
