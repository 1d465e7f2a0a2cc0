"""The page of a fit: one HTML file that needs neither a network nor a script. If the fit is bad, it says so first."""

from math import isfinite

from runcard.calibrate.backtest import Backtest
from runcard.calibrate.fit import Fit
from runcard.calibrate.goodness import Goodness
from runcard.calibrate.pictures import CAPTIONS, pictures
from runcard.page import page_of


def fit_page(fit: Fit, goodness: Goodness, backtest: Backtest | None = None) -> str:
    """The text of the page."""
    return page_of(
        "fit.html",
        fit=fit,
        goodness=goodness,
        backtest=backtest,
        pictures=pictures(goodness),
        captions=CAPTIONS,
        number=number_text,
        rejected=list(fit.log.rejected.counts.items()),
        guessed=[home for home in fit.homes if home.known_by == "drives"],
    )


def number_text(value: float) -> str:
    """A number with about three digits that count; unknown for the end of an interval that has none."""
    if not isfinite(value):
        return "unknown"
    if value == round(value) and abs(value) < 1e6:
        return f"{value:.0f}"
    return f"{value:.3f}" if abs(value) < 1.0 else f"{value:.2f}" if abs(value) < 100.0 else f"{value:.1f}"
