"""Scenario files: what they say, how they are combined, and what is said about each fault."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import runcard.simulate
from runcard.city import Driving, Turnout
from runcard.errors import InputError
from runcard.simulate.scenario import KEYS, Busy, Scenario, Shift, built_in_names, read_scenario

from .cases import policies_of, scenario_of, simulated, small_city


def test_every_built_in_scenario_is_read() -> None:
    """Every built-in scenario has a title of its own, the paper's model comes first and changes nothing."""
    names = built_in_names()
    assert names[0] == "paper"
    assert len(names) >= 10
    assert read_scenario("paper") == Scenario()
    scenarios = [read_scenario(name) for name in names]
    assert len({scenario.title for scenario in scenarios}) == len(names)
    for scenario in scenarios[1:]:
        assert replace(scenario, name="paper", title=Scenario().title) != Scenario()


def test_built_in_scenarios_are_few_lines() -> None:
    """No built-in scenario takes more than a dozen lines of TOML."""
    folder = Path(runcard.simulate.__path__[0]) / "scenarios"
    for path in folder.glob("*.toml"):
        assert len(path.read_text("utf-8").splitlines()) <= 12, path.name


EVERYTHING = """
title = "Everything"
shared_delay = 0.25
[busy]
kind = "parts"
model = "lognormal"
cv = 0.8
mean_minutes = 33
back_factor = 0.9
back_model = "gamma"
back_cv = 0.5
[dispatch]
turn_back = 0.5
redirect = true
[rates]
by_hour_of_day = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]
swing = 0.5
[out_of_service]
breakdowns_per_year = 10
repair_hours = 12
[call]
minutes = 1.5
[turnout]
mean_minutes = 1.2
model = "gamma"
cv = 0.4
shared = false
[driving]
model = "pareto"
tail_index = 2.5
fixed_part = 0.1
[[shift]]
station = "s1"
trucks = 2
off_hours = [22, 6]
days = ["mon", "sun"]
"""


def test_every_key_is_read(tmp_path: Path) -> None:
    """A file with every key but those of other laws, types and logs gives a scenario with every value."""
    found = scenario_of(tmp_path, EVERYTHING)
    assert found == Scenario(
        name=str(tmp_path / "case.toml"),
        title="Everything",
        busy=Busy("parts", "lognormal", 0.8, 33.0, 0.9, "gamma", 0.5),
        turn_back=0.5,
        redirect=True,
        rates=(0.75,) * 12 + (1.25,) * 12,
        breakdowns_per_year=10.0,
        repair_hours=12.0,
        shifts=(Shift("s1", 22.0, 8.0, trucks=2), Shift("s1", 166.0, 8.0, trucks=2)),
        call_minutes=1.5,
        turnout=(("mean_minutes", 1.2), ("model", "gamma"), ("cv", 0.4), ("shared", False)),
        driving=(("model", "pareto"), ("tail_index", 2.5), ("fixed_part", 0.1)),
        shared_delay=0.25,
    )
    changed = found.changed(small_city())
    assert (changed.driving.model, changed.driving.cv, changed.driving.fixed_part) == ("pareto", None, 0.1)
    assert (changed.shared_delay, changed.turnout) == (0.25, Turnout(1.2, "gamma", 0.4, shared=False))
    for key in KEYS:
        others = ("busy.by_type", "driving.cv", "driving.scale_minutes", "rates.by_hour_of_week", "replay.log")
        assert key.rpartition(".")[2] in EVERYTHING or key in others


def test_a_law_of_its_own_drops_the_scale_of_the_city(tmp_path: Path) -> None:
    """Another model, or a variation, takes the place of a scale, and a scale that of a variation; so for turnout."""
    city = replace(small_city(), driving=Driving("gamma", scale_minutes=0.5))
    for text, expected in {
        'model = "exponential"': Driving(),
        'model = "lognormal"\ncv = 0.7': Driving("lognormal", cv=0.7),
        "cv = 0.7": Driving("gamma", cv=0.7),
        "scale_minutes = 0.7": Driving("gamma", scale_minutes=0.7),
    }.items():
        assert scenario_of(tmp_path, f"[driving]\n{text}").changed(city).driving == expected
    varied = replace(city, driving=Driving("gamma", cv=0.7))
    assert scenario_of(tmp_path, "driving.scale_minutes = 0.5").changed(varied).driving.cv is None
    crews = replace(city, turnout=Turnout(0.5, "gamma", 0.7))
    assert scenario_of(tmp_path, 'turnout.model = "exponential"').changed(crews).turnout == Turnout(0.5)


