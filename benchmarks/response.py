"""P(late) and minutes of all teams of 20 stations at 400 demand points on 5,100 links, against the targets."""

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from tests.response.oracles import draw, late_of_one_station

from benchmarks.cases import Row
from benchmarks.heuristics import peak_gib
from runcard.city.grid import grid_edges
from runcard.city.model import City, DemandPoint, Driving, Link, Node, Station
from runcard.response.laws import branches
from runcard.response.routes import routes_to
from runcard.response.table import response_table

SIDE, NUM_STATIONS, NUM_POINTS = 51, 20, 400
LAWS = (
    Driving(),
    Driving("gamma", cv=0.5),
    Driving("lognormal", cv=1.0),
    Driving("hyperexponential", cv=1.5),
    Driving("pareto", tail_index=2.5),
    Driving(fixed_part=0.5),
)


def road_city(driving: Driving, *, one_mean: bool) -> City:
    """A grid of roads with random means, or all of one, and stations and demand points at random nodes."""
    rng, num_nodes, edges = np.random.default_rng(0), SIDE * SIDE, grid_edges(SIDE)
    means = np.ones(len(edges)) if one_mean else rng.lognormal(-0.5, 0.5, len(edges))
    places = rng.permutation(num_nodes)
    return City(
        name="roads", busy_minutes=60.0, target_minutes=12.0, driving=driving,
        nodes=tuple(Node(f"n{k}", float(k % SIDE), float(k // SIDE)) for k in range(num_nodes)),
        links=tuple(
            Link(f"e{k}", f"n{a}", f"n{b}", False, float(mean))
            for k, ((a, b), mean) in enumerate(zip(edges, means, strict=True))
        ),
        stations=tuple(
            Station(f"s{k}", f"n{places[k]}", 1 if driving.second_route == "same" else 2) for k in range(NUM_STATIONS)
        ),
        demand=tuple(DemandPoint(f"n{places[NUM_STATIONS + k]}", 1.0) for k in range(NUM_POINTS)),
    )  # fmt: skip


def fork_city(driving: Driving) -> City:
    """Two stations whose roads of unequal links meet, and a road of three links on from there."""
    means = {"a1": 0.9, "a2": 0.6, "b1": 0.5, "b2": 1.3, "c1": 0.4, "c2": 1.2, "c3": 0.8}
    ends = {"a1": "01", "a2": "14", "b1": "23", "b2": "34", "c1": "45", "c2": "56", "c3": "67"}
    return City(
        name="fork", busy_minutes=60.0, target_minutes=4.5, driving=driving,
        nodes=tuple(Node(f"n{k}", float(k), 0.0) for k in range(8)),
        links=tuple(Link(one, f"n{ends[one][0]}", f"n{ends[one][1]}", False, mean) for one, mean in means.items()),
        stations=(Station("a", "n0", 1), Station("b", "n2", 1)),
        demand=(DemandPoint("n7", 1.0),),
    )  # fmt: skip


def drawn_late(city: City, num_draws: int) -> float:
    """P(late) of two trucks of the fork, by drawing every link."""
    rng, late, chunk = np.random.default_rng(1), 0, 1_000_000
    mean = {link.link_id: link.mean_minutes for link in city.links}
    for _ in range(num_draws // chunk):
        times = [
            sum(draw(city.driving, mean[one], rng, chunk) for one in route) for route in (("a1", "a2"), ("b1", "b2"))
        ]
        for link in ("c1", "c2", "c3"):
            one, other = (draw(city.driving, mean[link], rng, chunk) for _ in range(2))
            together = rng.random(chunk) < city.shared_delay
            times = [times[0] + one, times[1] + np.where(together, one, other)]
        arrivals = np.sort(times, axis=0)[city.arrivals_per_incident - 1]
        late += int((arrivals > city.target_minutes).sum())
    return late / num_draws


def drawn_cases(num_draws: int = 10_000_000) -> Iterator[Row]:
    """P(late) of two trucks that share a road, beside ten million draws."""
    for driving in LAWS:
        for shared_delay, arrivals in ((1.0, 1), (0.5, 1), (1.0, 2)):
            city = replace(fork_city(driving), shared_delay=shared_delay, arrivals_per_incident=arrivals)
            found, drawn = float(response_table(city, minutes=False).p_late[3, 0]), drawn_late(city, num_draws)
            within = 3.29 * np.sqrt(drawn * (1.0 - drawn) / num_draws)
            which = "first" if arrivals == 1 else "second"
            name = f"P(late) of the {which} of two trucks, {law_words(driving)}, shared_delay {shared_delay:g}"
            measured = f"{found:.6f}, and {drawn:.6f} of {num_draws:,} draws"
            yield Row(name, measured, f"within {within:.1e}", bool(abs(found - drawn) <= within))


def delta_city(driving: Driving, *, short: bool) -> City:
    """Four stations whose roads of unequal links meet two by two and further on; short, with few ways to meet them."""
    trunk = 2 if short else 9
    ends = [("t", "u", 0.7), ("s0", "t", 0.8), ("s1", "t", 1.1), ("s2", "v", 0.6), ("s3", "v", 0.9), ("v", "u", 0.5)]
    ends += [
        (f"{'u' if k == 0 else f'w{k}'}", f"w{k + 1}", (0.5 + 0.1 * k) / (1.0 if short else 4.0)) for k in range(trunk)
    ]
    nodes = sorted({node for one in ends for node in one[:2]})
    return City(
        name="delta", busy_minutes=60.0, target_minutes=3.5, driving=driving,
        nodes=tuple(Node(node, float(place), 0.0) for place, node in enumerate(nodes)),
        links=tuple(Link(f"{a}-{b}", a, b, False, mean) for a, b, mean in ends),
        stations=tuple(Station(f"s{k}", f"s{k}", 2) for k in range(4)), demand=(DemandPoint(f"w{trunk}", 1.0),),
    )  # fmt: skip


def drawn_team(city: City, team: tuple[int, ...], num_draws: int) -> NDArray[np.float64]:
    """[arrival] P(late) of every arrival of a team of stations, by drawing every link."""
    rng, late, chunk = np.random.default_rng(2), np.zeros(len(team)), 1_000_000
    mean, routes = {link.link_id: link.mean_minutes for link in city.links}, routes_to(city, 0)
    chance, laws = city.shared_delay, city.driving
    if laws.coupled_branch is not None:
        kinds = branches(laws.cv or 0.0)
        (chance, together_mean), (_, apart_mean) = kinds if laws.coupled_branch == "short" else kinds[::-1]
    for _ in range(num_draws // chunk):
        times = np.zeros((len(team), chunk))
        for link in sorted(set().union(*(routes[station] for station in team))):
            on_it = [place for place, station in enumerate(team) if link in routes[station]]
            met = rng.random(chunk) < chance
            if laws.coupled_branch is not None and len(on_it) > 1:
                own = [
                    mean[link] * np.where(met, together_mean, apart_mean) * rng.exponential(size=chunk) for _ in on_it
                ]
            else:
                own = [draw(laws, mean[link], rng, chunk) for _ in on_it]
            for place, time_of_own in zip(on_it, own, strict=True):
                times[place] += np.where(met, own[0], time_of_own)
        late += (np.sort(times, axis=0) > city.target_minutes).sum(axis=1)
    return late / num_draws


def drawn_teams(num_draws: int = 10_000_000) -> Iterator[Row]:
    """P(late) of every arrival of three and four trucks that share roads, beside ten million draws."""
    for driving, short in ((LAWS[2], True), (LAWS[4], True), (LAWS[5], True), (LAWS[2], False), (LAWS[4], False),
                           (Driving("hyperexponential", cv=1.5, coupled_branch="long"), True)):  # fmt: skip
        for team in ((0, 0, 2), (0, 1, 2, 3)):
            chance = 1.0 if driving.coupled_branch else 0.5
            city = replace(delta_city(driving, short=short), shared_delay=chance, trucks_per_incident=len(team))
            drawn, inside, worst = drawn_team(city, team, num_draws), 0, 0.0
            for place in range(len(team)):
                table = response_table(replace(city, arrivals_per_incident=place + 1), minutes=False)
                found = float(table.p_late[table.teams.number(team), 0])
                off = max(0.0, abs(found - drawn[place]) - table.late_error)
                errors = off / np.sqrt(drawn[place] * (1.0 - drawn[place]) / num_draws)
                inside, worst = inside + int(errors <= 3.29), max(worst, float(errors))
            name = f"P(late) of each of {len(team)} trucks, {law_words(driving)}, {'few' if short else 'many'} ways"
            measured = f"{inside} of {len(team)} within, at most {worst:.1f} standard errors of {num_draws:,} draws"
            yield Row(name, f"{measured} beyond the stated {table.late_error:.0e}", "within 3.29", inside == len(team))


def one_station(links: int, cv: float, trucks: int, target_minutes: float, shared_delay: float) -> City:
    """A station, and a road of links of mean 1 from there to a demand point that needs all its trucks."""
    return City(
        name="road", busy_minutes=60.0, target_minutes=target_minutes, driving=Driving("gamma", cv=cv),
        trucks_per_incident=trucks, shared_delay=shared_delay,
        nodes=tuple(Node(f"n{k}", float(k), 0.0) for k in range(links + 1)),
        links=tuple(Link(f"e{k}", f"n{k}", f"n{k + 1}", False, 1.0) for k in range(links)),
        stations=(Station("s", "n0", trucks),), demand=(DemandPoint(f"n{links}", 1.0),),
    )  # fmt: skip


def closed_forms() -> Iterator[Row]:
    """P(late) of every arrival of trucks that share a road, beside a mixture of gamma times."""
    for trucks in (2, 3, 4):
        worst, num = 0.0, 0
        for cv in (1.0, 0.5, 0.3):
            for links, target in ((1, 1.0), (2, 3.0), (5, 5.0), (12, 10.0), (12, 16.0), (30, 27.0), (60, 70.0)):
                for shared_delay in (0.05, 0.2, 0.5, 0.8, 0.95):
                    city = one_station(links, cv, trucks, target, shared_delay)
                    for arrivals in range(1, trucks + 1):
                        table = response_table(replace(city, arrivals_per_incident=arrivals), minutes=False)
                        expected = late_of_one_station(links, shared_delay, target, trucks, arrivals, cv**-2)
                        worst, num = max(worst, abs(float(table.p_late[-1, 0]) - expected)), num + 1
        name = f"error of P(late) of {trucks} trucks on a shared road of 1 to 60 links, shared_delay 0.05 to 0.95"
        limit = 1e-6 if trucks == 2 else 1e-4
        yield Row(name, f"{worst:.1e}, the worst of {num}", f"<= {limit:g}", worst <= limit)


def law_words(driving: Driving) -> str:
    """A law in words."""
    number = "" if driving.cv is None else f" of cv {driving.cv:g}"
    number += "" if driving.scale_minutes is None else f" of scale {driving.scale_minutes:g}"
    fixed = f", {driving.fixed_part:g} fixed" if driving.fixed_part else ""
    coupled = "" if driving.coupled_branch is None else f", {driving.coupled_branch} branch coupled"
    second = "" if driving.second_route == "same" else ", second routes"
    return driving.model + number + fixed + coupled + second


def response_cases(*, quick: bool) -> Iterator[Row]:
    """The paper's driving times in closed form, and others on the lattice; `quick` takes one law."""
    laws = LAWS[:1] if quick else LAWS
    cases = [(Driving(), True, 1.0, 0.1)]
    cases += [(law, False, shared_delay, 10.0) for law in laws for shared_delay in (1.0, 0.5)]
    if not quick:
        cases += [(Driving("hyperexponential", cv=1.5, coupled_branch="long"), False, 1.0, 10.0)]
        cases += [(Driving("gamma", cv=0.5, second_route="disjoint"), False, 1.0, 10.0)]
        cases += [(Driving("gamma", scale_minutes=0.5), False, shared_delay, 10.0) for shared_delay in (1.0, 0.5)]
    for driving, one_mean, shared_delay, limit in cases:
        city = replace(road_city(driving, one_mean=one_mean), shared_delay=shared_delay)
        name = f"P(late) of all pairs, 20 x 400, {len(city.links)} links, {law_words(driving)}"
        name += f", {'equal' if one_mean else 'different'} means, shared_delay {shared_delay:g}"
        yield timed(city, name, limit)
    for shared_delay in (1.0, 0.5):
        gib = peak_gib(f"c.all_pairs({shared_delay})", "response")
        name = f"memory of all pairs, 20 x 400, gamma of cv 0.5, different means, shared_delay {shared_delay:g}"
        yield Row(name, f"{gib:.2f} GiB", "< 2 GiB", gib < 2.0)
    if not quick:
        for one_mean, trucks, shared_delay in (
            (True, 2, 0.5), (False, 3, 1.0), (False, 3, 0.5), (True, 3, 0.5), (False, 4, 0.5), (True, 4, 0.5)
        ):  # fmt: skip
            city = road_city(Driving("gamma", cv=0.5), one_mean=one_mean)
            city = replace(city, trucks_per_incident=trucks, shared_delay=shared_delay)
            name = (
                f"P(late) of all teams of {trucks}, 20 x 400, gamma of cv 0.5, {'equal' if one_mean else 'different'}"
            )
            limit = {2: 10.0, 3: 40.0}.get(trucks)
            yield timed(city, f"{name} means, shared_delay {shared_delay:g}", limit)
        for law, shared_delay in ((LAWS[2], 1.0), (LAWS[2], 0.5)):
            yield minutes_ratio(replace(road_city(law, one_mean=False), shared_delay=shared_delay))
        yield from closed_forms()
        yield from drawn_cases()
        yield from drawn_teams()


def all_pairs(shared_delay: float) -> None:
    """P(late) of all pairs of the roads, for a process that is watched."""
    city = replace(road_city(Driving("gamma", cv=0.5), one_mean=False), shared_delay=shared_delay)
    response_table(city, minutes=False)


def minutes_ratio(city: City) -> Row:
    """What mean minutes cost beside P(late)."""
    began = time.process_time()
    response_table(city, minutes=False)
    late = time.process_time()
    response_table(city)
    both, late = time.process_time() - late, late - began
    name = f"mean minutes of all pairs, 20 x 400, {law_words(city.driving)}, shared_delay {city.shared_delay:g}"
    measured = f"{both - late:.1f} CPU seconds beside {late:.1f} of P(late)"
    return Row(name, measured, "no more than P(late)", both <= 2.0 * late)


def timed(city: City, name: str, limit: float | None) -> Row:
    """How long P(late) of every team takes."""
    response_table(replace(city, demand=city.demand[:2]), minutes=False)  # loads the kernels
    began = time.perf_counter()
    table = response_table(city, minutes=False)
    seconds = time.perf_counter() - began
    found = table.p_late[np.isfinite(table.p_late)]
    assert ((found >= 0.0) & (found <= 1.0)).all()
    if limit is None:
        return Row(name, f"{seconds:.2f} s", "(none set)", True)
    return Row(name, f"{seconds:.2f} s", f"< {limit:g} s", seconds < limit)
