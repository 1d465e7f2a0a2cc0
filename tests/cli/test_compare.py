"""`runcard compare`."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from runcard.city import generate_grid, read_city, write_city
from runcard.policy.base import Certificate
from runcard.policy.solve import solve_named

CONTRACT = [
    "name",
    "late_fraction",
    "late_per_day",
    "mean_response_minutes",
    "lower",
    "upper",
    "improvement_over_first",
    "seconds",
]


def test_golden_cities_have_the_known_late_fractions(run, golden) -> None:
    """The late fractions of the independent implementation come out of the command within 1e-9, and are bracketed."""
    ran = run("compare", golden.folder, "--policies", "closest-first,optimal,one-step", "--json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert document["city"] == golden.city.name
    assert [policy["name"] for policy in document["policies"]] == ["closest-first", "optimal", "one-step"]
    for policy in document["policies"]:
        known = golden.answers["late_fraction"][policy["name"]]
        assert policy["late_fraction"] == pytest.approx(known, rel=1e-9)
        assert policy["lower"] <= policy["late_fraction"] <= policy["upper"]
        assert policy["upper"] - policy["lower"] <= 2e-9 * policy["upper"]


def test_arrivals_between_are_named_over_their_table(run, tmp_path: Path) -> None:
    """Where incidents wait for the second of three trucks, the line above says so, as the columns do."""
    city = generate_grid(side=3, num_stations=3, load=0.1, seed=1)
    write_city(replace(city, trucks_per_incident=3, arrivals_per_incident=2), tmp_path / "three")
    assert "Minutes until the first, the second and the last truck are there:" in run("compare", tmp_path / "three").out


def test_json_has_the_keys_of_the_contract(run, grid_folder: Path) -> None:
    """The keys that programs rely on come first, and fractions are consistent with each other."""
    document = json.loads(run("compare", grid_folder, "--json").out, parse_constant=pytest.fail)
    assert list(document) == ["city", "policies"]
    first, *_ = policies = document["policies"]
    incidents_per_day = read_city(grid_folder).incidents_per_day
    for policy in policies:
        assert list(policy)[: len(CONTRACT)] == CONTRACT
        assert policy["late_per_day"] == pytest.approx(policy["late_fraction"] * incidents_per_day, rel=1e-12)
        gain = 1.0 - policy["late_fraction"] / first["late_fraction"]
        assert policy["improvement_over_first"] == pytest.approx(gain, abs=1e-15)
        shares = [station["dispatch_share"] for station in policy["stations"]]
        assert sum(shares) + policy["outside_share"] == pytest.approx(1.0, abs=1e-12)
        assert policy["converged"] is True
        assert policy["seconds"] >= 0.0


def test_the_default_is_all_three_policies(run, grid_folder: Path) -> None:
    """Without --policies the baseline comes first and the best last."""
    document = json.loads(run("compare", grid_folder, "--json").out)
    assert [policy["name"] for policy in document["policies"]] == ["closest-first", "one-step", "optimal"]
    late = [policy["late_fraction"] for policy in document["policies"]]
    assert late[2] <= min(late[:2]) * (1.0 + 1e-9)


def test_labels_of_the_paper_are_names_too_and_doubles_are_dropped(run, grid_folder: Path) -> None:
    """OPT is the optimal policy, however it is spelt, and naming it twice compares it once."""
    document = json.loads(run("compare", grid_folder, "--policies", " opt , CF,optimal", "--json").out)
    assert [policy["name"] for policy in document["policies"]] == ["optimal", "closest-first"]


def test_the_tables_show_lateness_and_response_of_every_policy(run, grid_folder: Path) -> None:
    """A person sees lateness, first and last arrival, stations and trucks from outside, in 80 columns."""
    ran = run("compare", grid_folder)
    assert ran.code == 0
    document = json.loads(run("compare", grid_folder, "--json").out)
    for policy in document["policies"]:
        line, arrivals, *_ = [line for line in ran.out.splitlines() if line.startswith(f" {policy['name']} ")]
        assert f"{100.0 * policy['late_fraction']:.3f}" in line
        assert f"{policy['mean_response_minutes']:.3f}" in line
        # The interval is that of the document, rounded outward to one digit more than the lateness.
        low, high = (Decimal(end) for end in line.split()[2].split("-"))
        for end, exact in ((low, policy["lower"]), (high, policy["upper"])):
            assert abs(end - 100 * Decimal(exact)) < Decimal("1e-4")
            assert end.as_tuple().exponent == -4
        assert low <= 100 * Decimal(policy["lower"]) <= 100 * Decimal(policy["upper"]) <= high
        for key in ("mean_response_minutes", "first_p90_minutes", "last_minutes", "last_p90_minutes"):
            assert f"{policy[key]:.2f}" in arrivals
    words = {line.split()[0] for line in ran.out.splitlines() if line.strip()}
    assert {"s0", "s1", "s2", "s3", "outside"} <= words
    assert max(map(len, ran.out.splitlines())) <= 80


@pytest.mark.parametrize("columns", [120, 80, 60, 40, 30])
def test_no_name_and_no_number_is_lost_on_a_narrow_terminal(
    run, grid_folder: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """What does not fit is shown below, beside the names once more; every line fits."""
    document = json.loads(run("compare", grid_folder, "--json").out)
    monkeypatch.setenv("COLUMNS", str(columns))
    out = run("compare", grid_folder).out
    assert max(map(len, out.splitlines())) <= columns
    for policy in document["policies"]:
        cells = {cell for line in out.splitlines() if line.startswith(f" {policy['name']} ") for cell in line.split()}
        assert cells >= {f"{100.0 * policy['late_fraction']:.3f}", f"{policy['mean_response_minutes']:.3f}"}
        for station in policy["stations"]:
            pair = f"{100.0 * station['dispatch_share']:6.2f}  {100.0 * station['busy_fraction']:6.2f}"
            assert any(line.startswith(f" {station['station_id']} ") and pair in line for line in out.splitlines())


def test_tiny_numbers_stay_short(run, grid_folder: Path, tmp_path: Path) -> None:
    """A late fraction far below a millionth is shown in scientific notation beside its policy, in 80 columns."""
    city = read_city(grid_folder)
    demand = tuple(replace(point, incidents_per_day=1e-6) for point in city.demand)
    folder = write_city(replace(city, target_minutes=60.0, demand=demand), tmp_path / "city")
    out = run("compare", folder).out
    late = {
        policy["name"]: policy["late_fraction"]
        for policy in json.loads(run("compare", folder, "--json").out)["policies"]
    }
    assert 0.0 < late["optimal"] < 1e-9
    assert max(map(len, out.splitlines())) <= 80
    for name, fraction in late.items():
        line = next(line for line in out.splitlines() if line.startswith(f" {name} "))
        assert line.split()[1] == f"{100.0 * fraction:.2e}"


def test_a_policy_that_is_late_more_often_has_a_negative_gain(run, grid_folder: Path) -> None:
    """The heading then says what the sign means."""
    out = run("compare", grid_folder, "--policies", "OPT,CF").out
    line, *_ = [line for line in out.splitlines() if line.startswith(" closest-first ")]
    assert float(line.split()[-2]) < 0.0
    assert "(-: more), %" in out
    assert "(-: more), %" not in run("compare", grid_folder, "--policies", "CF,OPT").out


def test_names_are_printed_as_they_are(run, grid_folder: Path, tmp_path: Path) -> None:
    """A station called [red] or :fire: is no markup."""
    city = read_city(grid_folder)
    first, second, *others = city.stations
    stations = (replace(first, station_id="[red]"), replace(second, station_id=":fire:"), *others)
    folder = write_city(replace(city, name="[bold]", stations=stations), tmp_path / "city")
    out = run("compare", folder).out
    assert all(name in out for name in ("[bold]: 4 stations", " [red] ", " :fire: "))


@pytest.mark.parametrize("as_json", [False, True])
def test_a_result_that_did_not_converge_says_so(
    run, grid_folder: Path, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    """The results are still shown, marked, with a line on standard error and exit code 1."""

    def give_up(*arguments: object, **options: object) -> object:
        solved = solve_named(*arguments, **options)  # type: ignore[arg-type]
        certificate = Certificate(lower=0.0, upper=1.0, converged=False)
        return replace(solved, certificate=certificate) if solved.name == "optimal" else solved  # type: ignore[type-var]

    monkeypatch.setattr("runcard.assess.policy_choice.solve_named", give_up)
    ran = run("compare", grid_folder, *(["--json"] if as_json else []))
    assert ran.code == 1
    assert "not converged: optimal" in ran.err
    assert len(ran.err.splitlines()) == 1
    if as_json:
        policies = json.loads(ran.out)["policies"]
        assert [policy["converged"] for policy in policies] == [True, True, False]
        assert policies[2]["lower"] == 0.0
    else:
        assert "not converged" in ran.out


def test_bad_options_are_refused_in_one_line(refuse, grid_folder: Path, policy_file: Path) -> None:
    """The line says what was expected, and the exit code is 2."""
    table = """
