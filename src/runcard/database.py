"""DuckDB: a database in memory, which reads logs and writes Parquet files. It is imported when it is first needed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def memory_database(threads: int = 1) -> "DuckDBPyConnection":
    """A database in memory; on one thread it writes rows in one order."""
    import duckdb

    database = duckdb.connect(":memory:", config={"threads": threads})
    database.execute("SET enable_progress_bar_print = false")  # on by itself in notebooks and with `python -c`
    return database


@contextmanager
def interruptible() -> Iterator[None]:
    """Work of DuckDB, which makes a RuntimeError of Ctrl-C: here it stays a KeyboardInterrupt."""
    try:
        yield
    except RuntimeError as error:
        if "interrupt" in str(error).lower():
            raise KeyboardInterrupt from error
        raise
