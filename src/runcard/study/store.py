"""The folder of a study: the rows of every finished task as a Parquet file of its own, and one file per experiment.

    study.json             the seed and the version of runcard that the rows are of
    parts/KEY.parquet      the rows of one task, written whole when it is done; a killed study goes on from these
    NAME.parquet           the rows of an experiment, sorted: the same seed gives the same bytes
    report.html            the report

Parts are only ever added. So more graphs, in whole tens, or another experiment with the same cities use them again.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runcard.database import memory_database
from runcard.errors import InputError
from runcard.output_file import DRAFT_ENDING, write_whole
from runcard.outputs.parquet import write_parquet
from runcard.study.experiment import Experiment
from runcard.study.tasks import Row, Task

MANIFEST = "study.json"
PARQUET_END = b"PAR1"
_TYPES = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bool: "BOOLEAN"}
_SORTED = "SELECT * FROM read_parquet(?) ORDER BY ALL"


@dataclass(frozen=True)
class StudyFolder:
    """Where the rows of a study are."""

    path: Path
    seed: int

    @property
    def parts(self) -> Path:
        """Where the rows of each task are."""
        return self.path / "parts"

    def prepare(self, version: str) -> None:
        """Create the folder, or check that what is there belongs to the same study."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path}: expected a folder for the study, got a file")
        if any(letter in str(self.path) for letter in "*?[]"):
            raise InputError(f"{self.path}: expected the name of a folder without *, ?, [ or ]")
        manifest = self.path / MANIFEST
        wanted = {"seed": self.seed, "runcard": version}
        if manifest.exists():
            try:
                found: Any = json.loads(manifest.read_text("utf-8"))
            except ValueError as error:
                raise InputError(f"{manifest}: expected JSON, got {error}") from error
            if found != wanted:
                found = found if isinstance(found, dict) else {}
                raise InputError(
                    f"{self.path}: expected a study of seed {self.seed} by runcard {version}, got one of seed "
                    f"{found.get('seed')} by runcard {found.get('runcard')}; name another folder with --output"
                )
        # A study that was killed at once leaves no more than a draft behind.
        elif self.path.is_dir() and any(not entry.name.startswith(".") for entry in self.path.iterdir()):
            raise InputError(f"{self.path}: expected an empty folder or one of a study, got other files")
        self.path.mkdir(parents=True, exist_ok=True)
        for draft in [*self.path.glob(f".*{DRAFT_ENDING}"), *self.parts.glob(f".*{DRAFT_ENDING}")]:
            draft.unlink(missing_ok=True)
        if not manifest.exists():
            write_whole(manifest, (json.dumps(wanted) + "\n").encode())
        self.parts.mkdir(exist_ok=True)

    def part(self, task: Task) -> Path:
        """The file of a task."""
        return self.parts / f"{task.key}.parquet"

    def is_done(self, task: Task) -> bool:
        """Whether the rows of a task are there."""
        return _is_whole(self.part(task))

    def add(self, task: Task, rows: Sequence[Row]) -> None:
        """Write the rows of a task, whole or not at all."""
        columns = ", ".join(f"unnest(?::{_TYPES[type(value)]}[]) AS {name}" for name, value in rows[0].items())
        _write(self.part(task), f"SELECT {columns}", [[row[name] for row in rows] for name in rows[0]])

    def finish(self, experiment: Experiment, tasks: Sequence[Task]) -> Path:
        """Write the file of an experiment from the parts of its tasks, and return its path."""
        return _write(self._file(experiment), _SORTED, [[str(self.part(task)) for task in tasks]])

    def has(self, experiment: Experiment) -> bool:
        """Whether there is a file of an experiment."""
        return _is_whole(self._file(experiment))

    def rows(self, experiment: Experiment) -> dict[str, Any]:
        """The rows of the file of an experiment as an array for each column, sorted."""
        with memory_database() as database:
            found: dict[str, Any] = database.execute(_SORTED, [[str(self._file(experiment))]]).fetchnumpy()
        return found

    def _file(self, experiment: Experiment) -> Path:
        return self.path / f"{experiment.name}.parquet"


def _is_whole(path: Path) -> bool:
    """Whether there is a Parquet file that was not cut off."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - len(PARQUET_END)))
        return file.read() == PARQUET_END


def _write(path: Path, query: str, values: list[Any]) -> Path:
    """The Parquet file that now holds the rows of a query."""
    with memory_database() as database:
        return write_parquet(database, query, path, values)