compare CITY --policies optimel :: did you mean optimal?
compare CITY --policies , :: expected at least one policy
compare CITY --tolerance 0 :: expected a tolerance between 0 and 1
compare CITY --tolerance nan :: expected a tolerance between 0 and 1
compare CITY --threads 0 :: '--threads'
compare CITY --weights 0.1,much :: expected numbers with commas between, got '0.1,much'
compare CITY --weights , :: expected at least one weight
compare CITY --weights -1 :: expected weights from 0 to 1000
compare CITY --weights nan :: expected weights from 0 to 1000
compare CITY --weights 0.1 --policies optimel :: did you mean optimal?
compare CITY --weights 0.1 --policies POLICY :: expected names of policies to solve for each weight, got the file
compare CITY --weights 0.1 --curve curve.docx :: expected a curve to end in .png, .svg, .pdf
compare CITY --weights 0.1 --curve nowhere/curve.svg :: expected an existing folder
compare CITY --curve curve.svg :: expected --weights with it
compare CITY --policies closest-first,optimal/week :: expected a city with periods for optimal/week, got one without
simulate CITY --policies closest-first,optimal/week :: expected a city with periods for optimal/week, got one without
stress CITY --policies closest-first,optimal/week :: expected a city with periods for optimal/week, got one without
simulate CITY --scenario turnback :: did you mean turn-back?
simulate CITY --scenario evening+none.toml :: none.toml: the file is missing
simulate CITY --policies CF,best :: expected a policy
simulate CITY --precision 0.1 --incidents 10 :: got both
simulate CITY --precision nan :: expected a precision
"""
    refuse(table, CITY=grid_folder, POLICY=policy_file)


def test_the_number_of_threads_changes_nothing(run, grid_folder: Path) -> None:
    """Results are the same to the last bit."""
    late = [
        [
            policy["late_fraction"]
            for policy in json.loads(run("compare", grid_folder, "--json", *options).out)["policies"]
        ]
        for options in ([], ["--threads", "1"], ["--threads", "3"])
    ]
    assert late[0] == late[1] == late[2]


def test_the_arrivals_that_are_shown_are_named(run, tmp_path: Path) -> None:
    """Where a standard is about the second of three trucks, the words above the table have it as the table does."""
    city = generate_grid(side=3, num_stations=3, load=0.1, seed=2)
    write_city(replace(city, trucks_per_incident=3, arrivals_per_incident=2), tmp_path / "city")
    ran = run("compare", tmp_path / "city", "--policies", "closest-first")
    assert "Minutes until the first, the second and the last truck are there:" in ran.out
    assert ran.out.split("are there:")[1].split()[:6] == ["first", "first", "second", "second", "last", "last"]
