"""Arguments and options that several commands have, and lists of words and numbers."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from runcard.city.model import City

Place = str | tuple[float, float]
"""A node, or coordinates; see `city/address.py`, which commands import lazily."""


def named_path(text: str | Path) -> Path:
    """The path that is meant; an empty one is a mistake, such as a variable that is not set, and not this folder."""
    if text == "":
        raise typer.BadParameter("expected a name, got an empty one")
    return Path(text)


def option(metavar: str, words: str, *names: str, parser: Callable[[Any], Any] | None = None) -> Any:
    """An option with a value, which its help calls `metavar`."""
    return typer.Option(*names, parser=parser, metavar=metavar, help=words)


def path_option(metavar: str, words: str, *names: str) -> Any:
    """An option with a path."""
    return option(metavar, words, *names, parser=named_path)


def path_argument(metavar: str, words: str) -> Any:
    """An argument that is a path."""
    return typer.Argument(parser=named_path, metavar=metavar, help=words)


def whole_option(words: str, *names: str, least: int = 0, most: int = 10**18) -> Any:
    """An option with a whole number from `least` to `most`; anything else is refused in a sentence."""

    def read(text: str | int) -> int:
        with suppress(ValueError):  # also of thousands of digits
            if least <= (number := int(text)) <= most:
                return number
        raise typer.BadParameter(f"expected a whole number from {least} to {most:,}, got {text!r}")

    return option("N", words, *names, parser=read)


CityFolder = Annotated[Path, path_argument("CITY", "A city folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Node = Annotated[str | None, option("NODE", "The node of the incident.", "--at")]
Coordinates = Annotated[
    str | None,
    option("X,Y", "Its coordinates instead, as the city has them (longitude,latitude): the nearest node.", "--at-xy"),
]
Tolerance = Annotated[float, option("X", "How close the bounds of `optimal` must come, relatively.")]
Horizon = Annotated[
    float | None, option("X", "The horizon T of one-step-queueing in busy times; from the load if left out.")
]
Threads = Annotated[
    int | None, whole_option("Threads to use; one for each processor if left out.", least=1, most=10_000)
]
Device = Annotated[
    str,
    option("NAME", "Where every state is solved: cpu, gpu, or auto for a GPU where there is one and it is worth it."),
]
Seed = Annotated[int, whole_option("Seed of everything random.", most=2**63 - 1)]


Kind = Annotated[str | None, option("KIND", "Only this kind of units.")]
KindOrAll = Annotated[str | None, option("KIND", "Only this kind of units; all kinds, and their sum, if left out.")]
OfWeek = Annotated[
    str | None, option("PERIOD", "The period of the week, where the city has periods; if left out, the mean rates.")
]
Page = Annotated[Path | None, path_option("FILE", "Write a page with the map: .html.", "--output", "-o")]
ToSimulate = Annotated[
    int | None, whole_option("Simulate so many incidents, also where it could be calculated.", least=1000, most=10**8)
]


def read_kind(folder: Path, kind: str | None) -> "City":
    """The city in a folder, or as one of its kinds of units sees it."""
    from runcard.city.files import read_city

    city = read_city(folder)
    return city if kind is None else city.of_kind(kind)


def place_of(at: str | None, at_xy: str | None) -> Place:
    """Where the incident is: a node, or coordinates."""
    if (at is None) == (at_xy is None):
        got = "neither" if at is None else "both"
        raise typer.BadParameter(f"expected --at or --at-xy, got {got}", param_hint="'--at'")
    return parse_coordinates(at_xy, "--at-xy") if at_xy is not None else str(at)


def parse_coordinates(text: str, name: str) -> tuple[float, float]:
    """Two numbers with a comma between; `name` is that of the option."""
    with suppress(ValueError):
        x, y = (float(word) for word in text.split(","))
        return x, y
    raise typer.BadParameter(
        f"expected two numbers with a comma between, x first, got {text!r}", param_hint=f"'{name}'"
    )


def moved_of(texts: Sequence[str]) -> dict[str, Place]:
    """Where units are that are not at home, from UNIT=NODE or UNIT=@X,Y."""
    found: dict[str, Place] = {}
    for text in texts:
        unit_id, sign, place = (word.strip() for word in text.partition("="))
        if not (unit_id and sign and place):
            raise typer.BadParameter(f"expected UNIT=NODE or UNIT=@X,Y, got {text!r}", param_hint="'--from'")
        if unit_id in found:
            raise typer.BadParameter(f"expected each unit once, got {unit_id} again", param_hint="'--from'")
        found[unit_id] = parse_coordinates(place[1:], "--from") if place.startswith("@") else place
    return found


def check_page(output: Path | None) -> None:
    """Raise if a page could not be written, or its name does not say that it is one: nothing is replaced by mistake."""
    from runcard.output_file import check_output_file

    if output is None:
        return
    if output.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"expected a name that ends in .html, got {output.name!r}", param_hint="'-o'")
    check_output_file(output)


Backend = Annotated[str, option("NAME", "Where tasks run: threads (this machine) or dask (the workers of a cluster).")]
Address = Annotated[str | None, option("ADDRESS", "The Dask scheduler, such as tcp://10.0.0.1:8786.")]


def words_of(text: str) -> list[str]:
    """The words between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def some_words(text: str, name: str) -> list[str]:
    """The words between commas, at least one; `name` is that of the option."""
    words = words_of(text)
    if not words:
        raise typer.BadParameter("expected names with commas between, got none", param_hint=f"'{name}'")
    return words
