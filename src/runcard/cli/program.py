"""The commands, and what becomes of their errors."""

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from types import FrameType
from typing import Annotated, Final

import typer

from runcard.cli.areas import areas
from runcard.cli.audit import audit
from runcard.cli.bound import bound
from runcard.cli.cards import cards
from runcard.cli.compare import compare
from runcard.cli.demo import demo
from runcard.cli.fit import fit, write_made_up_log
from runcard.cli.generate import generate
from runcard.cli.geojson import geojson
from runcard.cli.import_city import import_folder
from runcard.cli.keys import keys
from runcard.cli.map import map_policies
from runcard.cli.report import report
from runcard.cli.serve import serve
from runcard.cli.simulate import simulate, stress
from runcard.cli.site import site
from runcard.cli.solve import solve_city
from runcard.cli.study import study
from runcard.cli.teams import decide, lateness
from runcard.cli.whatif import whatif
from runcard.errors import CityError, RuncardError
from runcard.table import visible

app = typer.Typer(
    help="Which fire trucks to send: optimal, state-dependent dispatch under shared traffic delays.",
    epilog="Start with: runcard demo",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

LONG_WORD: Final = re.compile(r"\S{400,}")

MAX_FAULTS: Final = 50
"""At most this many faults of a city are printed; the others are counted."""

INTERRUPTED: Final = 130
"""What typer returns after Ctrl-C, and what a shell expects."""


def _show_version(wanted: bool) -> None:
    if wanted:
        from runcard import __version__

        print(f"runcard {__version__}")
        raise typer.Exit


@app.callback()
def _runcard(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


COMMANDS: Final[dict[str, Callable[..., None]]] = {
    "demo": demo,
    "generate": generate,
    "import": import_folder,
    "areas": areas,
    "fit": fit,
    "generate-log": write_made_up_log,
    "compare": compare,
    "lateness": lateness,
    "solve": solve_city,
    "decide": decide,
    "cards": cards,
    "map": map_policies,
    "report": report,
    "geojson": geojson,
    "simulate": simulate,
    "stress": stress,
    "bound": bound,
    "whatif": whatif,
    "site": site,
    "audit": audit,
    "study": study,
    "serve": serve,
    "keys": keys,
}
for name, command in COMMANDS.items():
    app.command(name)(command)


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of a command: 0 done, 1 could not do it, 2 bad input, 130 interrupted, 143 terminated.

    An error is a readable line on standard error; with RUNCARD_DEBUG=1 it is a traceback.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads wait by counting: a fit took a third longer
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a letter that the terminal lacks is no reason to fail
    try:
        with _stoppable() as received:
            command = typer.main.get_command(app)
            try:
                code = int(command.main(arguments, prog_name="runcard", standalone_mode=False) or 0)
            except Exception as error:
                if isinstance(error, BrokenPipeError) or os.environ.get("RUNCARD_DEBUG") == "1":
                    raise
                code = _report(error)
        if code == INTERRUPTED:
            _say("stopped" if received else "interrupted")
            code = 128 + received[0] if received else code
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has seen enough; what is still buffered must not fail at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


@contextmanager
def _stoppable() -> Iterator[list[int]]:
    """The signals that came. SIGTERM and SIGHUP end a command as Ctrl-C does, so that it leaves no draft behind."""
    received: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    in_main_thread = threading.current_thread() is threading.main_thread()
    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # Where somebody else has decided what a signal does, as nohup has, that stays.
    ours = [one for one in signals if in_main_thread and signal.getsignal(one) is signal.SIG_DFL]
    for one in ours:
        signal.signal(one, stop)
    try:
        yield received
    finally:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)


def _report(error: Exception) -> int:
    """The exit code that an error means, after printing it."""
    match error:
        case CityError(faults=[fault]):
            _say(f"{error.where}: {fault}")
        case CityError():
            lines = [f"  - {fault}" for fault in error.faults[:MAX_FAULTS]]
            if more := len(error.faults) - len(lines):
                lines.append(f"  and {more} more fault{'s' if more > 1 else ''}")
            _say(f"{error.where}: {len(error.faults)} faults", *lines)
        case RuncardError():
            _say(str(error))
        case typer.TyperException():
            context = getattr(error, "ctx", None)
            _say(f"{error.format_message()} (see {context.command_path if context else 'runcard'} --help)")
        case OSError():
            _say(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
        case MemoryError():
            _say("there is not enough memory")
        case RuntimeError() if "no locator available" in str(error):  # numba, which keeps compiled kernels in a cache
            where = "neither the folder of this program nor your home folder can be written to"
            _say(f"there is no place for compiled code: {where}; name a folder: NUMBA_CACHE_DIR=FOLDER")
        case _:
            _say(f"internal error, {type(error).__name__}: {error} (RUNCARD_DEBUG=1 shows where)")
    return int(getattr(error, "exit_code", 1))


def _say(line: str, *details: str) -> None:
    """Print a line on standard error, and the lines of details below it; very long words are cut."""
    lines = [f"runcard: {' '.join(line.split())}", *details]
    cut = (LONG_WORD.sub(lambda word: f"{word[0][:100]}... ({len(word[0]):,} letters)", visible(one)) for one in lines)
    print(*cut, sep="\n", file=sys.stderr)
