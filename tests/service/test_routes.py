"""Outcomes, cards, metrics, readiness, and the description of the API."""

import csv
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runcard.errors import AuditError
from runcard.outputs.cards.book import Card, CardBook, make_book
from runcard.plan.file import load
from runcard.plan.plan import Plan
from runcard.service.audit.sqlite import MemoryLog
from runcard.service.documents import (
    DecisionAnswer,
    DecisionRecord,
    DecisionRequest,
    KindAnswer,
    OutcomeRequest,
    StandardChance,
    TeamOption,
    UnitUpdate,
)
from runcard.service.routes import cards as card_routes

ASKED = {"area": "n5", "type": "fire", "busy": ["E01"]}


def test_arrivals_can_be_told_one_by_one(client: Any) -> None:
    """Units are told once; outcomes are kept as they were told, and record and table have all of them together."""
    answer = client.post("/v1/decisions", json={"area": "n5", "type": "fire"}).json()
    where = f"/v1/decisions/{answer['decision_id']}"
    early = client.post(f"{where}/outcome", json={"arrivals": {}})
    assert (early.status_code, "units: expected a list" in early.json()["detail"]) == (422, True)
    assert client.post(f"{where}/outcome", json={"units": answer["team"]}).json()["followed"] is True
    arrivals = {}
    for unit in answer["team"]:
        arrivals[unit] = datetime.now(UTC).isoformat()
        told = client.post(f"{where}/outcome", json={"arrivals": {unit: arrivals[unit]}})
        assert (told.status_code, told.json()["followed"]) == (201, True)
    record = client.get(where).json()
    assert len(record["outcomes"]) == 1 + len(arrivals)
    assert record["outcome"]["units"] == answer["team"]
    found = {unit: datetime.fromisoformat(time) for unit, time in record["outcome"]["arrivals"].items()}
    assert found == {unit: datetime.fromisoformat(time) for unit, time in arrivals.items()}
    rows = list(csv.DictReader(io.StringIO(client.get("/v1/decisions.csv").content.decode("utf-8-sig"), newline="")))
    assert {row["met"] for row in rows} == {"1"}


def test_outcomes_are_kept_with_their_decision(client: Any) -> None:
    """Every outcome is there with its decision, and says whether the answer was followed."""
    answer = client.post("/v1/decisions", json=ASKED).json()
    where = f"/v1/decisions/{answer['decision_id']}"
    arrivals = dict.fromkeys(answer["team"], answer["time"])
    done = client.post(f"{where}/outcome", json={"units": answer["team"], "arrivals": arrivals})
    assert (done.status_code, done.json()["followed"]) == (201, True)
    other = {"units": ["E02"], "overridden_by": "j.doe", "override_reason": "it was passing by"}
    assert client.post(f"{where}/outcome", json=other).json()["followed"] is False
    first, second = client.get(where).json()["outcomes"]
    assert first["units"] == answer["team"]
    assert second["override_reason"] == "it was passing by"
    for wrong in (
        {"units": ["E99"]},
        {"units": ["E02"], "arrivals": {"E03": "2026-11-16T21:44:10+01:00"}},
        {"units": ["E02"], "arrivals": {"E02": "2026-11-16T21:44:10"}},
        {"units": ["E02"], "arrival": {}},
        {"units": ["E02"], "sent": "2020-01-01T00:00:00Z"},
    ):
        assert client.post(f"{where}/outcome", json=wrong).status_code == 422, wrong
    assert len(client.get(where).json()["outcomes"]) == 2


class FullDisk(MemoryLog):
    """An audit log that can be written no more."""

    async def record(self, decision: Any, *, text: str | None = None) -> None:
        """Fail."""
        raise AuditError("the disk is full")

    def check(self) -> None:
        """Fail."""
        raise AuditError("the disk is full")


def test_no_answer_without_a_record(serve: Any) -> None:
    """Where the record cannot be made durable there is no answer but 503, and the service is not ready."""
    client = serve(audit_log=FullDisk())
    response = client.post("/v1/decisions", json=ASKED)
    assert (response.status_code, response.json()["detail"]) == (503, "the disk is full")
    assert response.headers["retry-after"] == "1"
    assert client.get("/ready").status_code == 503
    assert client.get("/health").status_code == 200


def test_cards_are_those_of_the_book(client: Any, policy_folder: Path) -> None:
    """The cards of an area are those that `runcard cards` writes; a type and a kind narrow them down."""
    book = make_book(load(policy_folder / "optimal.policy"))
    expected = [card for card in book.cards if card.area == "n5"]
    found = client.get("/v1/cards/n5").json()["cards"]
    assert [(one["type"], one["kind"]) for one in found] == [(card.type, card.kind) for card in expected]
    for one, card in zip(found, expected, strict=True):
        assert [line["units"] for line in one["lines"]] == [list(line.units) for line in card.lines]
        assert one["fallback_order"] == [list(house) for house in card.houses]
    (only,) = client.get("/v1/cards/n5", params={"type": "fire", "kind": "ladder"}).json()["cards"]
    assert (only["type"], only["kind"]) == ("fire", "ladder")


