"""The command line: arguments are parsed here, and everything else is imported by the command that needs it."""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Final

import typer

from runcard.errors import CityError, RuncardError

app = typer.Typer(
    help="Which fire trucks to send: optimal, state-dependent dispatch under shared traffic delays.",
    epilog="Start with: runcard demo",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

MAX_FAULTS: Final = 50
"""Faults of a city that are printed; of more it is said how many there are."""

INTERRUPTED: Final = 130
"""What typer returns after Ctrl-C, and what a shell expects."""


def _path(text: str | Path) -> Path:
    """The path that is meant; an empty one is a mistake, such as a variable that is not set, and not this folder."""
    if text == "":
        raise typer.BadParameter("expected a name, got an empty one")
    return Path(text)


CityFolder = Annotated[Path, typer.Argument(parser=_path, metavar="CITY", help="A city folder.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Node = Annotated[str, typer.Option("--at", metavar="NODE", help="The node of the incident.", show_default=False)]
Tolerance = Annotated[
    float, typer.Option(metavar="X", help="How close the proven bounds of `optimal` must come, relatively.")
]
Horizon = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="The horizon T of one-step-queueing in busy times; from the load if left out.",
        show_default=False,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Threads to use; one for each processor if left out.", show_default=False),
]


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


@app.command()
def demo(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", parser=_path, metavar="FOLDER", help="Where the map and the city are written."),
    ] = Path("runcard-demo"),
) -> None:
    """Solve the built-in city and draw its map.

    The folder also gets the city and its policy file, to try the other commands on.
    """
    from runcard.outputs.demo import run_demo

    run_demo(output)


@app.command()
def generate(
    folder: Annotated[
        Path, typer.Argument(parser=_path, metavar="DIR", help="The folder to write the city to.", show_default=False)
    ],
    side: Annotated[int, typer.Option(metavar="N", help="Nodes along each side of the grid.")] = 6,
    stations: Annotated[int, typer.Option(metavar="N", help="Number of stations.")] = 5,
    load: Annotated[float, typer.Option(metavar="X", help="Incidents per truck and busy time: the paper's ρ.")] = 0.1,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of everything random; the same seed gives the same city.")
    ] = 1,
    gamma: Annotated[
        float, typer.Option(metavar="X", help="Target, as a part of the longest route's mean driving time.")
    ] = 0.6,
    sparseness: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="Part of the links that is kept; drawn from 0.4 to 1 if left out.", show_default=False
        ),
    ] = None,
    shared_delay: Annotated[
        float, typer.Option(metavar="X", help="Chance that trucks on one link meet the same delay.")
    ] = 1.0,
    busy_minutes: Annotated[
        float, typer.Option(metavar="X", help="Mean minutes that a dispatched truck is busy.")
    ] = 60.0,
    trucks_per_station: Annotated[int, typer.Option(metavar="N", help="Trucks of each station.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a city that is there already.")] = False,
) -> None:
    """Write a random city as in the paper.

    It is a square grid with some links removed, and stations and incident rates at random.
    """
    from runcard.outputs.commands import run_generate

    run_generate(
        folder,
        side=side,
        num_stations=stations,
        load=load,
        seed=seed,
        gamma=gamma,
        sparseness=sparseness,
        shared_delay=shared_delay,
        busy_minutes=busy_minutes,
        trucks_per_station=trucks_per_station,
        overwrite=overwrite,
    )


