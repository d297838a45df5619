# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Weights & Biases: a run of a project.

Of what its library gathers by itself nothing is sent: no console output, which names tasks, no code, no command line,
no data of the machine. A run that the program has open goes by the program's own settings.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from skillopt.config.tracker_settings import WandbSettings
from skillopt.errors import ConfigError
from skillopt.trackers.base import Opened, Tracker, loaded
from skillopt.trackers.told import End, Point, Start, Status

if TYPE_CHECKING:
    from wandb import Run

_STEP: Final = "skillopt_step"
_GROUPS: Final = ("scores/*", "edits/*", "skill/*", "spend/*", "final/*")


class WandbTracker(Tracker):
    """A run in Weights & Biases.

    Args:
        settings: Its section.
        wait: Seconds that its library may take at the end to send what is left.
    """

    def __init__(self, settings: WandbSettings, *, wait: float) -> None:
        self._settings = settings
        self._wait = wait
        wandb = loaded("wandb")
        self._set_up = wandb is not None
        self._theirs: Run | None = getattr(wandb, "run", None) if settings.attach else None
        self._run: Run | None = self._theirs

    @property
    def attached(self) -> str:
        """The id of the run that was open."""
        return "" if self._theirs is None else str(self._theirs.id)

    def open(self, start: Start, known: str | None, *, told: int) -> Opened:
        """Open the run; one that is known goes on, or is made anew where it is gone."""
        run = self._run = self._theirs or self._begin(start, known)
        run.define_metric(_STEP, hidden=True)
        for group in _GROUPS:
            run.define_metric(group, step_metric=_STEP)
        run.config.update(dict(start.settings), allow_val_change=True)
        if start.simulated:
            run.tags = tuple(dict.fromkeys((*(run.tags or ()), "simulated")))
        run.summary.update({f"skillopt.{name}": value for name, value in start.tags.items()})
        if run.id != known or (self._theirs is None and self._online and not run.resumed):
            return Opened(str(run.id), known=False)
        last: Any = run.summary.get(_STEP) if self._theirs is None else None
        return Opened(str(run.id), known=True, steps=None if last is None else int(last) + 1)

    def log(self, point: Point) -> None:
        """Log the numbers of a step."""
        self._opened.log({_STEP: point.step, **point.metrics})

    def end(self, end: End) -> None:
        """Put the end into the summary, and send the files as one artifact."""
        from wandb import Artifact

        run = self._opened
        run.summary.update({**{f"skillopt.{name}": words for name, words in end.words.items()}, **end.numbers})
        if self._settings.artifacts and end.files:
            artifact = Artifact(f"skillopt-{run.id}", type="skill")
            for name, path in end.files.items():
                artifact.add_file(str(path), name=name)
            run.log_artifact(artifact)

    def close(self, status: Status) -> None:
        """Finish the run; one that was open already is left open."""
        if self._theirs is None:
            self._opened.finish(exit_code=0 if status is Status.FINISHED else 1)

    @property
    def _online(self) -> bool:
        return self._settings.mode == "online"

    @property
    def _opened(self) -> Run:
        assert self._run is not None, "the run is open"
        return self._run

    def _begin(self, start: Start, known: str | None) -> Run:
        import wandb

        if not self._set_up:
            # Else it would write over the training's own lines, or ask on the terminal for a key.
            _keep_usage_to_itself()
            wandb.setup(settings=wandb.Settings(silent=True))
        if self._online and not wandb.login(prompt=False):
            raise ConfigError("no key for Weights & Biases", hint="Set WANDB_API_KEY, or log in by `wandb login`.")
        silence = wandb.Settings(
            console="off",
            disable_git=True,
            host="",
            save_code=False,
            silent=True,
            finish_timeout=max(1.0, self._wait),
            x_disable_machine_info=True,
            x_disable_meta=True,
            x_disable_stats=True,
            x_save_requirements=False,
        )
        return wandb.init(
            project=self._settings.project,
            entity=self._settings.entity,
            name=self._settings.run_name or start.name,
            id=known,
            resume="allow" if known and self._online else None,
            dir=self._settings.log_dir or str(start.directory),
            mode=self._settings.mode,
            # Leaves the program's own run alone, and other trainings'.
            reinit="create_new",
            settings=silence,
        )


def _keep_usage_to_itself() -> None:
    """Have the library, which nobody has imported yet, tell those who make it nothing of how it is used.

    It would even where runs are offline, since only a run knows that it is. Versions without such reports have no such
    module.
    """
    with suppress(ImportError, AttributeError):
        from wandb.analytics.opentelemetry import opentelemetry_proxy

        opentelemetry_proxy.disable()
