"""The description of the API is true: whatever it allows is answered as it says, and what it forbids is refused."""

from collections import Counter
from copy import deepcopy
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from runcard.city import demo_city
from runcard.plan.file import save
from runcard.plan.plan import solve
from runcard.service.app import make_app
from runcard.service.settings import ServiceSettings

EXAMPLES = 10
ENDLESS = ("/v1/board/stream",)
"""Answers that do not end."""
NOT_CHECKED = (
    # The description cannot say which units, areas and decisions there are.
    schemathesis.checks.positive_data_acceptance,
)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The service of the built-in town, open."""
    policy = tmp_path_factory.mktemp("schema") / "town.policy"
    save(solve(demo_city(), "closest-first"), policy)
    return make_app(ServiceSettings(files=(policy,), requests_per_second=1e6))


def schema_of(app: Any, description: dict[str, Any]) -> schemathesis.BaseSchema:
    """A description of an app, to ask everything in it."""
    schema = schemathesis.openapi.from_dict(description)
    schema.app, schema.location = app, "/openapi.json"
    return schema


def sensible(description: dict[str, Any]) -> dict[str, Any]:
    """The part of a description that asks for decisions, with areas, types and units of the town."""
    known, city = deepcopy(description), demo_city()
    known["paths"] = {"/v1/decisions": {"post": known["paths"]["/v1/decisions"]["post"]}}
    asked = known["components"]["schemas"]["DecisionRequest"]
    units = {"enum": [unit.unit_id for unit in city.units]}
    asked["properties"] = {
        "area": {"enum": sorted({point.node_id for point in city.demand})[:5]},
        "type": {"enum": sorted({point.type for point in city.demand})},
        "busy": {"type": "array", "items": units, "maxItems": 5, "uniqueItems": True},
    }
    asked["required"] = [*asked["properties"]]
    return known


def ask_everything(schema: schemathesis.BaseSchema) -> Counter[tuple[str, int]]:
    """How often every operation answered with which status, each checked against the description."""
    statuses: Counter[tuple[str, int]] = Counter()
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path in ENDLESS:
            continue

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case: schemathesis.Case) -> None:
            headers = {"Host": "localhost"}
            response = case.call_and_validate(headers=headers, excluded_checks=list(NOT_CHECKED))
            statuses[case.operation.label, response.status_code] += 1

        ask()
    return statuses


@pytest.mark.slow
def test_every_operation_answers_as_described(app: Any) -> None:
    """No generated request gets a server error, an undescribed status, or another body than the description says."""
    statuses = ask_everything(schema_of(app, app.openapi()))
    assert statuses["POST /v1/decisions", 422] > 0
    assert len({label for label, _ in statuses}) >= 8


def test_sensible_requests_get_answers_as_described(app: Any) -> None:
    """Requests about what is there are answered, and the answers have the form that the description says."""
    statuses = ask_everything(schema_of(app, sensible(app.openapi())))
    assert statuses["POST /v1/decisions", 200] > 0
    assert statuses.keys() <= {("POST /v1/decisions", 200), ("POST /v1/decisions", 422)}
