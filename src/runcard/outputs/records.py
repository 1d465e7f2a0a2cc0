"""One flat Parquet record for each simulated incident: what happened, who went, and when they were there."""

from collections.abc import Callable
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import City
from runcard.database import memory_database
from runcard.output_file import check_output_file
from runcard.outputs.parquet import our_errors, write_parquet

COLUMNS = {
    "scenario": ("VARCHAR", None),
    "policy": ("VARCHAR", None),
    "batch": ("BIGINT", None),
    "incident": ("BIGINT", None),
    "minutes": ("DOUBLE", "minutes"),
    "node_id": ("VARCHAR", None),
    "demand_row": ("BIGINT", None),
    "team": ("VARCHAR", None),
    "first_minutes": ("DOUBLE", "first"),
    "last_minutes": ("DOUBLE", "last"),
    "late": ("BOOLEAN", "late"),
    "from_outside": ("BIGINT", "outside"),
    "turned_back": ("BIGINT", "turned"),
    "idle_after": ("BIGINT", "idle"),
}
"""Every column with its type, and the field of a record that it shows as it is. `minutes` count from the start of the
batch, `demand_row` from 1 as in `demand.csv`."""

OF_DEPARTMENT = {"kind": ("VARCHAR", None), "type": ("VARCHAR", None), "missed": ("DOUBLE", "missed")}
"""The columns more of a city with standards, which has a row for each incident and kind."""


class RecordFile:
    """A Parquet file that is written when it is left: whole, or not at all."""

    def __init__(self, path: Path, city: City) -> None:
        check_output_file(path)
        self._path, self._city, self._database = path, city, memory_database()
        self._columns = COLUMNS if city.plain else COLUMNS | OF_DEPARTMENT
        columns = ", ".join(f"{name} {kind}" for name, (kind, _) in self._columns.items())
        self._database.execute(f"CREATE TABLE records ({columns})")

    def keeper(self, scenario: str) -> Callable[[str, int, NDArray[np.void]], None]:
        """A function that keeps the records of one scenario (see `simulate_plans`)."""
        demand = self._city.demand
        nodes, types = (np.array([getattr(point, name) for point in demand], object) for name in ("node_id", "type"))
        kinds = np.array(self._city.kinds, dtype=object)

        def keep(policy: str, batch: int, records: NDArray[np.void]) -> None:
            num = len(records)
            rows = {
                "scenario": np.full(num, scenario, dtype=object),
                "policy": np.full(num, policy, dtype=object),
                "batch": np.full(num, batch),
                "incident": np.arange(num) if self._city.plain else records["incident"].copy(),
                "node_id": nodes[records["point"]],
                "demand_row": records["point"] + 1,
                "team": self._teams(records),
            } | {column: np.ascontiguousarray(records[field]) for column, (_, field) in self._columns.items() if field}
            if not self._city.plain:
                rows |= {"kind": kinds[records["kind"]], "type": types[records["point"]]}
            with our_errors(self._path):
                self._database.execute("INSERT INTO records BY NAME SELECT * FROM rows")

        return keep

    def _teams(self, records: NDArray[np.void]) -> NDArray[np.object_]:
        """The station ids of each team with commas between, "outside" for trucks from there."""
        ids = [station.station_id for station in self._city.stations]
        keys = np.column_stack([np.sort(records["stations"], axis=1), records["outside"]])
        distinct, place = np.unique(keys, axis=0, return_inverse=True)
        words = [
            ",".join([*(ids[i] for i in row[:-1] if i >= 0), *[OUTSIDE_ID] * int(row[-1])]) for row in distinct.tolist()
        ]
        return np.array(words, dtype=object)[place.reshape(-1)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        order = f"scenario, policy, batch, incident{'' if self._city.plain else ', kind'}"
        with self._database:
            if kind is None:
                write_parquet(self._database, f"SELECT * FROM records ORDER BY {order}", self._path)
