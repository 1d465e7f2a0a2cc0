"""`runcard serve`: the decision service."""

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Timer
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from runcard.cli.parameters import named_path, option, path_option, whole_option

if TYPE_CHECKING:
    from runcard.service.policies import LoadedPolicy
    from runcard.service.settings import ServiceSettings

AUDIT_FILE = "runcard-audit.sqlite"
IN_MEMORY = "memory"
PATIENCE_SECONDS = 3.0


def serve(
    files: Annotated[
        list[Path],
        typer.Argument(
            parser=named_path,
            metavar="FILE...",
            help="Policy files of one city: the first one answers, the others can be asked for by name.",
        ),
    ],
    host: Annotated[str, option("HOST", "Where to listen; other machines can ask only if there are keys.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, whole_option("The port to listen on.", "--port", least=1, most=65_535)] = 8000,
    audit: Annotated[
        str,
        option(
            "URL",
            "The audit log: a file (SQLite), postgresql://..., or memory, which is gone at the end, for a trial.",
        ),
    ] = AUDIT_FILE,
    keys: Annotated[Path | None, path_option("FILE", "The API keys, made by runcard keys add.")] = None,
    board: Annotated[
        Path | None,
        path_option(
            "FILE",
            "Keeps the status board, and beside it a swapped policy, over a restart; beside the audit log if that is a "
            "file and this left out.",
        ),
    ] = None,
    fallback: Annotated[
        Path | None,
        path_option(
            "FILE",
            "What answers if the policy does not in time: a fixed-card policy file or run cards (.csv); closest-first "
            "if left out.",
        ),
    ] = None,
    limit_ms: Annotated[
        float, option("X", "What a policy may take for an answer, before the fallback answers.", "--limit-ms")
    ] = 150.0,
    rate: Annotated[float, option("X", "Requests a second that one client may make.")] = 5000.0,
    time_zone: Annotated[
        str | None,
        option("ZONE", "The clock of the city, such as America/Los_Angeles; needed where a policy has periods."),
    ] = None,
) -> None:
    """Answer decisions over HTTP, keep the status board and the audit log, and show the explorer."""
    from runcard.errors import MissingExtraError

    try:
        import fastapi  # noqa: F401
        import httptools  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("runcard serve", error.name or "fastapi", "service") from error
    with _no_garbage():
        from runcard.service.app import make_app
        from runcard.service.server import bound_sockets, get_ready, run_server
        from runcard.service.settings import ServiceSettings

    settings = ServiceSettings(
        files=tuple(files),
        host=host,
        port=port,
        audit=None if audit == IN_MEMORY else audit,
        keys=keys,
        board=board or _board_beside(audit),
        fallback=fallback,
        limit_ms=limit_ms,
        requests_per_second=rate,
        time_zone=time_zone,
    )
    with bound_sockets(settings) as sockets:  # before the work
        with _patience(), _no_garbage(), _ended_at_once():
            app = make_app(settings)
            get_ready(app)
        _say(app.state.parts.store.serving, settings, audit)
        began = run_server(app, settings, sockets)
    if not began:
        raise typer.Exit(1)
    # Everything is written and closed. A thread that still computes an answer or cards would hold up the exit.
    sys.stdout.flush()
    os._exit(0)


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Look for no garbage: what is loaded stays, so that looking through it only takes time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def _ended_at_once() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the start at once: numba, which compiles, loses what a signal raises in its callbacks.

    There is nothing to lose yet: no answer was given. Where somebody else has decided what a signal does, that stays.
    """

    def stop(number: int, _: FrameType | None) -> None:
        os.write(2, b"runcard: stopped\n")
        os._exit(128 + number)

    in_main_thread = threading.current_thread() is threading.main_thread()
    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if in_main_thread and hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in signals}
    ours = [number for number in signals if callable(before[number])]
    for number in ours:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])


@contextmanager
def _patience() -> Iterator[None]:
    """Say why it takes long, if it does."""
    words = "Starting: the first start on a machine compiles what decisions need, which takes up to half a minute."
    timer = Timer(PATIENCE_SECONDS, lambda: print(words, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _board_beside(audit: str) -> Path | None:
    """The file of the board beside an audit log that is a file."""
    name = audit.removeprefix("sqlite:///")
    return None if audit == IN_MEMORY or "://" in name else Path(name).with_suffix(".board.json")


def _say(policy: "LoadedPolicy", settings: "ServiceSettings", audit: str) -> None:
    """Print what is served, where, and what to know of it."""
    from runcard.table import visible

    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    print(visible(f"{policy.city.name}: {policy.method}, version {policy.version}, at http://{host}:{settings.port}"))
    now = datetime.now(settings.zone)
    print(f"Clock of the city: {settings.time_zone or 'that of this machine'}, {now:%A %H:%M}")
    if settings.keys is None:
        print("There are no API keys: only this machine can ask. Make one with: runcard keys add NAME --role decide")
    if audit == IN_MEMORY:
        print("The audit log is in memory: it is gone when the service ends.")
    else:
        # An address of a database may hold a password.
        print(f"Audit log: {visible(audit) if '://' not in audit or audit.startswith('sqlite') else 'PostgreSQL'}")
    if settings.board is None:
        print("Neither the status board nor a swapped policy is kept over a restart: name a file with --board.")
    print("Ctrl-C ends it.", flush=True)
