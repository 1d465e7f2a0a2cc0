"""Drift as a page that stands on its own: a verdict, a picture and a table for each standard."""

from datetime import datetime

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from runcard import __version__
from runcard.service.audit.drift import ADVICE, Drift
from runcard.service.audit.drift_chart import charts_of


def drift_page(drift: Drift, *, title: str = "Audit log", made: datetime | None = None) -> str:
    """The page as HTML."""
    environment = Environment(
        loader=PackageLoader("runcard.service.audit", ""), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    charts = [(words, Markup(chart), rows) for words, chart, rows in charts_of(drift)]  # which escapes its texts
    return environment.get_template("drift.html").render(
        drift=drift, charts=charts, title=title, advice=ADVICE, luck=luck, version=__version__,
        made="" if made is None else f"{made:%Y-%m-%d %H:%M %Z}",
    )  # fmt: skip


def luck(p_value: float) -> str:
    """How likely so large a difference is if the model is right, in a cell."""
    if p_value < 1e-6:
        return "under 1 in a million"
    return f"{p_value:.0%}" if p_value >= 0.05 else f"1 in {float(f'{1.0 / p_value:.2g}'):,.0f}"
