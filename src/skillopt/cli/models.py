"""`skillopt models`: the weights of the embedded models."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from skillopt.models.weights_fetch import FetchProgress, OnProgress

app = typer.Typer(help="Fetch and list the weights of the embedded models.", no_args_is_help=True)


@app.command("list")
def list_weights() -> None:
    """List the embedded models: size, and where their weights are.

    Only sizes are compared; `skillopt models fetch NAME` verifies the content.
    """
    import os

    from skillopt.cli.terminal import console
    from skillopt.models.weights import KNOWN, cache_directory, gigabytes

    cache = cache_directory(os.environ)
    out = console()
    for weights in KNOWN.values():
        path = cache / weights.file_name
        fetched = path.is_file() and path.stat().st_size == weights.size
        where = str(path) if fetched else f"not fetched: skillopt models fetch {weights.name}"
        line = f"local:{weights.name}  {gigabytes(weights.size)}  {where}"
        out.print(line, markup=False, highlight=False, soft_wrap=True)


@app.command("fetch")
def fetch_weights(
    name: Annotated[str, typer.Argument(help="Such as qwen2.5-coder-0.5b; see `skillopt models list`.")],
) -> None:
    """Fetch the weights of an embedded model into the user's cache, once.

    They come from the first source that answers and are used only if their digest is the pinned one. A fetch that was
    stopped goes on where it was. Weights that are there already are verified. The cache is `skillopt/models` in
    SKILLOPT_CACHE, XDG_CACHE_HOME or ~/.cache.
    """
    import os

    from skillopt.cli.terminal import console
    from skillopt.models.weights import cache_directory, find_weights, gigabytes
    from skillopt.models.weights_fetch import fetch

    weights = find_weights(name)
    cache = cache_directory(os.environ)
    out = console()
    there = (cache / weights.file_name).is_file()
    with open_progress(out, weights.name) as progress:
        path = fetch(weights, cache=cache, progress=progress)
    ending = "verified, already there" if there else f"verified, {gigabytes(weights.size)}"
    out.print(f"local:{weights.name}  {path}  ({ending})", markup=False, highlight=False, soft_wrap=True)


@contextmanager
def open_progress(out: Console, name: str) -> Generator[OnProgress]:
    """Return what shows a fetch: a bar on a terminal, a line for every tenth elsewhere."""
    if not out.is_terminal:
        yield _lines(out, name)
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out) as bars:
        task = bars.add_task(f"{name}: verifying what is there", total=None)

        def show(progress: FetchProgress) -> None:
            description = f"{name} from {progress.source}"
            bars.update(task, description=description, completed=progress.done, total=progress.total)

        yield show


def _lines(out: Console, name: str) -> Callable[[FetchProgress], None]:
    shown: tuple[str, int] | None = None

    def show(progress: FetchProgress) -> None:
        nonlocal shown
        tenth = 10 * progress.done // progress.total
        if (progress.source, tenth) != shown:
            shown = (progress.source, tenth)
            share = f"{progress.done / progress.total:.0%} of {progress.total / 1e9:.2f} GB"
            out.print(f"{name} from {progress.source}: {share}", markup=False, highlight=False, soft_wrap=True)

    return show
