"""The comparison of a README with an output notices what differs."""

from pathlib import Path

import pytest
from tests.examples.readme import missing_lines, same_line


@pytest.mark.parametrize(
    ("said", "printed", "same"),
    [
        ("rate.fire 18.61 15.75", "rate.fire   18.61  15.75", True),
        ("rate.fire 18.61", "rate.fire 18.70", True),
        ("rate.fire 18.61", "rate.fire 19.61", False),
        ("shared_delay 0.082", "shared_delay 0.083", True),
        ("shared_delay 0.082", "shared_delay 0.085", False),
        ("12,194 nodes", "12,194 nodes", True),
        ("12,194 nodes", "12,194 links", False),
        ("one", "one two", False),
    ],
)
def test_numbers_are_compared_within_rounding(said: str, printed: str, same: bool) -> None:
    """A percent, or one in the last digit, is rounding; other words, and more of them, are not."""
    assert same_line(said, printed) is same


def test_every_line_of_a_block_is_looked_for(tmp_path: Path) -> None:
    """Lines outside of blocks of text are prose."""
    readme = tmp_path / "README.md"
    readme.write_text("prose 1\n\n```text\na 1\n\nb 2\n```\n\n```console\n$ c 3\n```\n")
    assert missing_lines(readme, "x\na  1\n") == ["b 2"]
