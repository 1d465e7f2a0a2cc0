"""What a study has found for one experiment."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from runcard.study.experiment import Experiment
from runcard.study.tables import StudyTable, make_table

TABLE_KINDS: Final = ("improvement", "range", "gap", "ignoring")


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """The rows of an experiment, one array for each column (see `tasks.LateRow` and `tasks.SecondsRow`)."""

    experiment: Experiment
    seed: int
    num_graphs: int
    rows: dict[str, Any]

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


def cells_in_words(results: Sequence[Result]) -> str:
    """How well all tables together agree with the paper's."""
    agreements = [result.table.agreement for result in results if result.is_table]
    cells = sum(one.num_cells for one in agreements)
    if cells == 0:
        return "The paper's numbers are not known."
    within_3, within_4 = (sum(getattr(one, name) for one in agreements) for name in ("within_3", "within_4"))
    return (
        f"{within_3} of {cells} cells ({within_3 / cells:.0%}) are within 3 standard errors of the paper's, "
        f"{within_4} within 4."
    )
