"""Gaps over many cities: each city once, also after an interruption, and a table of what is there."""

from pathlib import Path
from typing import Any

import pytest
from benchmarks.gap_cities import NAMES, Place, known, measure, measured, places, table

import runcard
from benchmarks import gap_cities


def test_every_cell_has_twenty_cities_of_every_kind() -> None:
    """Five targets, with shared delays and without, two grids of each."""
    every = list(places())
    assert len(every) == len(set(every)) == 20 * len(gap_cities.CELLS)
    cell = [one for one in every if (one.trucks, one.load) == (12, 0.4)]
    assert {(one.target, one.shared_delay) for one in cell} == {
        (target, shared) for target in gap_cities.TARGETS for shared in (0.0, 1.0)
    }


@pytest.mark.slow
def test_a_gap_is_that_of_an_exact_evaluation() -> None:
    """Of closest-first beside the optimum; and sampled, where there are too many trucks, it is near that."""
    place = Place(8, 0.2, 0.2, 1.0, 8)
    problem = runcard.dispatch_problem(place.city)
    late = [
        runcard.evaluate(runcard.solve_problem(problem, name)).late_fraction for name in ("closest-first", "optimal")
    ]
    found = measured(place)
    assert found["gaps"]["closest-first"] == pytest.approx(late[0] / late[1] - 1.0, abs=2e-6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gap_cities, "MOST_EVALUATED", 7)
        sampled = measured(place)["gaps"]
    for name in NAMES:
        assert sampled[name] == pytest.approx(found["gaps"][name], abs=0.02)


def test_a_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A city that is there is not measured again, and a line that was cut off counts as none."""
    path, seen = tmp_path / "gaps.jsonl", list[Place]()

    def quick(place: Place) -> dict[str, Any]:
        seen.append(place)
        return {**place._asdict(), "optimum": 0.5, "gaps": dict.fromkeys(NAMES, 0.01 * len(seen)), "seconds": 0.0}

    monkeypatch.setattr(gap_cities, "measured", quick)
    monkeypatch.setattr(gap_cities, "CELLS", ((8, 0.1),))
    measure(path, 1e9, 8)
    assert len(seen) == 20
    path.write_text(path.read_text()[:-5], encoding="utf-8")
    measure(path, 1e9, 8)
    assert len(seen) == 21
    assert seen[-1] == seen[19]
    assert set(known(path)) == set(places())
    *_, row = table(known(path))
    assert row.startswith("| 8 | 0.1 | 20 | 50 to 50 % | ")
    assert row.endswith("| 0, 0 |")
