"""What every handler of the live page works with, and how it finds the run that a request names."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Final, cast

from starlette.exceptions import HTTPException
from starlette.requests import Request

from skillopt.dashboard.catalogue import Catalogue, RunEntry
from skillopt.dashboard.channel import Channel
from skillopt.dashboard.following import Followers
from skillopt.dashboard.glances import Glances
from skillopt.dashboard.last_used import LastUsed
from skillopt.dashboard.rendering import Crumb, Rendering, run_url
from skillopt.report.run_files import RunFiles
from skillopt.report.task_history import HistoryReader

_MOST_CHANNELS: Final = 64
"""Of those that are kept; whoever listens to another one keeps it himself."""


@dataclass(frozen=True, slots=True)
class Site:
    """One live page over one directory.

    Attributes:
        catalogue: The runs.
        followers: The runs as they stand, by their logs.
        glances: The runs at a glance.
        channels: What browsers listen to, each under its name, so that all who look at the same page share one.
        rendering: What makes pages.
        histories: What reads how the tasks of the runs went.
        drawing: Held by who draws a picture.
        closing: Set where the site ends, for what would go on without an end.
    """

    catalogue: Catalogue
    followers: Followers
    glances: Glances
    channels: LastUsed[Channel] = field(default_factory=lambda: LastUsed(_MOST_CHANNELS))
    rendering: Rendering = field(default_factory=Rendering)
    histories: HistoryReader = field(default_factory=HistoryReader)
    drawing: Lock = field(default_factory=Lock)
    closing: Event = field(default_factory=Event)

    def entry(self, request: Request) -> RunEntry:
        """Return the run that the address names.

        Raises:
            HTTPException: 404, where there is none.
        """
        found = self.catalogue.find(request.path_params["run"])
        if found is None:
            raise not_found("There is no such run here. It may have been moved or removed.")
        return found


def site_over(catalogue: Catalogue) -> Site:
    """Return a site over the runs of a catalogue."""
    followers = Followers()
    return Site(catalogue, followers, Glances(followers))


def site_of(request: Request) -> Site:
    """Return the site that a request was made to."""
    return cast("Site", request.app.state.site)


def run_of(request: Request) -> tuple[Site, RunEntry, RunFiles]:
    """Return the site that a request was made to, the run that the address names, and its reader.

    Raises:
        HTTPException: 404, where there is no such run.
        RunDirectoryError: If it is no longer there.
    """
    site = site_of(request)
    entry = site.entry(request)
    return site, entry, site.catalogue.files(entry)


def not_found(message: str) -> HTTPException:
    """Return what makes a page that says in words what is not there."""
    return HTTPException(404, detail=message)


def list_crumb() -> Crumb:
    """Return the first step of every way: the list of runs."""
    return Crumb("Runs", "/")


def run_crumbs(entry: RunEntry) -> tuple[Crumb, Crumb]:
    """Return the way to a page of a run."""
    return list_crumb(), Crumb(entry.name, run_url(entry.id))
