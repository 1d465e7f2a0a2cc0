"""`runcard simulate` and `runcard stress`."""

import json
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from runcard.city import generate_grid, read_city, write_city
from runcard.outputs.records import COLUMNS
from runcard.simulate.scenario import built_in_names


@pytest.fixture(scope="module")
def log(grid_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of twenty incidents, two hours apart, at the demand points of the grid city in turn."""
    nodes = [point.node_id for point in read_city(grid_folder).demand]
    rows = [f"2024-01-{1 + n // 12:02d}T{2 * (n % 12):02d}:30:00,{nodes[n % len(nodes)]}" for n in range(20)]
    path = tmp_path_factory.mktemp("log") / "incidents.csv"
    path.write_text("\n".join(["time,node_id", *rows]) + "\n", encoding="utf-8")
    return path


def test_json_has_the_keys_of_the_contract_and_the_exact_late_fraction(run, grid_folder: Path) -> None:
    """Each policy has name, late_fraction, low and high; the exact late fraction of compare is near or inside."""
    ran = run("simulate", grid_folder, "--policies", "CF,OPT", "--incidents", "200000", "--seed", "3", "--json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out, parse_constant=pytest.fail)
    assert list(document) == ["city", "scenario", "title", "seed", "precise", "policies"]
    exact = json.loads(run("compare", grid_folder, "--policies", "CF,OPT", "--json").out)["policies"]
    for policy, known in zip(document["policies"], exact, strict=True):
        assert list(policy)[:4] == ["name", "late_fraction", "low", "high"]
        assert (policy["name"], policy["incidents"]) == (known["name"], 200000)
        half = (policy["high"] - policy["low"]) / 2
        assert abs(policy["late_fraction"] - known["late_fraction"]) < 2 * half
        assert half < 0.02 * policy["late_fraction"]
        trucks = {station["station_id"]: station["busy_fraction"] for station in known["stations"]}
        for truck in policy["trucks"]:
            assert truck["busy_fraction"] == pytest.approx(trucks[truck["station_id"]], rel=0.03)
    gain = document["policies"][1]["improvement_over_first"]
    assert gain["low"] < exact[1]["improvement_over_first"] < gain["high"]
    assert document["policies"][1]["survives"] == "yes"


def test_the_same_seed_gives_the_same_output(run, grid_folder: Path) -> None:
    """With the same seed all is the same on one thread and on three; with another one it is not."""
    arguments = ("simulate", grid_folder, "--incidents", "20000", "--json")
    first = run(*arguments, "--threads", "1").out
    assert run(*arguments, "--threads", "3").out == first
    assert run(*arguments, "--seed", "2").out != first


def test_scenarios_can_be_put_together(run, grid_folder: Path) -> None:
    """The line above the table names both."""
    ran = run("simulate", grid_folder, "--incidents", "500", "--scenario", "evening+turn-back")
    assert (ran.code, "evening+turn-back" in ran.out) == (0, True)


def test_records_are_one_flat_row_for_each_incident(run, grid_folder: Path, tmp_path: Path) -> None:
    """The Parquet file has a row for each incident of each policy, and its late rows are the late fraction."""
    path = tmp_path / "records.parquet"
    ran = run("simulate", grid_folder, "--incidents", "3000", "--records", path, "--json")
    assert ran.code == 0
    document = json.loads(ran.out)
    with duckdb.connect(":memory:") as database:
        source = f"read_parquet('{path}')"
        assert [row[0] for row in database.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()] == list(COLUMNS)
        late = dict(database.execute(f"SELECT policy, avg(late::INT) FROM {source} GROUP BY policy").fetchall())
        counts = dict(database.execute(f"SELECT policy, count(*) FROM {source} GROUP BY policy").fetchall())
        same = database.execute(
            f"SELECT count(*) FROM {source} a JOIN {source} b USING (batch, incident) WHERE a.policy < b.policy "
            "AND (a.minutes, a.node_id) = (b.minutes, b.node_id)"
        ).fetchall()
        wrong = database.execute(
            f"SELECT count(*) FROM {source} WHERE len(string_split(team, ',')) <> 2 OR first_minutes > last_minutes"
        ).fetchall()
    for policy in document["policies"]:
        assert late[policy["name"]] == pytest.approx(policy["late_fraction"], abs=1e-12)
        assert counts[policy["name"]] == policy["incidents"] == 3000
    assert same == [(3000,)]
    assert wrong == [(0,)]


def test_nothing_is_left_of_records_that_fail(run, grid_folder: Path, tmp_path: Path) -> None:
    """A simulation that ends with an error writes no records, and a bad file is refused before it begins."""
    path = tmp_path / "records.parquet"
    ran = run("simulate", grid_folder, "--incidents", "0", "--records", path)
    assert ran.code == 2
    ran = run("simulate", grid_folder, "--scenario", "redirect+long-scenes", "--precision", "2", "--records", path)
    assert ran.code == 2
    assert list(tmp_path.iterdir()) == []
    ran = run("simulate", grid_folder, "--records", tmp_path / "none" / "records.parquet")
    assert (ran.code, "expected an existing folder" in ran.err) == (2, True)


def test_stress_has_every_scenario_and_the_log(run, grid_folder: Path, log: Path) -> None:
    """Without --scenarios all built-in ones are there, and a log that is named is replayed."""
    ran = run("stress", grid_folder, "--incidents", "4000", "--log", log, "--json")
    assert ran.code == 0
    found = json.loads(ran.out)["scenarios"]
    for_plain_cities = [name for name in built_in_names() if name != "busy-by-type"]
    assert [one["scenario"] for one in found] == [*for_plain_cities, "replay of incidents.csv"]
    assert all("trucks" not in policy for one in found for policy in one["policies"])
    assert found[-1]["policies"][0]["incidents"] == 4000
    ran = run(
        "stress", grid_folder, "--incidents", "4000", "--scenarios", "paper,turn-back", "--policies", "CF,OPT,OSI"
    )
    assert ran.code == 0
    for word in ("survives", "one-step", "turn-back: The other trucks turn back"):
        assert word in ran.out


def test_a_precision_that_is_not_reached_says_so(run, grid_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found is printed, and the exit code is 1 with a sentence that names the scenario."""
    monkeypatch.setattr("runcard.simulate.engine.MOST_BATCHES", 32)
    monkeypatch.setattr("runcard.simulate.engine.BATCH_INCIDENTS", 100)
    ran = run("simulate", grid_folder, "--precision", "0.001", "--json")
    assert ran.code == 1
    assert json.loads(ran.out)["precise"] is False
    assert "not as precise as asked for" in ran.err
    assert "paper" in ran.err
    every = run("stress", grid_folder, "--scenarios", "paper,turn-back", "--precision", "0.001", "--json")
    assert (every.code, "are simulated at most: paper, turn-back" in every.err) == (1, True)


def test_policy_files_are_simulated_as_their_policies(
    run, grid_folder: Path, policy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file stands for its policy in simulate, stress and compare, under its own name, and nothing is solved."""
    cf = tmp_path / "cf.policy"
    assert run("solve", grid_folder, "--policy", "CF", "-o", cf).code == 0
    options = ["--incidents", "3000", "--json"]
    named = {
        "simulate": json.loads(run("simulate", grid_folder, "--policies", "CF,OPT", *options).out)["policies"],
        "stress": json.loads(run("stress", grid_folder, "--policies", "CF,OPT", "--scenarios", "paper", *options).out)[
            "scenarios"
        ][0]["policies"],
        "compare": json.loads(run("compare", grid_folder, "--policies", "CF,OPT", "--json").out)["policies"],
    }
    monkeypatch.setattr("runcard.assess.policy_choice.solve_named", lambda *_: pytest.fail("should not be solved"))
    monkeypatch.setattr("runcard.assess.exact.load_kernels", lambda *_: None)  # which solves a tiny city
    files = f"{cf},{policy_file}"
    by_file = {
        "simulate": json.loads(run("simulate", grid_folder, "--policies", files, *options).out)["policies"],
        "stress": json.loads(run("stress", grid_folder, "--policies", files, "--scenarios", "paper", *options).out)[
            "scenarios"
        ][0]["policies"],
        "compare": json.loads(run("compare", grid_folder, "--policies", files, "--json").out)["policies"],
    }
    for command, policies in by_file.items():
        assert [policy.pop("name") for policy in policies] == [str(cf), str(policy_file)]
        for policy, known in zip(policies, named[command], strict=True):
            del known["name"]
            for one in (policy, known):
                one.pop("seconds", None)
            assert policy == known
    ran = run("compare", grid_folder, "--policies", files)
    assert ran.code == 0
    assert "Late more often than the best possible" in " ".join(ran.out.split())
    for command in (["compare"], ["simulate", "--incidents", "320"], ["stress", "--incidents", "320"]):
        ran = run(command[0], grid_folder, "--policies", files, *command[1:])
        assert f"{cf} holds closest-first.\n{policy_file} holds optimal.\n" in ran.out


def test_the_only_truck_is_the_first_and_the_last(run, tmp_path: Path) -> None:
    """Where one truck goes, both arrivals are the same for every incident, also for those before time 0."""
    city = generate_grid(side=6, num_stations=5, load=0.6, seed=1)
    folder = write_city(replace(city, trucks_per_incident=1), tmp_path / "one")
    path = tmp_path / "one.parquet"
    assert run("simulate", folder, "--policies", "CF", "--incidents", "5000", "--records", path).code == 0
    wrong = duckdb.sql(f"SELECT count(*) FROM '{path}' WHERE abs(first_minutes - last_minutes) > 1e-9").fetchall()
    assert wrong == [(0,)]
