"""`skillopt dashboard`: the live page over the runs of a directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt.cli.pages import page
from skillopt.errors import MissingDependencyError, install_line

EPILOG = page(
    examples=(
        "skillopt dashboard runs",
        "skillopt dashboard runs --open",
        "skillopt dashboard runs --port 0",
        "SKILLOPT_DASHBOARD_TOKEN=... skillopt dashboard runs --host 0.0.0.0",
    ),
    codes={0: "it was ended, by Ctrl-C or SIGTERM"},
)


def dashboard(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where the runs are, up to two levels deep.")
    ] = Path(),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 for any that is free.")] = 7860,
    host: Annotated[
        str, typer.Option("--host", help="The address to answer at; one that other machines reach needs a token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="SKILLOPT_DASHBOARD_TOKEN",
            help="What a browser has to show once, behind the address: ?token=...",
            show_default=False,
        ),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> int:
    """Show the runs in DIR on a live page: which there are, how they stand, and each down to a trajectory.

    Runs that are at work are followed as they go, also when they are killed and started again, and new ones appear.
    The page only reads: nothing on it can change a run, and no model is asked. It needs no network. Ctrl-C ends it and
    no training.

    Only this machine can open it unless --host says otherwise. On a machine that others use too, give a token: without
    one, all its users can.
    """
    from skillopt.cli.terminal import say, say_unbroken
    from skillopt.text_files import plain

    try:
        from skillopt.dashboard.serving import Dashboard
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"the live page needs {error.name}, which is not installed", hint=f"Install it: {install_line('dashboard')}"
        ) from error

    shown = Dashboard(directory, host=host, port=port, token=token)
    say_unbroken(f"Runs in {plain(str(directory.resolve()))}: {shown.url}")
    if token is not None:
        say("Open it once with ?token=... behind the address; the browser then remembers.")
    say("Ctrl-C ends it.")
    if open_page:
        from threading import Thread
        from urllib.parse import urlencode

        address = shown.url if token is None else f"{shown.url}?{urlencode({'token': token})}"
        # A browser in the terminal is waited for, and waits for the page: it is opened beside it.
        Thread(target=_open, args=(address,), name="browser", daemon=True).start()
    shown.serve()
    return 0


def _open(address: str) -> None:
    import webbrowser

    from skillopt.cli.terminal import say

    if not webbrowser.open(address):
        say("No browser could be opened; open the page yourself.")
