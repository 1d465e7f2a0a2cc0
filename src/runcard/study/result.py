"""What a study has found for one experiment."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from runcard.study.experiment import Experiment
from runcard.study.tables import Agreement, StudyTable, make_table

TABLE_KINDS: Final = ("improvement", "range", "gap", "ignoring")


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """The rows of an experiment, one array for each column (see `tasks.LateRow` and `tasks.SecondsRow`)."""

    experiment: Experiment
    seed: int
    rows: dict[str, Any]

    @property
    def num_graphs(self) -> int:
        """The random graphs of each setting."""
        return 1 + int(self.rows["graph"].max()) if "graph" in self.rows else self.experiment.graphs

    @property
    def is_table(self) -> bool:
        """Whether it is a table; otherwise it is a figure."""
        return self.experiment.kind in TABLE_KINDS

    @cached_property
    def table(self) -> StudyTable:
        """The table, if it is one."""
        return make_table(self.experiment, self.rows)

    @property
    def num_open(self) -> int:
        """The rows whose bounds did not come as close as they should."""
        return 0 if "converged" not in self.rows else int((~self.rows["converged"]).sum())


def agreement_of(results: Sequence[Result]) -> Agreement:
    """How well all tables together agree with the paper's."""
    none = Agreement(num_cells=0, within_3=0, within_4=0, farthest=0.0)
    return sum((result.table.agreement for result in results if result.is_table), none)
