"""Where one more unit should stand, in words of the trade: the same on the terminal and on the page."""

from shlex import join

from runcard.city.model import LATE
from runcard.outputs.whatif.places import OneMore, Place
from runcard.outputs.whatif.words import a_year, rate_words, signed, whole, year_decimals
from runcard.plan.words import CHANCE_ONLY, article, certainty, counted, decimals_of, misses
from runcard.table import Cell, Row, Table

MOST_TIES = 5


def place_words(found: OneMore, place: Place) -> str:
    """A place with its name: station 3 (Oak Street), node n7, 2.5 min from station 3."""
    if place.station_id is not None:
        name = next(one.name for one in found.city.stations if one.station_id == place.station_id)
        return f"station {place.station_id}" + (f" ({name})" if name and name != place.station_id else "")
    name = next(one.name for one in found.city.nodes if one.node_id == place.node_id)
    near = f", {place.near_minutes:.1f} min from station {place.near_station}" if place.near_station else ""
    return f"node {place.node_id}" + (f" ({name})" if name and name != place.node_id else "") + near


def fewer_a_year(found: OneMore, place: Place) -> float:
    """How many standards a year fewer are missed with the unit at one of the best places."""
    assert place.misses is not None
    assert found.base.misses is not None
    return found.per_year(found.base.misses - place.misses)


def decimals_a_year(found: OneMore) -> int:
    """The decimals of the changes a year of the best places."""
    return year_decimals(*(fewer_a_year(found, place) for place in found.best))


def change_a_year(found: OneMore, place: Place) -> str:
    """The change in missed standards a year with the unit at one of the best places, with its sign."""
    return signed(-fewer_a_year(found, place), decimals_a_year(found))


def misses_per_100(found: OneMore, place: Place) -> str:
    """The misses per 100 incidents, with as many decimals for each place."""
    known = [one.misses for one in (found.base, *found.best) if one.misses]
    assert place.misses is not None
    return f"{100.0 * place.misses:.{decimals_of(min(known, default=0.0), significant=3)}f}"


def year_span(found: OneMore, place: Place) -> str:
    """Where the change a year lies, if missed standards are what is made smallest; empty if it shows no width."""
    if found.city.objective != LATE or place.change_lower is None or place.change_upper is None:
        return ""
    decimals = decimals_a_year(found)
    ends = [signed(found.per_year(end), decimals) for end in (place.change_lower, place.change_upper)]
    return "" if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def one_more_headline(found: OneMore) -> str:
    """The best place, in a sentence."""
    best, base, unit = found.places[0], found.base, found.kind
    assert best.misses is not None
    assert base.misses is not None
    decimals = decimals_a_year(found)
    before, after = (whole(found.per_year(one), decimals) for one in (base.misses, best.misses))
    fewer = whole(fewer_a_year(found, best), decimals)
    of_kind = f" of {unit}s" if len(found.city.kinds) > 1 else ""  # those of other kinds stay as they are
    return (
        f"One more {unit} does most at {place_words(found, best)}: {fewer} fewer {misses(found.city)}{of_kind} "
        f"{a_year(found.of_period)}, {after} instead of {before}. The first {unit} is there after "
        f"{best.mean_response_minutes:.2f} min instead of {base.mean_response_minutes:.2f}."
    )


def proof_words(found: OneMore) -> str:
    """How sure that is, in a few sentences."""
    counts, looked, unit = found.counts, _looked_at(found), found.kind
    were, solved = _were(len(found.places)), f"{counts['solved']:,} {_were(counts['solved'])}"
    if found.simulated:
        why = "it is simulated, as asked for" if found.asked_to_simulate else "there are too many states to calculate"
        words = (
            f"This is not proven: {why}. {looked} got a first guess, and the best {solved} simulated with the "
            f"same incidents as the department as it is; the closest {unit}s go in both. "
            f"{CHANCE_ONLY}"
        )
    elif found.sure:
        sure = certainty(found.proven)
        others = (
            f", and {article(sure)} {sure} bound rules the other {counts['ruled_out']:,} out of the best {found.top}"
        )
        words = (
            f"This is {sure}. {looked} {were} looked at, each with the best way to send {unit}s there is: "
            f"{solved} calculated to the end{others if counts['ruled_out'] else ''}."
        )
    else:
        left = f" {counts['guessed']:,} places only got a first guess." if counts["guessed"] else ""
        words = f"This is not proven to be the best. {looked} {were} looked at, {counts['solved']} calculated.{left}"
    return " ".join([words, *_notes(found)])


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _looked_at(found: OneMore) -> str:
    num_stations = sum(one.station_id is not None for one in found.places)
    stations = f"All {num_stations:,} stations" if num_stations > 1 else "The only station"
    if not found.anywhere:
        return stations
    others = len(found.places) - num_stations
    nodes = (
        f"{counted(others, 'node')} with incidents"
        if found.thinned
        else f"{counted(others, 'other node')} of the roads"
    )
    return f"{stations} and {nodes}"


def _notes(found: OneMore) -> list[str]:
    notes = []
    if found.ties:
        named = ", ".join(place_words(found, one) for one in found.ties[:MOST_TIES])
        more = f" and {len(found.ties) - MOST_TIES} more" if len(found.ties) > MOST_TIES else ""
        notes.append(f"Not told apart from the best one: {named}{more}.")
    if found.city.has_periods:
        notes.append(rate_words(found.of_period))
    return notes


def see_more(found: OneMore) -> str:
    """What to do next."""
    best, kind = found.places[0], found.kind
    words = ["--add", f"{kind}@{best.place}", *([] if found.period is None else ["--period", found.period])]
    return f"To see {article(kind)} {kind} there in full: runcard whatif CITY {join(words)}"


def place_table(found: OneMore) -> Table:
    """The best places, below them the department as it is."""
    what = misses(found.city).replace(" ", "\n")
    headings = [
        f"one more {found.kind} at",
        f"{what}\nper 100",
        "change\na year",
        "first there\nmin",
        "s less",
    ]
    other = found.city.objective != LATE
    headings += ["what is\nminimised"] if other else []
    base = found.base
    assert base.mean_response_minutes is not None
    rows: list[Row] = []
    for place in found.best:
        assert place.mean_response_minutes is not None
        between = year_span(found, place)
        shorter = 60.0 * (base.mean_response_minutes - place.mean_response_minutes)
        cells: list[str | Cell] = [
            # Beside the first line of a number that has its interval in a second one.
            Cell(place_words(found, place), below=[""] if between else []),
            misses_per_100(found, place),
            Cell(change_a_year(found, place), below=[between] if between else []),
            f"{place.mean_response_minutes:.2f}",
            f"{round(shorter, 1) + 0.0:.1f}",
        ]
        rows.append(cells + ([f"{place.cost:.5f}"] if other else []))
    foot: list[str | Cell] = ["as it is", misses_per_100(found, base), "", f"{base.mean_response_minutes:.2f}", ""]
    rows.append(foot + ([f"{base.cost:.5f}"] if other else []))
    return Table(headings, rows, has_foot=True)
