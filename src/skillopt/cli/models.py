"""`skillopt models`: the weights of the embedded models."""

from __future__ import annotations

import typer

app = typer.Typer(help="Fetch and list the weights of the embedded models.", no_args_is_help=True)
