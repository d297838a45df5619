"""`skillopt report`: the picture and the page of a run, written from its files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt.cli.pages import page
from skillopt.errors import UsageError

EPILOG = page(
    examples=(
        "skillopt report runs/first",
        "skillopt report runs/first --open",
        "skillopt report runs/first --out reports/first.html",
    ),
    codes={0: "both were written, however the run ended"},
)


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="The page's file, .html, in place of RUN/report.html; the picture goes beside it.",
            show_default=False,
        ),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> int:
    """Write report.html and training_dashboard.png of the run in RUN, of one that is still going too.

    The page is one file that needs no network: scores, edits and spending as charts, every step with its verdict, the
    skill's difference from the seed to the best, each edit with its state, the tasks that each candidate fixed and
    broke, what happened between epochs, the spending by stage, the run card, and where little improved, why.

    Nothing is asked of a model, and nothing of the run is changed.
    """
    from skillopt.cli.terminal import say, say_unbroken
    from skillopt.report.html import REPORT_NAME, render
    from skillopt.report.page import report_page
    from skillopt.report.picture import PICTURE_NAME, draw
    from skillopt.report.run_files import RunFiles
    from skillopt.text_files import plain, write_bytes_atomically, write_text_atomically
    from skillopt.wording import simulated_notice

    if out is not None and out.suffix not in (".html", ".htm"):
        raise UsageError(f"--out is {out}; the page is HTML", hint="Name a file that ends in .html.")
    files = RunFiles(run)
    shown = report_page(files)
    path = run / REPORT_NAME if out is None else out
    write_text_atomically(path, render(shown), place="--out")
    if shown.simulated:
        say(simulated_notice())
    say(plain(shown.ending), style="bold")
    if shown.worth is not None:
        say(f"{shown.worth.headline} {shown.worth.numbers}".rstrip())
    for finding in shown.findings:
        say(f"- {plain(finding.text)}\n  {plain(finding.advice)}")
    say_unbroken(f"Page:    {plain(str(path))}")
    if shown.course is not None:
        picture = path.with_name(PICTURE_NAME)
        drawn = draw(shown.course, shown.ending, simulated=shown.simulated)
        write_bytes_atomically(picture, drawn, place="--out")
        say_unbroken(f"Picture: {plain(str(picture))}")
    if open_page:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            say("No browser could be opened; open the page yourself.")
    return 0
