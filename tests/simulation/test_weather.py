"""What can go wrong on the wire, as values."""

from __future__ import annotations

from dataclasses import replace

from skillopt.simulation.weather import BLANK, PASSING, Call, Fault, Weather, fair, scripted, stormy


def test_fair_weather_lets_every_call_through() -> None:
    assert fair(Call(0, "target", {})) is None


def test_a_script_goes_by_the_number_of_the_call_and_ends_fair() -> None:
    weather = scripted([Fault("hang"), None, Fault("status", 429, retry_after="2")])
    faults = [weather(Call(number, "target", {})) for number in range(5)]
    assert faults == [Fault("hang"), None, Fault("status", 429, retry_after="2"), None, None]


def calls(model: str, count: int) -> list[Call]:
    """Calls with bodies of their own, each of which comes three times."""
    return [Call(number, model, {"model": model, "n": number % count}, number // count) for number in range(3 * count)]


def struck(weather: Weather, given: list[Call]) -> dict[tuple[str, int], Fault | None]:
    return {(str(call.body), call.earlier): weather(call) for call in given}


def test_a_storm_strikes_its_share_with_every_kind_of_fault() -> None:
    for model, kinds in (("target", PASSING + BLANK), ("optimizer", PASSING)):
        faults = list(struck(stormy(1, 0.3), calls(model, 1000)).values())
        assert 0.27 < sum(fault is not None for fault in faults) / len(faults) < 0.33
        assert set(faults) - {None} == set(kinds)
    assert set(struck(stormy(1, 0.0), calls("target", 50)).values()) == {None}
    assert None not in struck(stormy(1, 1.0), calls("target", 50)).values()


def test_a_storm_depends_on_what_is_asked_and_how_often_and_not_on_when() -> None:
    """More 14"""
    given = calls("target", 200)
    in_turn = struck(stormy(1, 0.5), given)
    backwards = [replace(call, number=9999 - call.number) for call in reversed(given)]
    assert struck(stormy(1, 0.5), backwards) == in_turn
    assert struck(stormy(2, 0.5), given) != in_turn
    first, second, third = ([in_turn[str(call.body), earlier] for call in given[:200]] for earlier in range(3))
    assert first != second != third
