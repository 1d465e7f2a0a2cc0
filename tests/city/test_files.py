"""Reading and writing city folders."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runcard.city import (
    City,
    DemandPoint,
    Driving,
    Link,
    Node,
    Objective,
    Outside,
    Station,
    demo_city,
    generate_grid,
    read_city,
    write_city,
)
from runcard.city.check import RESERVED_IDS, SETTING_RULES
from runcard.city.settings import KEYS
from runcard.errors import CityError, InputError, RuncardError

BROKEN = sorted((Path(__file__).parents[1] / "data" / "broken").iterdir())

positive = st.floats(min_value=0.0, exclude_min=True, allow_infinity=False)
finite = st.floats(allow_nan=False, allow_infinity=False)
words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)
ids = words.map(str.strip).filter(bool)
station_ids = ids.filter(lambda text: "," not in text and text not in RESERVED_IDS)
objectives = st.sampled_from([Objective(), Objective("minutes")]) | st.builds(
    Objective, st.just("late+minutes"), st.floats(0.0, 1000.0, exclude_min=True)
)
cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@st.composite
def cities(draw: st.DrawFn) -> City:
    """A valid city with anything a file may hold; its first links join all nodes, so that every route exists."""
    node_ids = draw(st.lists(ids, min_size=2, max_size=5, unique=True))
    some_node = st.sampled_from(node_ids)
    pairs = [(start, end, False) for start, end in pairwise(node_ids)]
    pairs += draw(st.lists(st.tuples(some_node, some_node, st.booleans()), max_size=3))
    link_ids = draw(st.lists(ids, min_size=len(pairs), max_size=len(pairs), unique=True))
    length = st.none() | st.floats(min_value=0.0, allow_infinity=False)
    points = st.builds(
        DemandPoint,
        some_node,
        st.floats(min_value=0.0, allow_infinity=False),
        st.none() | st.integers(1, 4),
        st.none() | positive,
        words,
        st.tuples(st.tuples(st.just("note"), cells)),
    )
    return City(
        name=draw(words),
        busy_minutes=draw(positive),
        target_minutes=draw(positive),
        nodes=tuple(Node(node_id, draw(finite), draw(finite), draw(words)) for node_id in node_ids),
        links=tuple(
            Link(link_id, *pair, draw(positive), draw(length)) for link_id, pair in zip(link_ids, pairs, strict=True)
        ),
        stations=tuple(
            Station(station_id, draw(some_node), draw(st.integers(min_value=1)), draw(words))
            for station_id in draw(st.lists(station_ids, min_size=1, max_size=3, unique=True))
        ),
        demand=(DemandPoint(node_ids[0], draw(positive)), *draw(st.lists(points, max_size=4))),
        trucks_per_incident=draw(st.integers(1, 4)),
        shared_delay=draw(st.floats(0.0, 1.0)),
        driving=Driving(route_seed=draw(st.integers(min_value=0))),
        outside=Outside(draw(st.none() | st.integers(min_value=1)), draw(st.none() | positive)),
        objective=draw(objectives),
    )


@pytest.fixture
def small_city() -> City:
    """A city of two nodes, one link, one station and one demand point."""
    return City(
        name="Two Houses",
        busy_minutes=30.0,
        target_minutes=1.5,
        nodes=(Node("a", 0.0, 0.0), Node("b", 1.0, 0.0)),
        links=(Link("ab", "a", "b", False, 1.0),),
        stations=(Station("s", "a", 2),),
        demand=(DemandPoint("b", 4.0),),
    )


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(city=cities())
def test_a_city_written_and_read_is_the_same_city(tmp_path_factory: pytest.TempPathFactory, city: City) -> None:
    """Every field survives exactly, whatever the text and to the last bit of every number, and so do extra columns."""
    back = read_city(write_city(city, tmp_path_factory.mktemp("cities") / "city"))
    assert back == city
    assert [dict(point.extra).get("note", "") for point in back.demand] == [
        dict(point.extra).get("note", "") for point in city.demand
    ]


@pytest.mark.parametrize("folder", BROKEN, ids=lambda folder: folder.name)
def test_a_broken_city_is_refused_with_all_of_its_faults_and_no_others(folder: Path) -> None:
    """Each fault is reported once, in order, with file and row, and brings no others about."""
    with pytest.raises(CityError) as caught:
        read_city(folder)
    assert list(caught.value.faults) == (folder / "expected.txt").read_text().splitlines()
    assert caught.value.exit_code == 2
    assert str(folder) in str(caught.value)


def test_every_golden_city_reads_and_survives_a_round_trip(golden, tmp_path: Path) -> None:
    """The folders of the independent implementation are in our format."""
    assert golden.city.name == golden.folder.name
    assert golden.city.outside.links is not None
    assert read_city(write_city(golden.city, tmp_path / "city")) == golden.city


@pytest.mark.parametrize(("make", "words"), [(Path.touch, "got a file"), (lambda path: None, "got nothing")])
def test_what_is_not_a_folder_is_refused(tmp_path: Path, make: Callable[[Path], None], words: str) -> None:
    """A path with nothing there, or with a file, is one clear fault."""
    make(tmp_path / "city")
    with pytest.raises(CityError, match=f"expected a city folder, {words}"):
        read_city(tmp_path / "city")


def test_a_file_that_cannot_be_opened_is_a_fault(tmp_path: Path, small_city: City) -> None:
    """A folder in the place of a table is reported like any other fault."""
    folder = write_city(small_city, tmp_path / "city")
    (folder / "node.csv").unlink()
    (folder / "node.csv").mkdir()
    with pytest.raises(CityError, match=r"node\.csv: the file cannot be read: "):
        read_city(folder)


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


def test_huge_counts_are_read_exactly(tmp_path: Path, small_city: City) -> None:
    """The number of trucks has no limit here, and is not rounded on the way."""
    city = replace(small_city, stations=(Station("s", "a", 12345678901234567891),))
    assert read_city(write_city(city, tmp_path / "city")).stations[0].trucks == 12345678901234567891


def test_a_folder_with_a_city_is_overwritten_only_on_request(tmp_path: Path, small_city: City) -> None:
    """A city in the way is refused, and replaced on request with the other files of its folder left alone."""
    folder = write_city(small_city, tmp_path / "city")
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="there is a city here already"):
        write_city(demo_city(), folder)
    assert read_city(folder) == small_city
    write_city(demo_city(), folder, overwrite=True)
    assert read_city(folder) == demo_city()
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_folder_with_anything_else_is_never_written_to(tmp_path: Path, small_city: City) -> None:
    """Neither a folder with other files nor a file is taken for the city's place, even if overwriting is allowed."""
    (tmp_path / "letter.txt").write_text("dear all")
    with pytest.raises(InputError, match="expected an empty or new folder"):
        write_city(small_city, tmp_path, overwrite=True)
    with pytest.raises(InputError, match="expected a folder for the city, got a file"):
        write_city(small_city, tmp_path / "letter.txt", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_an_empty_folder_and_missing_parents_are_fine(tmp_path: Path, small_city: City) -> None:
    """A new city may go into a folder that is empty, or below folders that do not exist yet."""
    (tmp_path / "empty").mkdir()
    assert read_city(write_city(small_city, tmp_path / "empty")) == small_city
    assert read_city(write_city(small_city, tmp_path / "x" / "y" / "z")) == small_city


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failed_write_leaves_everything_as_it_was(
    tmp_path: Path, small_city: City, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    """When the disk fills up half way, there is no half city, and a city that was there is untouched."""
    if overwrite:
        write_city(small_city, tmp_path / "city")
    write_text = Path.write_text

    def full_disk(path: Path, *args: object, **options: object) -> int:
        if path.name == "station.csv":
            raise OSError(28, "No space left on device")
        return write_text(path, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "write_text", full_disk)
    with pytest.raises(RuncardError, match="could not be written: No space left on device"):
        write_city(demo_city(), tmp_path / "city", overwrite=overwrite)
    assert [path.name for path in tmp_path.iterdir()] == (["city"] if overwrite else [])
    if overwrite:
        assert read_city(tmp_path / "city") == small_city


def test_the_keys_that_are_read_are_the_keys_that_are_checked() -> None:
    """A setting added to the file format without a rule, or the reverse, is noticed."""
    assert KEYS.keys() == SETTING_RULES.keys()


def test_a_generated_city_survives_a_round_trip(tmp_path: Path) -> None:
    """The rates and the target of a random grid are written to the last bit."""
    city = generate_grid(side=6, num_stations=5, load=0.1, seed=3)
    assert read_city(write_city(city, tmp_path / "grid")) == city


def test_writing_over_a_copy_of_a_broken_city_is_refused(tmp_path: Path, small_city: City, data_folder: Path) -> None:
    """A folder with only some of a city's files is not taken for a city."""
    folder = shutil.copytree(data_folder / "broken" / "missing-node-csv", tmp_path / "city")
    with pytest.raises(InputError, match="other files in it"):
        write_city(small_city, folder, overwrite=True)
