"""The application: its routes in one table, what stands around every request, and pages for what goes wrong.

Handlers are plain functions, which the framework runs in threads, so that reading files blocks nobody; only what
streams is a coroutine, and what says that something went wrong: that needs no file and no thread. All routes answer GET
and HEAD alone: nothing here can change a run.
"""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from skillopt.dashboard.calls_page import call_page, calls_page
from skillopt.dashboard.catalogue import Catalogue, no_directory
from skillopt.dashboard.compare_page import compare_page
from skillopt.dashboard.downloads import download
from skillopt.dashboard.list_page import list_events, list_page
from skillopt.dashboard.run_page import card_page, epochs_page, run_events, run_page, spending_page
from skillopt.dashboard.security import Guard, secure
from skillopt.dashboard.site import list_crumb, site_of, site_over
from skillopt.dashboard.skills_page import skills_page
from skillopt.dashboard.static_files import static_file
from skillopt.dashboard.step_page import edit_page, step_page
from skillopt.dashboard.task_pages import evaluation_page, task_page, tasks_page, trajectory_page
from skillopt.disk import is_refusal
from skillopt.errors import SkillOptError

ROUTES = (
    Route("/", list_page),
    Route("/events", list_events),
    Route("/runs/{run}", run_page),
    Route("/runs/{run}/events", run_events),
    Route("/runs/{run}/epochs", epochs_page),
    Route("/runs/{run}/spending", spending_page),
    Route("/runs/{run}/card", card_page),
    Route("/runs/{run}/files/{name}", download),
    Route("/runs/{run}/steps/{step}", step_page),
    Route("/runs/{run}/steps/{step}/edits/{edit}", edit_page),
    Route("/runs/{run}/tasks", tasks_page),
    Route("/runs/{run}/task", task_page),
    Route("/runs/{run}/evaluation", evaluation_page),
    Route("/runs/{run}/trajectory", trajectory_page),
    Route("/runs/{run}/skills", skills_page),
    Route("/runs/{run}/calls", calls_page),
    Route("/runs/{run}/calls/{key}", call_page),
    Route("/compare", compare_page),
    Route("/static/{name}", static_file),
)


def application(directory: Path, *, token: str | None = None) -> Starlette:
    """Return the live page over the runs in a directory.

    Args:
        directory: Where the runs are, up to two levels deep.
        token: What a browser has to show once; None where only this machine can ask.

    Raises:
        RunDirectoryError: If there is no such directory.
    """
    if not directory.is_dir():
        raise no_directory(directory)
    app = Starlette(
        routes=ROUTES,
        middleware=[Middleware(Guard, token=token)],
        exception_handlers={
            HTTPException: _refused,
            SkillOptError: _unreadable,
            OSError: _refused_by_the_system,
            Exception: _our_fault,
        },
    )
    app.state.site = site_over(Catalogue(directory))
    return app


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: "Not found", 405: "Only reading is possible here"}
    return _trouble(request, words.get(error.status_code, "Refused"), error.detail, status=error.status_code)


async def _unreadable(request: Request, error: Exception) -> Response:
    assert isinstance(error, SkillOptError)
    return _trouble(request, "This run cannot be read", error.message, hint=error.hint, status=500)


async def _refused_by_the_system(request: Request, error: Exception) -> Response:
    assert isinstance(error, OSError)
    if not is_refusal(error):
        raise error
    message = f"The system of the dashboard refused something: {error.strerror}."
    hint = "Where too many files are open, start it with a higher limit (`ulimit -n`), or close some of its pages."
    return _trouble(request, "This page could not be made now", message, hint=hint, status=503)


async def _our_fault(request: Request, error: Exception) -> Response:
    message = f"A fault of ours ({type(error).__name__}); the terminal that the dashboard runs in shows where."
    answer = _trouble(request, "This page could not be made", message, status=500)
    secure(answer.headers)  # It is made outside of the guard.
    return answer


def _trouble(request: Request, title: str, message: str, *, status: int, hint: str = "") -> Response:
    rendering = site_of(request).rendering
    return rendering.page(
        request, "trouble.html.jinja", title=title, crumbs=[list_crumb()], status=status, message=message, hint=hint
    )
