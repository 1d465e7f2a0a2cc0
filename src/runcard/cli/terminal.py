"""The terminal: where results and progress are printed, and how.

Names, ids and messages come from files, and files from anywhere. So nothing of them is markup, and a control character
in them is shown, as \\x1b, and not sent: it could move the cursor, change the title or hide what was printed before.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from runcard.table import visible, visible_lines


class PlainConsole(Console):
    """A console that shows control characters. A string is one line; a Text may have several."""

    def render_str(self, text: str, **options: Any) -> Text:
        """The string as one line."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is printed of anything, lines and styles as they are."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible_lines(segment.text), segment.style)


def make_console(*, stderr: bool = False) -> Console:
    """A console for results, or for standard error."""
    return PlainConsole(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=False)


def print_care(of: Path | Sequence[str], most: int = 1) -> None:
    """Print that a city, given as its folder or as its faults, is badly fitted to its log, and the first faults."""
    from runcard.outputs.fit_file import care_line, fit_faults, read_fit

    if line := care_line(fit_faults(read_fit(of)) if isinstance(of, Path) else of, most):
        make_console().print(line, soft_wrap=True)


def print_written(*paths: Path | None, more: str = "") -> None:
    """Print which files and folders were written, those that there are, and of files how large they are."""
    from runcard.output_file import size_in_words

    for path in filter(None, paths):
        size = f" ({size_in_words(path)})" if path.is_file() else ""
        make_console().print(f"Wrote {path}{size}{more}", soft_wrap=True)


def print_json(document: Mapping[str, Any]) -> None:
    """Print a document as JSON that every reader accepts: plain letters, and no NaN."""
    print(json.dumps(document, indent=2, allow_nan=False).replace("\x7f", "\\u007f"))
