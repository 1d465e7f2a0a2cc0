"""The tables of a city folder: which cells and columns are read, kept, written and refused."""

from pathlib import Path

import pytest

from runcard.city import City, read_city, write_city
from runcard.errors import CityError


def test_what_a_spreadsheet_makes_of_a_table_is_read(tmp_path: Path, small_city: City) -> None:
    """A byte order mark, carriage returns, blank rows, spaces, 2.0 for 2 and TRUE for 1 change nothing."""
    folder = write_city(small_city, tmp_path / "city")
    (folder / "station.csv").write_bytes(b"\xef\xbb\xbfstation_id, node_id ,trucks\r\n\r\n s ,a,2.0\r\n,,\r\n")
    (folder / "link.csv").write_bytes(b"link_id,from_node_id,to_node_id,directed,mean_minutes\rab,a,b,FALSE, 1 \r")
    (folder / "city.toml").write_bytes(b"\xef\xbb\xbf" + (folder / "city.toml").read_bytes().replace(b"30.0", b"30"))
    assert read_city(folder) == small_city


def test_rows_are_counted_as_a_spreadsheet_counts_them(tmp_path: Path, small_city: City) -> None:
    """Blank rows count, and a cell of several lines is one row."""
    folder = write_city(small_city, tmp_path / "city")
    (folder / "station.csv").write_text('station_id,node_id,trucks,name\n\n\ns,a,1,"two\nlines"\nt,a,0,\n')
    with pytest.raises(CityError) as caught:
        read_city(folder)
    assert caught.value.faults == (
        "station.csv row 4: expected name without control characters, got 'two\\nlines'",
        "station.csv row 5: expected trucks >= 1, got 0",
    )


def test_extra_columns_are_kept_and_written_back(tmp_path: Path, small_city: City) -> None:
    """Columns that runcard does not use come back as they were, even with commas, quotes and line breaks."""
    folder = write_city(small_city, tmp_path / "city")
    (folder / "node.csv").write_text(
        'node_id,zone,x_coord,y_coord,note\na,7,0,0,"x, ""y""\r\nz"\nb,,1,0,\n', newline=""
    )
    city = read_city(folder)
    assert city == small_city
    assert city.nodes[0].extra == (("zone", "7"), ("note", 'x, "y"\r\nz'))
    assert [node.extra for node in read_city(write_city(city, tmp_path / "again")).nodes] == [
        node.extra for node in city.nodes
    ]


def test_columns_nobody_uses_are_not_written(tmp_path: Path, small_city: City) -> None:
    """A plain city gives plain tables: optional columns appear only where a row needs them."""
    folder = write_city(small_city, tmp_path / "city")
    assert (folder / "node.csv").read_text() == "node_id,x_coord,y_coord\na,0.0,0.0\nb,1.0,0.0\n"
    assert (folder / "demand.csv").read_text() == "node_id,incidents_per_day\nb,4.0\n"


EXTRA_COLUMNS = {
    "node": ("names", "name_en", "z_coord", "node_type", "ctrl_type", "zone_id", "parent_node_id", "lat", "lon"),
    "link": ("name", "length", "length_km", "length_mi", "lanes", "free_speed", "type_of_road", "geometry", "toll"),
    "station": ("names", "truck_ids", "truck_id", "address", "trucks_2019", "engine_id", "station_name", "staff"),
    "demand": (
        "names", "truck_ids", "truck_type", "target", "targets", "target_date", "arrival_time", "arrivals_2019",
        "minutes", "types", "zone", "rank", "trucks_max", "arrived", "arrivals_pm", "incident_ids", "population",
    ),
}  # fmt: skip


@pytest.mark.parametrize("table", EXTRA_COLUMNS)
def test_columns_of_your_own_are_not_taken_for_misspelt_ones(small_city: City, tmp_path: Path, table: str) -> None:
    """Columns that a department may well have are kept, though their names are near to ours."""
    folder = write_city(small_city, tmp_path / "city")
    header, *rows = (folder / f"{table}.csv").read_text().splitlines()
    names = EXTRA_COLUMNS[table]
    wider = [",".join([header, *names]), *(",".join([row, *(["7"] * len(names))]) for row in rows)]
    (folder / f"{table}.csv").write_text("\n".join(wider))
    city = read_city(folder)
    assert city == small_city
    assert getattr(city, f"{table}s" if table != "demand" else table)[0].extra == tuple((name, "7") for name in names)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *((name, "target_minutes") for name in ("target_minute", "targetminutes", "Target_Minutes", "traget_minutes")),
        *((name, "target_minutes") for name in ("target minutes", "target_mins", "target_minuts", "taget_minutes")),
        *((name, "arrivals") for name in ("arivals", "arrival", "Arrivals", "arrvials", "arrivalls")),
        *((name, "trucks") for name in ("truck", "Trucks", "truks", "trcuks")),
        *((name, "name") for name in ("Name", "NAME", "nmae")),
    ],
)
def test_a_misspelt_optional_column_is_an_error(small_city: City, tmp_path: Path, name: str, meant: str) -> None:
    """A column that is likely meant to count is not passed over in silence."""
    folder = write_city(small_city, tmp_path / "city")
    (folder / "demand.csv").write_text(f"node_id,incidents_per_day,{name}\nb,4.0,1\n")
    with pytest.raises(CityError) as caught:
        read_city(folder)
    assert caught.value.faults == (f"demand.csv: unknown column {name} (did you mean {meant}?)",)


def test_a_column_near_to_one_that_is_there_is_an_extra_one(small_city: City, tmp_path: Path) -> None:
    """Where the column itself is there, another one beside it is no mistake."""
    folder = write_city(small_city, tmp_path / "city")
    (folder / "demand.csv").write_text("node_id,incidents_per_day,trucks,truck\nb,4.0,1,7\n")
    assert read_city(folder).demand[0].extra == (("truck", "7"),)
