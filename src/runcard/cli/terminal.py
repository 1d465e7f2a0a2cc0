"""The terminal: where results and progress are printed, and how."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console


def make_console(*, stderr: bool = False) -> Console:
    """A console that prints words as they are: a name such as [red] or :fire: comes from a file and is no markup."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=False)


def print_json(document: Mapping[str, Any]) -> None:
    """Print a document as JSON that every reader accepts: plain letters, and no NaN."""
    print(json.dumps(document, indent=2, allow_nan=False))


@contextmanager
def status(words: str) -> Iterator[None]:
    """Show words with a turning sign while something happens, if a person is looking."""
    console = make_console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(words):
        yield
