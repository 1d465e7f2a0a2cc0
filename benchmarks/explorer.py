"""How quick the explorer of 400 areas is in a real browser: first drawing, and reaction to a press on a unit."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from benchmarks.cases import Row
from benchmarks.department import department_city
from benchmarks.service_server import served
from runcard.plan.file import save
from runcard.plan.plan import solve

if TYPE_CHECKING:
    from playwright.sync_api import Page

FIRST_MS: Final = 1000.0
CLICK_MS: Final = 200.0
AREAS: Final = 400
CLICKS: Final = """async () => {
    const times = [];
    for (const button of document.querySelectorAll("#units .unit")) {
        const before = document.documentElement.dataset.drawn, started = performance.now();
        button.click();
        while (document.documentElement.dataset.drawn === before) await new Promise(requestAnimationFrame);
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        times.push(performance.now() - started);
    }
    return times;
}"""


def explorer_cases(*, quick: bool = False, tries: int = 5) -> Iterator[Row]:
    """Both figures of a department of 13 engines and 7 ladders, from a server in a process of its own."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return
    from playwright.sync_api import sync_playwright

    firsts, clicks = list[float](), list[float]()
    with TemporaryDirectory() as name:
        policy = save(solve(department_city()), Path(name) / "city.policy")
        with served(Path(name), policy, "--audit", Path(name) / "audit.sqlite") as server, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for _ in range(2 if quick else tries):
                page = browser.new_page()
                page.goto(f"http://127.0.0.1:{server.port}/")
                page.wait_for_selector("html[data-ready]")
                assert page.locator(".rc-area").count() == AREAS
                firsts.append(first_time(page))
                clicks += click_times(page)
                page.close()
            browser.close()
    for what, times, limit_ms in (("first drawing", firsts, FIRST_MS), ("reaction to a press", clicks, CLICK_MS)):
        yield Row(
            f"explorer: {what}, {AREAS} areas",
            f"{median(times):.0f} ms (worst {max(times):.0f})",
            f"< {limit_ms:g} ms",
            median(times) < limit_ms,
        )


def first_time(page: "Page") -> float:
    """Milliseconds from asking for the page until the map was drawn."""
    return float(page.evaluate("performance.getEntriesByName('drawn')[0].startTime"))


def click_times(page: "Page") -> list[float]:
    """Milliseconds from a press on each unit until the new map was on the screen."""
    return list(page.evaluate(CLICKS))