@app.command()
def compare(
    city: CityFolder,
    policies: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Policies by name or paper label (CF, OSI, OSIA, OPT), commas between; "
            "closest-first,one-step,optimal if left out, and only optimal with --weights.",
            show_default=False,
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Compare weights instead: late incidents that a minute of mean response counts as, commas between.",
            show_default=False,
        ),
    ] = None,
    curve: Annotated[
        Path | None,
        typer.Option(
            parser=_path,
            metavar="FILE",
            help="With --weights: draw late fraction against minutes, as .svg, .png or .pdf.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    tolerance: Tolerance = 1e-9,
    horizon_busy_times: Horizon = None,
    threads: Threads = None,
) -> None:
    """Compare policies exactly.

    Shows the late fraction with its proof, the mean response time, and how much each station works; or, with --weights,
    how much late fraction a shorter mean response costs.
    """
    from runcard.outputs.commands import run_compare, run_compare_weights

    if weights is not None:
        run_compare_weights(
            city,
            _numbers(weights, "--weights"),
            _words("optimal" if policies is None else policies),
            curve=curve,
            as_json=as_json,
            tolerance=tolerance,
            horizon_busy_times=horizon_busy_times,
            threads=threads,
        )
        return
    if curve is not None:
        raise typer.BadParameter("expected --weights with it: the curve has a point for each", param_hint="'--curve'")
    run_compare(
        city,
        _words("closest-first,one-step,optimal" if policies is None else policies),
        as_json=as_json,
        tolerance=tolerance,
        horizon_busy_times=horizon_busy_times,
        threads=threads,
    )


@app.command()
def lateness(
    city: CityFolder,
    at: Node,
    top: Annotated[
        int, typer.Option(min=1, metavar="N", help="Teams that the table shows; JSON has all of them.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Show P(late) of every team at a node, best first."""
    from runcard.outputs.commands import run_lateness

    run_lateness(city, at, top=top, as_json=as_json)


@app.command()
def solve(
    city: CityFolder,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", parser=_path, metavar="FILE", help="The policy file to write.", show_default=False
        ),
    ],
    policy: Annotated[str, typer.Option(metavar="NAME", help="A policy by name or paper label.")] = "optimal",
    tolerance: Tolerance = 1e-9,
    horizon_busy_times: Horizon = None,
    threads: Threads = None,
) -> None:
    """Solve a policy and write its policy file.

    The file decides for every demand point and every set of idle trucks.
    """
    from runcard.outputs.commands import run_solve

    run_solve(city, policy, output, tolerance=tolerance, horizon_busy_times=horizon_busy_times, threads=threads)


@app.command()
def decide(
    file: Annotated[Path, typer.Argument(parser=_path, metavar="FILE", help="A policy file.", show_default=False)],
    at: Node,
    idle: Annotated[
        str,
        typer.Option(
            metavar="STATIONS",
            help="Stations with an idle truck, commas between, once for each truck (s1,s1,s3); or all, or none.",
            show_default=False,
        ),
    ],
    incident_class: Annotated[
        int | None,
        typer.Option("--class", metavar="N", help="Which row of the node in demand.csv, from 1.", show_default=False),
    ] = None,
    city: Annotated[
        Path | None,
        typer.Option(
            parser=_path, metavar="CITY", help="Refuse a file that was not made for this city.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say which trucks to send, and why."""
    from runcard.outputs.commands import run_decide

    run_decide(file, at, idle, incident_class=incident_class, city_folder=city, as_json=as_json)


@app.command("map")
def draw(
    path: Annotated[
        Path,
        typer.Argument(parser=_path, metavar="CITY|FILE", help="A city folder, or a policy file.", show_default=False),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", parser=_path, metavar="FILE", help="The map to write: .png, .svg or .pdf."),
    ] = Path("map.png"),
    policies: Annotated[
        str | None,
        typer.Option(
            "--policies",
            "--policy",
            metavar="NAMES",
            help="Policies by name or paper label, or policy files, commas between; closest-first,optimal if left out, "
            "with one-step-mean-field for optimal in a large department.",
            show_default=False,
        ),
    ] = None,
    city: Annotated[
        Path | None,
        typer.Option(parser=_path, metavar="CITY", help="The city folder of a policy file.", show_default=False),
    ] = None,
    threads: Threads = None,
) -> None:
    """Draw which stations send trucks to each area.

    Every truck is idle. Each policy has a map for the first truck and one for the second.
    """
    from runcard.outputs.commands import run_map

    run_map(
        path,
        [] if policies is None else _some(_words(policies), "--policies"),
        output,
        city_folder=city,
        threads=threads,
    )


Policies = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Policies by name or paper label (CF, OSI, OSIA, OPT), commas between; gains are over the first.",
    ),
]
Incidents = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Incidents to simulate for each policy, instead of a precision.", show_default=False
    ),
]
Precision = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Simulate until each late fraction is known to this part; 0.01 if left out, 0.05 in large departments.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Seed of everything random.")]


@app.command()
def simulate(
    city: CityFolder,
    policies: Policies = "closest-first,optimal",
    scenario: Annotated[
        str, typer.Option(metavar="NAME", help="A built-in scenario or a TOML file, or several with + between.")
    ] = "paper",
    incidents: Incidents = None,
    precision: Precision = None,
    seed: Seed = 1,
    records: Annotated[
        Path | None,
        typer.Option(
            parser=_path, metavar="FILE", help="Write a Parquet file with a row for each incident.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
    tolerance: Tolerance = 1e-9,
    horizon_busy_times: Horizon = None,
    threads: Threads = None,
) -> None:
    """Simulate policies in a scenario.

    Shows the late fraction and the arrivals of the first and the last truck, with intervals, and what stations do.
    """
    from runcard.outputs.commands import run_simulate

    run_simulate(
        city,
        _words(policies),
        scenario,
        incidents=incidents,
        precision=precision,
        seed=seed,
        records=records,
        as_json=as_json,
        tolerance=tolerance,
        horizon_busy_times=horizon_busy_times,
        threads=threads,
    )


@app.command()
def stress(
    city: CityFolder,
    policies: Policies = "closest-first,optimal",
    scenarios: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="Scenarios, commas between; all built-in ones if left out.", show_default=False
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(parser=_path, metavar="FILE", help="Also replay this incident log.", show_default=False),
    ] = None,
    incidents: Incidents = None,
    precision: Precision = None,
    seed: Seed = 1,
    as_json: AsJson = False,
    tolerance: Tolerance = 1e-9,
    horizon_busy_times: Horizon = None,
    threads: Threads = None,
) -> None:
    """Simulate policies in every scenario: does the gain survive?"""
    from runcard.outputs.commands import run_stress

    run_stress(
        city,
        _words(policies),
        [] if scenarios is None else _some(_words(scenarios), "--scenarios"),
        log=log,
        incidents=incidents,
        precision=precision,
        seed=seed,
        as_json=as_json,
        tolerance=tolerance,
        horizon_busy_times=horizon_busy_times,
        threads=threads,
    )


@app.command()
def study(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Experiments or findings; all experiments if left out.", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", parser=_path, metavar="FOLDER", help="Where results and the report are written."
        ),
    ] = Path("runcard-study"),
    graphs: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Random graphs for each setting; as in the paper if left out.", show_default=False
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Worker processes; one for each processor if left out.", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of everything random.")] = 1,
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="Where workers run: loky (this machine) or dask (a cluster).")
    ] = "loky",
    address: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The Dask scheduler, such as tcp://10.0.0.1:8786.", show_default=False),
    ] = None,
    list_names: Annotated[bool, typer.Option("--list", help="List the experiments and findings, and stop.")] = False,
) -> None:
    """Run the paper's numerical study, and write a report.

    A study that was stopped goes on where it was when the same command is given again.
    """
    from runcard.study.commands import list_experiments, run_study
    from runcard.threads import available_threads

    if list_names:
        list_experiments()
        return
    run_study(
        names or [],
        output,
        num_graphs=graphs,
        jobs=jobs or available_threads(),
        seed=seed,
        backend=backend,
        address=address,
    )


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _some(words: list[str], option: str) -> list[str]:
    """The words, of which there has to be one."""
    if not words:
        raise typer.BadParameter("expected names with commas between, got none", param_hint=f"'{option}'")
    return words


