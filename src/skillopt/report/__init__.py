"""Looking at a run: its course as a table, pictures and pages. Everything here reads; nothing can change a run.

The names below are for notebooks. Each is imported when it is first used, so `import skillopt.report` loads neither
pandas nor matplotlib.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillopt.report.frame import column, history_frame
    from skillopt.report.run_plots import plot_dashboard, plot_edits, plot_scores, plot_spending

__all__ = ["column", "history_frame", "plot_dashboard", "plot_edits", "plot_scores", "plot_spending"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "run_plots" if name.startswith("plot_") else "frame"
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return list(__all__)
