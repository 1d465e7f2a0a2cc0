"""Runs an example, and compares what its README says that it prints with what it prints: numbers within rounding."""

import re
import resource
import subprocess
import sys
from pathlib import Path

NUMBER = re.compile(r"-?[0-9][0-9,]*(?:\.[0-9]+)?$")


def run_example(program: Path, *words: str) -> tuple[str, float]:
    """What a program prints, and the seconds of processors that it took: others may keep them busy, too."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, str(program), *words], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def said_lines(readme: Path) -> list[str]:
    """The lines of the blocks of plain text of a README."""
    blocks = re.findall(r"^```text\n(.*?)^```", readme.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def same_line(said: str, printed: str) -> bool:
    """Whether a line is printed as it is said: numbers may be off by a percent, or by one in their last digit."""
    words, found = said.split(), printed.split()
    return len(words) == len(found) and all(_same_word(*pair) for pair in zip(words, found, strict=True))


def _same_word(said: str, printed: str) -> bool:
    if not (NUMBER.match(said) and NUMBER.match(printed)):
        return said == printed
    value, other = (float(word.replace(",", "")) for word in (said, printed))
    digit = 10.0 ** -len(said.partition(".")[2])
    return abs(value - other) <= max(0.01 * abs(value), digit) * (1.0 + 1e-9)


def missing_lines(readme: Path, output: str) -> list[str]:
    """The lines of a README that are not among those of an output."""
    printed = output.splitlines()
    return [said for said in said_lines(readme) if not any(same_line(said, line) for line in printed)]