def _numbers(text: str, option: str) -> list[float]:
    try:
        return [float(word) for word in _words(text)]
    except ValueError as error:
        raise typer.BadParameter(
            f"expected numbers with commas between, got {text!r}", param_hint=f"'{option}'"
        ) from error


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of a command: 0 done, 1 could not do it, 2 bad input, 130 interrupted.

    An error is a readable line on standard error; with RUNCARD_DEBUG=1 it is a traceback.
    """
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a letter that the terminal lacks is no reason to fail
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has seen enough; what is still buffered must not fail at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _run(arguments: list[str]) -> int:
    """The exit code of a command, after the error that ended it, if any, has been printed."""
    try:
        command = typer.main.get_command(app)
        code = command.main(arguments, prog_name="runcard", standalone_mode=False) or 0
    except BrokenPipeError:
        raise
    except Exception as error:
        if os.environ.get("RUNCARD_DEBUG") == "1":
            raise
        return _report(error)
    if code == INTERRUPTED:
        _say("interrupted")
    return int(code)


def _report(error: Exception) -> int:
    """The exit code that an error means, after printing it."""
    match error:
        case CityError(faults=[fault]):
            _say(f"{error.where}: {fault}")
            return error.exit_code
        case CityError():
            _say(f"{error.where}: {len(error.faults)} faults", *_listed(error.faults))
            return error.exit_code
        case RuncardError():
            _say(str(error))
            return error.exit_code
        case typer.TyperException():
            context = getattr(error, "ctx", None)
            _say(f"{error.format_message()} (see {context.command_path if context else 'runcard'} --help)")
            return error.exit_code
        case OSError():
            _say(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
        case MemoryError():
            _say("there is not enough memory")
        case _:
            _say(f"internal error, {type(error).__name__}: {error} (RUNCARD_DEBUG=1 shows where)")
    return 1


def _listed(faults: Sequence[str]) -> list[str]:
    """The lines of a list of faults: the first ones, and the number of the others."""
    lines = [f"  - {fault}" for fault in faults[:MAX_FAULTS]]
    more = len(faults) - len(lines)
    return [*lines, f"  and {more} more fault{'s' if more > 1 else ''}"] if more else lines


def _say(line: str, *details: str) -> None:
    """Print a line on standard error, and the lines of details below it."""
    print(f"runcard: {' '.join(line.split())}", *details, sep="\n", file=sys.stderr)
