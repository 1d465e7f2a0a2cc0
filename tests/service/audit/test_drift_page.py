"""The page about drift, in a browser."""

from pathlib import Path

import numpy as np
from tests.browser import OpenPage
from tests.service.audit.test_drift import decisions_of

from runcard.service.audit.drift import find_drift
from runcard.service.audit.drift_page import drift_page


def test_the_page_stands_on_its_own(tmp_path: Path, open_page: OpenPage) -> None:
    """No request, no error; the verdict first, and everything in the pictures inside their frames."""
    rng = np.random.default_rng(8)
    log = [one for month in range(14) for one in decisions_of(rng, month, 60, shift=0.45 * (month in (5, 13)))]
    path = tmp_path / "drift.html"
    path.write_text(drift_page(find_drift(log), title="Town"), encoding="utf-8")
    opened = open_page(path)
    opened.check()
    assert opened.page.inner_text(".verdict .head").startswith("The model drifts")
    outside = """() => [...document.querySelectorAll('svg.drift :not(title)')].filter(one => {
        const frame = one.closest('svg').getBoundingClientRect(), box = one.getBoundingClientRect();
        return box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1
            || box.bottom > frame.bottom + 1;
    }).map(one => one.outerHTML)"""
    assert opened.page.evaluate(outside) == []


def test_a_page_about_nothing_says_so(tmp_path: Path, open_page: OpenPage) -> None:
    """An empty log is a sentence, and no picture."""
    path = tmp_path / "drift.html"
    path.write_text(drift_page(find_drift([])), encoding="utf-8")
    opened = open_page(path)
    opened.check()
    assert "nothing to compare yet" in opened.page.inner_text("body")
    assert opened.page.locator("svg.drift").count() == 0
