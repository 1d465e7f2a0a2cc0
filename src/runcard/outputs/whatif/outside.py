"""Trucks from outside, which come as far after changes as before.

Where a city does not say, their route has twice as many links as the longest one, of the mean of all. A far new station
would make it longer, and so outside help slower: one more unit could do harm. So a changed city has the route that the
city had before.
"""

from dataclasses import replace

from runcard.city.model import City, Outside
from runcard.response.routes import find_routes
from runcard.response.travel import outside_route


def same_outside(before: City, after: City) -> City:
    """The changed city of one kind, with the route from outside that it had before."""
    return replace(after, outside=Outside(*outside_route(before, find_routes(before))))


def city_to_write(before: City, after: City) -> City:
    """The changed city with the route from outside that it had before, so far as a folder can say it.

    Kinds have routes of their own if their stations differ. Then only the minutes of a link, the same for all, stay.
    """
    routes = [outside_route(one, find_routes(one)) for one in map(before.of_kind, before.kinds)]
    links = {route[0] for route in routes}
    return replace(after, outside=Outside(links.pop() if len(links) == 1 else None, routes[0][1]))