def test_cards_are_those_of_the_policy_that_has_the_name_now(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After another file was loaded under the name of a policy, its cards are shown, not those made before."""

    def one_card(plan: Plan) -> CardBook:
        card = Card(
            period="", area="n5", area_name=plan.name, district="", type="fire", row=0, kind="engine",
            incidents_per_year=1.0, standards=(), lines=(), houses=(),
        )  # fmt: skip
        return CardBook(cards=(card,), policy=plan.name, depth=1)

    monkeypatch.setattr(card_routes, "make_book", one_card)
    found = [client.get("/v1/cards/n5").json()["cards"]]
    assert client.post("/v1/policies", json={"file": "cards.policy", "name": "optimal"}).status_code == 201
    found.append(client.get("/v1/cards/n5").json()["cards"])
    assert [one["area_name"] for (one,) in found] == ["optimal", "fixed-card"]


def test_metrics_count_what_was_answered(client: Any) -> None:
    """Prometheus finds decisions by who answered, requests by route and status, and what units do."""
    client.post("/v1/decisions", json=ASKED)
    client.post("/v1/decisions", json={})
    client.get("/v1/units/E77")
    client.get("/made-up-1")
    client.put("/v1/units/E01", json={"status": "busy"})
    lines = client.get("/metrics").text.splitlines()
    for line in (
        'runcard_decisions_total{answered_by="optimal",fallback="no",policy="optimal"} 1.0',
        'runcard_requests_total{method="POST",path="/v1/decisions",status="200"} 1.0',
        'runcard_requests_total{method="POST",path="/v1/decisions",status="422"} 1.0',
        'runcard_requests_total{method="GET",path="/v1/units/{unit_id}",status="404"} 1.0',
        'runcard_requests_total{method="other",path="other",status="404"} 1.0',
        'runcard_units{status="busy"} 1.0',
        "runcard_board_version 1.0",
    ):
        assert line in lines
    assert not any("made-up" in line for line in lines)


def test_the_description_is_whole(client: Any) -> None:
    """Every route has a summary, words, an answer with a schema, and errors as problem documents; all can be found."""
    description = client.get("/openapi.json").json()
    schemas = description["components"]["schemas"]
    references = re.findall(r'"\$ref": ?"#/components/schemas/(\w+)"', json.dumps(description))
    assert references
    assert set(references) <= schemas.keys()
    assert "HTTPValidationError" not in schemas
    for path, methods in description["paths"].items():
        for method, route in methods.items():
            assert route["summary"], path
            assert route["description"], path
            assert path == "/health" or "429" in route["responses"], (method, path)
            for status, response in route["responses"].items():
                if int(status) >= 400:
                    assert "application/problem+json" in response["content"], (path, status)
    assert schemas["DecisionRequest"]["properties"]["class"]
    assert description["paths"]["/v1/decisions"]["post"]["requestBody"]["required"] is True


def test_the_page_of_the_description_needs_no_other_site(client: Any) -> None:
    """/docs names every route, and loads nothing from elsewhere."""
    page = client.get("/docs").text
    for path in client.get("/openapi.json").json()["paths"]:
        assert path in page
    assert "<script" not in page
    assert "//" not in page.split("</style>")[0]


def test_every_route_and_every_key_is_documented(client: Any) -> None:
    """Each request of the API, and each key of a decision, of its outcome and of a unit, stands in the reference."""
    text = (Path(__file__).parents[2] / "docs" / "reference" / "service.md").read_text(encoding="utf-8")
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        for method in methods:
            assert f"`{method.upper()} {path}`" in text, (method, path)
    models = (DecisionRequest, DecisionAnswer, DecisionRecord, KindAnswer, StandardChance, OutcomeRequest, UnitUpdate)
    for model in models:
        for name, field in model.model_fields.items():
            assert f"`{field.alias or name}`" in text, (model.__name__, name)


def test_every_key_of_an_answer_is_described(client: Any) -> None:
    """What `Answer.document` says is in the description of the API, each part of it."""
    answer = client.post("/v1/decisions", json=ASKED).json()
    assert answer.keys() == DecisionAnswer.model_fields.keys()
    for kind in answer["kinds"]:
        assert kind.keys() == KindAnswer.model_fields.keys()
        assert all(standard.keys() == StandardChance.model_fields.keys() for standard in kind["standards"])
        assert all(other.keys() == TeamOption.model_fields.keys() for other in kind["alternatives"])
