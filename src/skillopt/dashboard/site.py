"""What every handler of the live page works with, and how it finds the run that a request names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from starlette.exceptions import HTTPException
from starlette.requests import Request

from skillopt.dashboard.catalogue import Catalogue, RunEntry
from skillopt.dashboard.rendering import Crumb, Rendering, run_url
from skillopt.report.run_files import RunFiles
from skillopt.report.task_history import OutcomeReader


@dataclass(frozen=True, slots=True)
class Site:
    """One live page over one directory.

    Attributes:
        catalogue: The runs.
        rendering: What makes pages.
        outcomes: What reads how the tasks of the runs went.
    """

    catalogue: Catalogue
    rendering: Rendering
    outcomes: OutcomeReader = field(default_factory=OutcomeReader)

    def entry(self, request: Request) -> RunEntry:
        """Return the run that the address names.

        Raises:
            HTTPException: 404, where there is none.
        """
        found = self.catalogue.find(request.path_params["run"])
        if found is None:
            raise not_found("There is no such run here. It may have been moved or removed.")
        return found

    def files(self, request: Request) -> RunFiles:
        """Return the reader of the run that the address names.

        Raises:
            HTTPException: 404, where there is none.
            RunDirectoryError: If it is no longer there.
        """
        return self.catalogue.files(self.entry(request))


def site_of(request: Request) -> Site:
    """Return the site that a request was made to."""
    return cast("Site", request.app.state.site)


def not_found(message: str) -> HTTPException:
    """Return what makes a page that says in words what is not there."""
    return HTTPException(404, detail=message)


def list_crumb() -> Crumb:
    """Return the first step of every way: the list of runs."""
    return Crumb("Runs", "/")


def run_crumbs(entry: RunEntry) -> tuple[Crumb, Crumb]:
    """Return the way to a page of a run."""
    return list_crumb(), Crumb(entry.name, run_url(entry.id))