def test_sections_and_dotted_keys_are_the_same(tmp_path: Path) -> None:
    """A key may be in a section, with a dot, or inline, as TOML has it."""
    found = [
        scenario_of(tmp_path, text) for text in ("[call]\nminutes = 2", "call.minutes = 2", "call = {minutes = 2.0}")
    ]
    assert found[0] == found[1] == found[2]
    assert found[0].call_minutes == 2.0


def test_the_title_is_the_file_if_none_is_given(tmp_path: Path) -> None:
    """A file without a title is called by its name."""
    assert scenario_of(tmp_path, "call.minutes = 2").title == str(tmp_path / "case.toml")


def test_scenarios_are_combined(tmp_path: Path) -> None:
    """Each part of a combination adds its keys and its title, in any order."""
    (tmp_path / "mine.toml").write_text('title = "Mine"\n[dispatch]\nredirect = true')
    one = read_scenario(f"there-and-back+turn-back + evening+{tmp_path / 'mine.toml'}")
    other = read_scenario(f"{tmp_path / 'mine.toml'}+evening+turn-back+there-and-back")
    assert one.busy.kind == "parts"
    assert (one.turn_back, one.redirect, len(one.rates)) == (1.0, True, 24)
    assert one.title.endswith("; Mine")
    assert replace(one, name="", title="") == replace(other, name="", title="")


def test_parts_that_agree_may_be_combined() -> None:
    """Two parts may say the same thing."""
    assert read_scenario("redirect+there-and-back").busy == read_scenario("redirect").busy


HOURS = "[" + "1," * 23 + "]"

