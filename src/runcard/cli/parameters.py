"""Arguments and options that several commands have, and lists of words and numbers."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer


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
Node = Annotated[str, option("NODE", "The node of the incident.", "--at")]
Tolerance = Annotated[float, option("X", "How close the proven bounds of `optimal` must come, relatively.")]
Horizon = Annotated[
    float | None, option("X", "The horizon T of one-step-queueing in busy times; from the load if left out.")
]
Threads = Annotated[
    int | None, whole_option("Threads to use; one for each processor if left out.", least=1, most=10_000)
]
Seed = Annotated[int, whole_option("Seed of everything random.", most=2**63 - 1)]


def words_of(text: str) -> list[str]:
    """The words between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def some_words(text: str, name: str) -> list[str]:
    """The words between commas, at least one; `name` is that of the option."""
    words = words_of(text)
    if not words:
        raise typer.BadParameter("expected names with commas between, got none", param_hint=f"'{name}'")
    return words
