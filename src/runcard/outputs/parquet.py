"""Parquet files: written whole or not at all."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runcard.database import interruptible
from runcard.errors import RuncardError
from runcard.output_file import fill_whole
from runcard.plan.words import first_line

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@contextmanager
def our_errors(path: Path) -> Iterator[None]:
    """Raise errors of the database as ours, while a file is made."""
    import duckdb

    try:
        with interruptible():
            yield
    except duckdb.Error as error:  # a full disk, say
        raise RuncardError(f"{path}: could not be written: {first_line(error)}") from error


def write_parquet(database: "DuckDBPyConnection", query: str, path: Path, values: Sequence[Any] = ()) -> Path:
    """The file that now holds the rows of a query."""

    def copy(draft: Path) -> None:
        name = str(draft).replace("'", "''")
        # The draft is enough; nobody would know of another one.
        database.execute(f"COPY ({query}) TO '{name}' (FORMAT parquet, USE_TMP_FILE false)", values)

    with our_errors(path):
        return fill_whole(path, copy)