FAULTS = {
    "busy.modle = 1": "unknown key busy.modle (did you mean busy.model?)",
    "[bussy]\nkind = 1": "unknown key bussy.kind (did you mean busy.kind?)",
    "shift_off = 1": "unknown key shift_off (did you mean shift?)",
    "[shift]\nstation = 's0'": "unknown key shift.station",
    "call.minutes = '1'": "expected call.minutes to be a number, got '1'",
    "call.minutes = true": "expected call.minutes to be a number, got True",
    "call.minutes = nan": "expected call.minutes >= 0, got nan",
    "busy.mean_minutes = inf": "expected busy.mean_minutes from 1e-12 to 1e+06, got inf",
    f"call.minutes = {10**400}": "expected call.minutes from 0 to 1e+06, got inf",
    "call.minutes = -1": "expected call.minutes >= 0, got -1.0",
    "busy.mean_minutes = 0": "expected busy.mean_minutes > 0, got 0.0",
    "out_of_service.repair_hours = 0": "expected out_of_service.repair_hours > 0, got 0.0",
    "dispatch.turn_back = 1.5": "expected dispatch.turn_back from 0 to 1, got 1.5",
    "dispatch.redirect = 1": "expected dispatch.redirect to be true or false, got 1",
    "replay.log = 1": "expected replay.log to be text, got 1",
    "busy.kind = 'part'": "expected busy.kind to be total or parts, got 'part'",
    "busy.model = 'normal'": (
        "expected busy.model to be exponential or fixed or gamma or lognormal or hyperexponential, got 'normal'"
    ),
    "busy.model = ['gamma']": "expected busy.model to be text, got ['gamma']",
    "busy.model = 'gamma'": "expected busy.cv from 0 to 10 for gamma, got none",
    "busy = {model = 'hyperexponential', cv = 0.5}": "expected busy.cv from 1 to 10 for hyperexponential, got 0.5",
    "busy = {model = 'gamma', cv = 11}": "expected busy.cv from 0 to 10 for gamma, got 11",
    "busy.cv = 0.5": "expected no busy.cv for exponential, got 0.5",
    f"rates.by_hour_of_day = {HOURS}": (
        "expected rates.by_hour_of_day to be 24 numbers from 0 up, not all 0, got 23: [1, 1, "
    ),
    "rates.by_hour_of_week = [1]": "to be 168 numbers from 0 up, not all 0, got 1: [1]",
    "rates.by_hour_of_day = 24": "expected rates.by_hour_of_day to be a list, got 24",
    f"rates.by_hour_of_day = {[0] * 24}": "to be 24 numbers from 0 up, not all 0, got 24: [0, 0",
    f"rates.by_hour_of_day = {[-1] + [1] * 23}": "numbers from 0 up, not all 0, got 24: [-1",
    f"rates.by_hour_of_day = {['x'] + [1] * 23}": "numbers from 0 up, not all 0, got 24: ['x'",
    f"rates = {{by_hour_of_day = {[1] * 24}, swing = 2}}": "expected rates.swing from 0 to 1, got 2.0",
    f"rates = {{by_hour_of_day = {[1] * 24}, by_hour_of_week = {[1] * 168}}}": (
        "expected rates.by_hour_of_day or rates.by_hour_of_week, got both"
    ),
    "rates.swing = 0.5": "expected rates.by_hour_of_day with rates.swing",
    "dispatch.redirect = true": (
        'expected busy.kind = "parts" with dispatch.redirect: without it nobody drives home; combine it with'
    ),
    "call.minutes = -1\ndispatch.turn_back = 2": (
        "expected dispatch.turn_back from 0 to 1, got 2.0; expected call.minutes >= 0, got -1.0"
    ),
    "busy.cv = 0.5\nout_of_service.repair_hours = 2": (
        "expected no busy.cv for exponential, got 0.5; expected out_of_service.breakdowns_per_year > 0 with"
    ),
    "busy.cv = 'x'\ncal.minutes = 1\ntitel = 'y'": (
        "expected busy.cv to be a number, got 'x'; unknown key cal.minutes (did you mean call.minutes?); "
        "unknown key titel (did you mean title?)"
    ),
    "shift = 1": "expected shifts as [[shift]] sections, got 1",
    "shift = [1]": "expected shifts as [[shift]] sections, got [1]",
    "[[shift]]\nstaton = 's0'": "shift 1: unknown key staton; expected station, trucks, every, unit, off_hours, days",
    "[[shift]]\nstation = 's0'": "shift 1: expected off_hours = [from, to], hours from 0 to 24, got None",
    "[[shift]]\nstation = 's0'\noff_hours = [1, 25]": "hours from 0 to 24, got [1, 25]",
    "[[shift]]\nstation = 's0'\noff_hours = [true, 2]": "hours from 0 to 24, got [True, 2]",
    "[[shift]]\nstation = 's0'\noff_hours = [1, 2, 3]": "hours from 0 to 24, got [1, 2, 3]",
    "[[shift]]\nstation = 's0'\noff_hours = [1, 2]\ndays = ['monday']": (
        "shift 1: expected days among mon, tue, wed, thu, fri, sat, sun, each once, got ['monday']"
    ),
    "[[shift]]\nstation = 's0'\noff_hours = [1, 2]\ndays = 'mon'": "got 'mon'",
    "[[shift]]\nstation = 's0'\noff_hours = [1, 2]\ntrucks = 0": (
        "shift 1: expected trucks to be a whole number from 1 up, got 0"
    ),
    "[[shift]]\nstation = 's0'\noff_hours = [1, 2]\n[[shift]]\noff_hours = [1, 2]": (
        "shift 2: expected one of station, unit and every, got none"
    ),
    "[[shift]]\nstation = 's0'\noff_hours = [1, 2]\ndays = ['mon', 'mon']": (
        "shift 1: expected days among mon, tue, wed, thu, fri, sat, sun, each once, got ['mon', 'mon']"
    ),
    "[[shift]]\nevery = 2\noff_hours = [1, 2]\ntrucks = 2": (
        "shift 1: expected no trucks with every, which says itself how many trucks are off"
    ),
    "[[shift]]\nstation = 's0'\nunit = 'E1'\noff_hours = [1, 2]": (
        "shift 1: expected one of station, unit and every, got station and unit"
    ),
    "[[shift]]\nunit = 'E1'\noff_hours = [1, 2]\ntrucks = 2": (
        "shift 1: expected no trucks with unit, which says itself how many trucks are off"
    ),
    "[[shift]]\nunit = 1\noff_hours = [1, 2]": "shift 1: expected unit to be the id of a unit, got 1",
    "busy = {by_type = true, mean_minutes = 30}": (
        "expected busy.by_type or busy.mean_minutes, which is one mean for every type, got both"
    ),
    "busy = {kind = 'parts', back_cv = 0.5}": (
        "expected busy.back_model with busy.back_cv, got none: 0.5 would have no effect"
    ),
    "busy.back_model = 'fixed'": (
        'expected busy.kind = "parts" or dispatch.turn_back with busy.back_model: without it nobody drives home'
    ),
    "busy.back_factor = 2": (
        'expected busy.kind = "parts" or dispatch.turn_back with busy.back_factor: without it nobody drives home'
    ),
    "out_of_service.repair_hours = 2": (
        "expected out_of_service.breakdowns_per_year > 0 with out_of_service.repair_hours, got 0"
    ),
    f"rates.by_hour_of_day = {[1] * 24}\nreplay.log = 'log.csv'": (
        "expected replay.log or rates, got both: a log has its own rates"
    ),
    "title = 1": "expected title to be text without control characters, got 1",
    'title = "\\u001b[31m"': "expected title to be text without control characters, got ",
    "call.minutes = " + "[" * 2000 + "]" * 2000: "not valid TOML: nested too deeply",
    "call.minutes" + ".a" * 2000 + " = 1": "expected call.minutes to be a number, got {'a': {'a': ",
    "busy = ": "not valid TOML: ",
}


