"""What can go wrong on the wire, as values."""

from __future__ import annotations

from skillopt.simulation.weather import Call, Fault, fair, scripted


def test_fair_weather_lets_every_call_through() -> None:
    assert fair(Call(0, "target", {})) is None


def test_a_script_goes_by_the_number_of_the_call_and_ends_fair() -> None:
    weather = scripted([Fault("hang"), None, Fault("status", 429, retry_after="2")])
    faults = [weather(Call(number, "target", {})) for number in range(5)]
    assert faults == [Fault("hang"), None, Fault("status", 429, retry_after="2"), None, None]
