"""A PostgreSQL server of the tests' own: from Debian's package, in a folder of its own, without a port."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


class PostgresServer:
    """A server that can be stopped, crashed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._databases = 0
        self._bin = BINARIES[-1].parent
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:  # the server refuses to run as root
            names = {user.pw_name: user for user in pwd.getpwall()}
            user = names.get("postgres") or names["nobody"]
            os.chown(folder, user.pw_uid, user.pw_gid)
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self._run("initdb", "-D", folder / "data", "-U", "runcard", "--auth=trust", "-N", "--locale=C", "-E", "UTF8")

    @property
    def url(self) -> str:
        """Where the database is."""
        return f"postgresql://runcard@/postgres?host={quote(str(self.folder))}"

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c shared_buffers=16MB"
        self._run("pg_ctl", "-D", self.folder / "data", "-l", self.folder / "log", "-w", "-o", options, "start")

    def stop(self, how: str = "fast") -> None:
        """Stop: `fast` ends connections, `immediate` is a crash."""
        self._run("pg_ctl", "-D", self.folder / "data", "-m", how, "-w", "stop")

    def new_database(self) -> str:
        """The address of a new, empty place for tables: a schema, since a database is some hundred files."""
        self._databases += 1
        name = f"test_{self._databases}"
        with psycopg.connect(self.url) as database:
            database.execute(f"CREATE SCHEMA {name}".encode())
        return f"{self.url}&options=-csearch_path%3D{name}"

    def _run(self, program: str, *arguments: object) -> None:
        """Run a program of the package as the user of the server; its output goes to a file, as a server keeps it."""
        with (self.folder / f"{program}.out").open("w+") as output:
            done = subprocess.run(
                [self._bin / program, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                check=False, cwd=self.folder, timeout=60, **self._as,
            )  # fmt: skip
            output.seek(0)
            assert done.returncode == 0, output.read()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A server that runs."""
    if not BINARIES:
        pytest.skip("PostgreSQL is not installed (make database installs Debian's)")
    # Folders of pytest belong to the user alone, and a path to a socket must be short.
    folder = Path(tempfile.mkdtemp(prefix="runcard-pg-"))
    try:
        server = PostgresServer(folder)
        server.start()
        try:
            yield server
        finally:
            with suppress(AssertionError):  # a test may have stopped it
                server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    """A new, empty database for one test."""
    return postgres_server.new_database()
