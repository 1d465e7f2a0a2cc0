"""How long the report of a large department takes, and how large its page is."""

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.cases import Row
from benchmarks.raw_files import build_san_francisco, run_python, write_department
from runcard.city import read_city, write_city

LIMIT_SECONDS: Final = 120.0
LIMIT_BYTES: Final = 5_000_000


def report_cases(*, quick: bool = False, data: Path | None = None) -> Iterator[Row]:
    """The report of San Francisco where its raw files are, else of a made-up department of its size."""
    if quick:
        return
    with TemporaryDirectory() as name:
        folder = Path(name)
        if data is None:
            words, city = "a made-up San Francisco", write_city(write_department(folder, 100), folder / "city")
        else:
            words, city = "San Francisco", build_san_francisco(data, folder)
        page = folder / "report.html"
        began = time.perf_counter()
        run_python("-m", "runcard", "report", str(city), "-o", str(page))
        seconds, size = time.perf_counter() - began, page.stat().st_size
        text = page.read_text(encoding="utf-8")
        assert "44 engines" in text
        assert all(unit.unit_id in text for unit in read_city(city).units)
    yield Row(f"report of {words}", f"{seconds:.0f} s", f"< {LIMIT_SECONDS:.0f} s", seconds < LIMIT_SECONDS)
    yield Row("  its page", f"{size / 1e6:.2f} MB", f"< {LIMIT_BYTES / 1e6:.0f} MB", size < LIMIT_BYTES)
