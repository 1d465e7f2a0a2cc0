"""The audit log behind the service: what a client sees of it."""

import json
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.service.audit.made_up import full_disk
from tests.service.conftest import Serve

from runcard.city import City, write_city
from runcard.cli import main


def asked(client: Any) -> dict[str, Any]:
    """Ask for a decision with every unit idle."""
    types, units = client.get("/v1/policies").json()["types"], client.get("/v1/board").json()["units"]
    body = {"area": "n5", "type": types[0], "idle": [one["unit"] for one in units]}
    response = client.post("/v1/decisions", json=body)
    return {"status": response.status_code} | response.json()


def test_ready_tells_the_truth_about_a_full_disk(serve: Serve, tmp_path: Path) -> None:
    """503 from the first record that could not be written on, until one can be; nobody has to ask for a decision."""
    client = serve(audit=str(tmp_path / "audit.db"))
    assert asked(client)["status"] == 200
    reader = sqlite3.connect(tmp_path / "audit.db")  # as long as somebody reads, nothing gets shorter
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM runcard_decision").fetchone()
    with closing(reader), full_disk(max(one.stat().st_size for one in tmp_path.glob("audit.db*"))):
        assert client.get("/ready").status_code == 200  # nothing was tried yet
        assert asked(client)["status"] == 503
        refused = client.get("/ready")
        assert (refused.status_code, "could not be written" in refused.json()["detail"]) == (503, True)
    assert client.get("/ready").status_code == 200


def test_a_log_that_was_moved_is_said_and_no_empty_one_takes_its_place(serve: Serve, tmp_path: Path) -> None:
    """Neither /ready nor a read makes a file where the log was: a restart would take it for a new log."""
    path = tmp_path / "audit.db"
    client = serve(audit=str(path))
    made = asked(client)["decision_id"]
    path.rename(tmp_path / "elsewhere.db")
    for address in ("/ready", f"/v1/decisions/{made}", "/v1/drift", "/v1/decisions.csv"):
        refused = client.get(address)
        assert (refused.status_code, "was moved or removed" in refused.json()["detail"]) == (503, True), address
    assert asked(client)["status"] == 503
    assert not path.exists()


def test_what_was_done_is_compared_with_what_was_predicted(serve: Serve, tmp_path: Path) -> None:
    """From a decision over its outcome to the finding, with the real documents of the service."""
    client = serve(audit=str(tmp_path / "audit.db"))
    made = asked(client)
    units = made["team"]
    made_at = datetime.fromisoformat(made["time"])
    sent, late = ((made_at - timedelta(minutes=minutes)).isoformat() for minutes in (59, 0))
    outcome = {"units": units, "sent": sent, "arrivals": dict.fromkeys(units, late)}
    assert client.post(f"/v1/decisions/{made['decision_id']}/outcome", json=outcome).status_code == 201
    found = client.get("/v1/drift").json()
    assert len(found["rows"]) == sum(len(one["standards"]) for one in made["kinds"])
    assert {(row["incidents"], row["met"]) for row in found["rows"]} == {(1, 0)}
    assert {row["predicted_minutes"] for row in found["rows"]} == {one["first_minutes"] for one in made["kinds"]}
    for row in found["rows"]:
        (chance,) = (
            standard["chance"]
            for one in made["kinds"]
            for standard in one["standards"]
            if (one["kind"], standard["arrivals"], standard["target_minutes"])
            == (row["kind"], row["arrivals"], row["target_minutes"])
        )
        assert row["predicted"] == chance
        assert row["p_value"] == min(1.0, 2.0 * (1.0 - chance))
    assert client.get("/v1/drift", headers={"accept": "text/html"}).text.startswith("<!DOCTYPE html>")


def test_predicted_minutes_are_those_of_the_command_line(
    serve: Serve, department_city: City, policy_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The minutes of an answer are what `runcard decide` says, also with units that are not at home."""
    path = policy_folder / "solved.policy"
    assert main(["solve", str(write_city(department_city, tmp_path / "city")), "-o", str(path)]) == 0
    client = serve(path.name, limit_ms=30_000.0)
    for moved in ({}, {"E02": "n7"}, {"T01": "n0"}):
        given = {"area": "n5", "type": "fire", "busy": [], "moved": {unit: {"node": moved[unit]} for unit in moved}}
        made = client.post("/v1/decisions", json=given).json()
        capsys.readouterr()
        away = [word for unit in moved for word in ("--from", f"{unit}={moved[unit]}")]
        assert main(["decide", str(path), "--at", "n5", "--idle", "all", "--type", "fire", *away, "--json"]) == 0
        for one, expected in zip(made["kinds"], json.loads(capsys.readouterr().out)["kinds"], strict=True):
            for name in ("first_minutes", "first_p90_minutes", "last_minutes", "last_p90_minutes"):
                assert one[name] == pytest.approx(expected[name], rel=1e-6)
            if not moved:
                others = [other["last_minutes"] for other in expected["alternatives"]]
                assert [other["last_minutes"] for other in one["alternatives"]] == pytest.approx(others, rel=1e-6)
