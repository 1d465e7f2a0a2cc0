"""What an import did, in lines: every count that is not zero."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from runcard.city.importers import Imported, ImportSummary
from runcard.cli.terminal import make_console
from runcard.plan.words import city_line, counted

MAX_LISTED: Final = 5

_SOURCES: Final = {
    "minutes": "as stated",
    "speed": "from a stated speed",
    "usual": "from the usual speed of its road class",
}


def print_import(found: Imported, folder: Path, rejected: Path | None) -> None:
    """Print what was read, changed, moved and left out, and where the city is."""
    console = make_console()
    console.print(city_line(found.city), style="bold")
    for line in [*road_lines(found.summary), *station_lines(found.summary), *area_lines(found.summary)]:
        console.print(line, soft_wrap=True)
    if rejected is not None:
        for one in found.rejected[:MAX_LISTED]:
            row = f" row {one.row}" if one.row else ""
            console.print(f"  left out: {one.file}{row}: {one.reason}", soft_wrap=True)
        rows, be = counted(len(found.rejected), "row"), "is" if len(found.rejected) == 1 else "are"
        console.print(f"{rows} could not be used and {be} listed in {rejected.name}")
    console.print(f"Wrote {folder}", soft_wrap=True)


def road_lines(one: ImportSummary) -> Iterator[str]:
    """What was read, and what became of it."""
    kind = "longitude and latitude" if one.coordinates == "lonlat" else "metres"
    guessed = " (guessed from their range)" if one.coordinates_guessed else ""
    read = f"{counted(one.nodes_read, 'node')} and {counted(one.links_read, 'link')}"
    yield f"Roads read: {read}; coordinates: {kind}{guessed}"
    sources = [f"{number:,} {_SOURCES[source]}" for source, number in one.minutes_from.items() if number]
    yield f"Driving time of links: {', '.join(sources)}"
    for number, words in (
        (one.computed_lengths, "Links without a length, which have the straight distance of their ends"),
        (one.self_loops, "Self loops dropped"),
        (one.parallel_links, "Parallel links dropped, because another one is faster"),
        (one.short_links, "Links of less than 0.001 minutes, which take 0.001 now"),
    ):
        if number:
            yield f"{words}: {number:,}"
    if one.dropped_nodes:
        yield (
            f"{counted(one.dropped_nodes, 'node')} and {counted(one.dropped_links, 'link')} outside the largest part "
            "in which all nodes reach one another are dropped"
        )
    more = ""
    if one.contracted_loops or one.contracted_parallel:
        loops, slower = counted(one.contracted_loops, "loop"), counted(one.contracted_parallel, "slower way")
        more = f" ({loops} and {slower} dropped)"
    yield f"{counted(one.contracted_nodes, 'node')} along roads contracted, without changing a route time{more}"
    yield f"Roads now: {counted(one.nodes, 'node')} and {counted(one.links, 'link')}"
    if one.texts_cleaned:
        yield f"{counted(one.texts_cleaned, 'text')} had control characters, which are gone"


def station_lines(one: ImportSummary) -> Iterator[str]:
    """Where stations are, and which units they have."""
    of = f" of {one.stations_read:,}" if one.stations_read > one.stations else ""
    yield (
        f"{one.stations:,}{of} stations placed at the nearest node, at most {one.farthest_station_metres:,.0f} m away"
        if one.stations_read > 1
        else f"1 station placed at the nearest node, {one.farthest_station_metres:,.0f} m away"
    )
    for far in one.far_stations[:MAX_LISTED]:
        yield f"  far: station {far.station_id} is {far.metres:,.0f} m from node {far.node_id}"
    if len(one.far_stations) > MAX_LISTED:
        yield f"  and {len(one.far_stations) - MAX_LISTED} more that are more than 500 m away"
    if one.units:
        yield "Roster: " + ", ".join(counted(number, kind) for kind, number in one.units.items())
    if one.stations_without_units:
        yield f"{counted(one.stations_without_units, 'station')} without units"


def area_lines(one: ImportSummary) -> Iterator[str]:
    """How many demand areas there are, how wide, and what their rates are worth."""
    if one.areas > one.areas_asked:
        asked = f" ({one.areas_asked:,} asked for; more were needed so that none is too wide)"
    else:
        asked = f" ({one.areas_asked:,} asked for; there are no more nodes)" if one.areas < one.areas_asked else ""
    yield (
        f"{counted(one.areas, 'demand area')}{asked}, the widest {one.widest_area_minutes:.2f} min along its streets; "
        f"with one-way signs obeyed, the farthest node is {one.farthest_drive_minutes:.2f} min from its centre"
    )
    yield "The incident rates are not data: a total is shared among the areas by road length. A log has the real ones."
    yield (
        "Nor are busy times, driving laws and shared_delay, which is 1 as in the paper, far above what logs show: "
        "runcard fit finds them."
    )
