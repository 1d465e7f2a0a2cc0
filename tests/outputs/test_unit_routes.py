"""The roads of units, as they are drawn."""

from dataclasses import replace

from runcard.city import Driving, generate_grid
from runcard.outputs.unit_routes import UnitRoutes


def test_every_second_unit_of_a_station_takes_the_second_road() -> None:
    """Of three the second alone, as in a simulation; each road leads to the incident, and its minutes add up."""
    city = generate_grid(side=4, num_stations=2, load=0.1, seed=1, sparseness=1.0, trucks_per_station=3)
    city = replace(city, driving=Driving(second_route="disjoint"))
    point = next(n for n, demand in enumerate(city.demand) if demand.node_id != city.stations[0].node_id)
    routes = UnitRoutes(city, [point])
    first, second, third = routes.links(0, [0, 0, 0])
    assert first == third
    assert set(first).isdisjoint(second)
    for links in (first, second):
        nodes = routes.nodes(0, links)
        assert (nodes[0], nodes[-1]) == (city.stations[0].node_id, city.demand[point].node_id)
        assert len(nodes) == len(links) + 1
        assert routes.drive_minutes(links) == sum(city.links[number].mean_minutes for number in links)
    assert routes.drive_minutes(first) <= routes.drive_minutes(second)
