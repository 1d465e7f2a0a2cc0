"""What simulations say in JSON."""

import json
from math import inf

import numpy as np
import pytest

from runcard.city import generate_grid
from runcard.interval import Interval
from runcard.outputs.simulate import document_of
from runcard.simulate.kernels.run import NUM_BINS
from runcard.simulate.result import Batch, KindSimulation, SimulatedPolicy, Simulation
from runcard.simulate.scenario import Scenario
from runcard.simulate.tables import survives


def batch(late: int, incidents: int = 1000) -> Batch:
    """A batch in which that many incidents are late."""
    nothing = np.zeros(2)
    return Batch(
        incidents, late, 0, 0, 2.0, 4.0, 14400.0, np.array([720.0, 1440.0]), np.array([10, 20]), nothing,
        of_city=incidents,
    )  # fmt: skip


def simulation(*late: tuple[int, ...]) -> Simulation:
    """A simulation of two trucks with a policy for each tuple of late incidents, one for each batch."""
    bins = np.zeros((2, 2, NUM_BINS), np.int64)
    policies = tuple(SimulatedPolicy(f"policy {n}", tuple(map(batch, one)), bins) for n, one in enumerate(late))
    return Simulation(Scenario(), {"truck": KindSimulation(policies, ("s0", "s1"))}, 1, True, (), 1.0)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(0.01, 0.2, "yes"), (-0.2, -0.01, "no, worse"), (-0.1, 0.1, "not clear"), (-inf, inf, "not clear")],
)
def test_a_gain_survives_if_its_interval_is_above_zero(low: float, high: float, word: str) -> None:
    """It is yes, no or not clear, by the ends of the interval."""
    assert survives(Interval((low + high) / 2 if high < inf else 0.0, low, high)) == word


def test_the_document_is_valid_json_whatever_is_not_known() -> None:
    """With one batch nothing is known about errors, and with nothing late no improvement: null, and no NaN."""
    city = generate_grid(side=2, num_stations=2, load=0.1, seed=1)
    for found in (simulation((5,), (4,)), simulation((0, 0), (0, 0)), simulation((5, 6), (4, 5))):
        document = document_of(city, found)
        text = json.dumps(document, allow_nan=False)
        assert json.loads(text)["policies"][0]["name"] == "policy 0"
    assert document["policies"][1]["improvement_over_first"]["mean"] == pytest.approx(2 / 11)
    trucks = document["policies"][0]["trucks"]
    assert [truck["busy_fraction"] for truck in trucks] == pytest.approx([0.05, 0.1])
    assert [truck["dispatches_per_day"] for truck in trucks] == pytest.approx([1.0, 2.0])


def test_pairs_that_differ_by_the_same_number_have_no_error() -> None:
    """A difference that is the same in every batch is certain, however much the batches vary."""
    found = simulation((50, 150, 250), (40, 140, 240))
    assert found.first.fewer_late(1).half == pytest.approx(0.0, abs=1e-15)
    assert found.first.fewer_late(1).value == pytest.approx(0.01)
    assert found.first.policies[0].late_fraction.half > 0.1
