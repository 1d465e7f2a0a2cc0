"""Arguments and options that several commands have, and lists of words and numbers."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from runcard.policy.solve_options import SolveOptions


def named_path(text: str | Path) -> Path:
    """The path that is meant; an empty one is a mistake, such as a variable that is not set, and not this folder."""
    if text == "":
        raise typer.BadParameter("expected a name, got an empty one")
    return Path(text)


def whole_number(least: int, most: int = 10**18) -> Callable[[str | int], int]:
    """A reader of whole numbers from `least` to `most`; anything else is refused in a sentence."""

    def read(text: str | int) -> int:
        try:
            number = int(text)
        except ValueError:  # also of thousands of digits
            number = None
        if number is None or not least <= number <= most:
            raise typer.BadParameter(f"expected a whole number from {least} to {most:,}, got {text!r}")
        return number

    return read


def unset(
    metavar: str, words: str, *names: str, parser: Callable[[str], Any] | Callable[[str | int], int] | None = None
) -> Any:
    """An option that may be left out, so that its help shows no default."""
    return typer.Option(*names, parser=parser, metavar=metavar, help=words, show_default=False)


CityFolder = Annotated[
    Path, typer.Argument(parser=named_path, metavar="CITY", help="A city folder.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Node = Annotated[str, unset("NODE", "The node of the incident.", "--at")]
Tolerance = Annotated[
    float, typer.Option(metavar="X", help="How close the proven bounds of `optimal` must come, relatively.")
]
Horizon = Annotated[
    float | None, unset("X", "The horizon T of one-step-queueing in busy times; from the load if left out.")
]
Threads = Annotated[
    int | None, unset("N", "Threads to use; one for each processor if left out.", parser=whole_number(1, 10_000))
]
Seed = Annotated[int, typer.Option(parser=whole_number(0, 2**63 - 1), metavar="N", help="Seed of everything random.")]


def solve_options(tolerance: float, horizon_busy_times: float | None, threads: int | None) -> "SolveOptions":
    """The options of a solve, checked."""
    from runcard.policy.solve_options import SolveOptions

    return SolveOptions(tolerance=tolerance, horizon_busy_times=horizon_busy_times, threads=threads)


def words_of(text: str) -> list[str]:
    """The words between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def some_words(text: str, option: str) -> list[str]:
    """The words between commas, of which there has to be one."""
    words = words_of(text)
    if not words:
        raise typer.BadParameter("expected names with commas between, got none", param_hint=f"'{option}'")
    return words


def numbers_of(text: str, option: str) -> list[float]:
    """The numbers between commas."""
    try:
        return [float(word) for word in words_of(text)]
    except ValueError as error:
        raise typer.BadParameter(
            f"expected numbers with commas between, got {text!r}", param_hint=f"'{option}'"
        ) from error