def test_a_fault_is_said_in_words(tmp_path: Path) -> None:
    """A file that cannot be used says which file, what was expected and what was found, in one line."""
    for text, words in FAULTS.items():
        with pytest.raises(InputError) as caught:
            scenario_of(tmp_path, text)
        message = str(caught.value)
        assert words in message
        assert "case.toml" in message
        assert "\n" not in message


def test_a_scenario_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A file that is not there, and a folder."""
    for word, words in (("no.toml", "no.toml: the file is missing"), ("", "got a folder")):
        with pytest.raises(InputError, match=words):
            read_scenario(str(tmp_path / word))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("evning", "expected a scenario, got 'evning' (did you mean evening?); there are paper, "),
        ("", "expected a scenario, got ''"),
        ("evening+", "expected a scenario, got ''"),
        ("paper+turn_back", "expected a scenario, got 'turn_back' (did you mean turn-back?)"),
        ("long-scenes+steady-scenes", "long-scenes and steady-scenes both say what busy.model is"),
    ],
)
def test_unknown_and_conflicting_scenarios_are_refused(words: str, message: str) -> None:
    """A name that is none is refused with the nearest, and parts that say different things with both of them."""
    with pytest.raises(InputError) as caught:
        read_scenario(words)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("busy.by_type = true", "with busy.by_type, got none"),
        ("turnout.shared = true", "expected turnout.mean_minutes > 0 with turnout.shared, got 0"),
        ("driving.cv = 11", "expected driving.cv from 0 to 10, got 11"),
        ("turnout.model = 'pareto'", "turnout.model"),
        ("replay.log = 'none.csv'", "none.csv: the file is missing"),
    ],
)
def test_what_does_not_fit_the_city_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """What is wrong only for this city is said before anything runs."""
    city = small_city()
    with pytest.raises(InputError) as caught:
        simulated(city, policies_of(city), scenario_of(tmp_path, text), incidents=10)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"busy": Busy(back_cv=0.5)}, "expected busy.back_model with busy.back_cv"),
        ({"turn_back": 2.0}, "expected dispatch.turn_back from 0 to 1, got 2.0"),
        ({"turn_back": "often"}, "expected dispatch.turn_back from 0 to 1, got 'often'"),
        ({"call_minutes": float("nan")}, "expected call.minutes >= 0, got nan"),
        ({"rates": (1.0, 2.0)}, "expected 24 or 168 rates from 0 up"),
        ({"rates": (float("nan"),) * 24}, "expected 24 or 168 rates from 0 up"),
        ({"shifts": (Shift("s0", -1.0, 3.0),)}, "expected a shift inside a week"),
        ({"shifts": (Shift("s0", 1.0, 169.0),)}, "expected a shift inside a week"),
    ],
)
def test_a_scenario_made_in_python_is_checked_too(given: dict[str, Any], message: str) -> None:
    """What a file may not say cannot be said in Python either."""
    with pytest.raises(InputError, match=message):
        Scenario("mine", **given)
