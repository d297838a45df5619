"""The noise of a selection split, as a person reads it and as a file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from skillopt.cli.terminal import new_table, say, say_unbroken, show_table
from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.evaluation.noise import RARE, Forecast
from skillopt.evaluation.statistics import wilson_interval
from skillopt.report.live_words import percent
from skillopt.run.models import simulated
from skillopt.run.noise import NoiseReport
from skillopt.run.setup import Setup
from skillopt.text_files import plain, write_json_atomically

_COLUMNS = ("selection split", "smallest gain", "accepted", "seems to gain", "calls", "dollars")


def show_noise(setup: Setup, report: NoiseReport, *, directory: Path) -> None:
    """Print the noise floor, what it means for the gate, and what would change it at which price."""
    config, noise = setup.config, report.noise
    if simulated(config, roles=("target",)):
        say("SIMULATED MODELS: these numbers say nothing about real ones.")
    metric = config.evaluation.compared
    scores = ", ".join(percent(float(mean)) for mean in noise.means)
    say(f"The seed skill on {noise.tasks} selection tasks, {len(noise.means)} passes ({metric}): {scores}")
    if report.unmeasured:
        say(f"warning: {report.unmeasured} tasks are left out: not every pass measured them", style="yellow")
    now = report.forecasts[0]
    say(f"Noise floor: {_floor(report)}")
    say(
        f"Smallest gain that the split can show: {_points(now.smallest_gain)}. Scores go in steps of "
        f"{_points(now.step)}, and noise alone reaches that gain with a chance of at most {100 * RARE:.0f} %."
    )
    say(f"An edit that changes nothing: {_nothing(report, config.evaluation)}")
    table = new_table(*_COLUMNS, right=frozenset(_COLUMNS[1:]))
    for forecast in report.forecasts:
        table.add_row(_shape(forecast, now), *_row(report, forecast))
    show_table(table)
    say("Accepted: the chance that an edit that changes nothing is; calls and dollars: one candidate measured in full.")
    if now.accepted:
        say(
            "More passes (evaluation.repeats) or tasks make what noise seems to gain small; they do not keep it out. "
            "evaluation.confidence keeps it out, and evaluation.remeasure takes it back from the bar."
        )
    say_unbroken(f"Results: {plain(str(directory / 'noise.json'))}")


def _floor(report: NoiseReport) -> str:
    noise = report.noise
    changed = f"{noise.changed} of {noise.tasks} tasks changed between passes"
    if not noise.changed:
        # Where nothing changed among n tasks, the rate may still be as high as the interval for 0 of n says.
        most = wilson_interval(0, noise.tasks).high
        return f"{changed}; so few tasks do not rule out that {percent(most)} of them would, next time"
    return (
        f"{changed}, {percent(noise.flip_rate)} from one to the next; the score of a pass wavers by "
        f"{_points(noise.spread)} (standard deviation)"
    )


def _nothing(report: NoiseReport, evaluation: EvaluationSettings) -> str:
    now = report.forecasts[0]
    if not now.accepted:
        return "no sign that it would be accepted."
    text = f"accepted with a chance of {percent(now.accepted)}, and it then seems to gain {_points(now.seeming_gain)}"
    if report.with_confidence is not None:
        text += f"; with evaluation.confidence {evaluation.confidence:g}, at most {percent(report.with_confidence)}"
    return f"{text}."


def _shape(forecast: Forecast, now: Forecast) -> str:
    passes = f"{forecast.repeats} pass{'' if forecast.repeats == 1 else 'es'}"
    shape = f"{forecast.tasks} tasks, {passes}"
    return f"{shape} (as configured)" if forecast is now else shape


def _row(report: NoiseReport, forecast: Forecast) -> tuple[str, ...]:
    price = report.price(forecast)
    return (
        _points(forecast.smallest_gain),
        percent(forecast.accepted),
        _points(forecast.seeming_gain),
        f"{forecast.rollouts:,}",
        "unknown" if price is None else f"{price:.4f}",
    )


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"


def write_noise(directory: Path, report: NoiseReport) -> None:
    """Write noise.json; scores and chances are from 0 to 1."""
    noise = report.noise
    write_json_atomically(
        directory / "noise.json",
        {
            "tasks": noise.tasks,
            "unmeasured": report.unmeasured,
            "passes": [float(mean) for mean in noise.means],
            "changed": noise.changed,
            "flip_rate": noise.flip_rate,
            "spread": noise.spread,
            "accepted_with_confidence": report.with_confidence,
            "forecasts": [
                {**asdict(forecast), "calls": forecast.rollouts, "dollars": report.price(forecast)}
                for forecast in report.forecasts
            ],
        },
    )
