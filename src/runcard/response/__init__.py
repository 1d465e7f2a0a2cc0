"""How late each team would be: routes, driving times, lateness.

    city ── travel_of ──▶ Travel: routes, laws, turnout, outside ──┐
      └──── needs_of ───▶ Needs: trucks, arrivals, targets ────────┴── response_table ──▶ ResponseTable
                                                                       P(late) and minutes, team × demand point

The names load on first use, because the kernels behind them need numba, which takes a while to import.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runcard.response.routes import Routes, find_routes, route_of, routes_to
    from runcard.response.table import ResponseTable, response_table
    from runcard.response.teams import Teams

__all__ = ["ResponseTable", "Routes", "Teams", "find_routes", "response_table", "route_of", "routes_to"]

_MODULES = {
    "ResponseTable": "table",
    "Routes": "routes",
    "Teams": "teams",
    "find_routes": "routes",
    "response_table": "table",
    "route_of": "routes",
    "routes_to": "routes",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
