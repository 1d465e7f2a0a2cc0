"""Reading and writing city folders."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
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
    files,
    read_city,
    write_city,
)
from runcard.city.conditions import (
    LEAST_MINUTES,
    MAX_COORDINATE,
    MAX_MINUTES,
    MAX_RATE,
    MAX_SEED,
    RESERVED_IDS,
    is_text,
)
from runcard.errors import CityError, InputError, RuncardError

BROKEN = sorted((Path(__file__).parents[1] / "data" / "broken").iterdir())

minutes = st.floats(LEAST_MINUTES, MAX_MINUTES)
coordinates = st.floats(-MAX_COORDINATE, MAX_COORDINATE)
words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8).filter(is_text)
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
    length = st.none() | st.floats(0.0, MAX_COORDINATE)
    points = st.builds(
        DemandPoint,
        some_node,
        st.floats(0.0, MAX_RATE),
        trucks=st.none() | st.integers(1, 4),
        target_minutes=st.none() | minutes,
        name=words,
        extra=st.tuples(st.tuples(st.just("note"), cells)),
    )
    return City(
        name=draw(words),
        busy_minutes=draw(minutes),
        target_minutes=draw(minutes),
        nodes=tuple(Node(node_id, draw(coordinates), draw(coordinates), draw(words)) for node_id in node_ids),
        links=tuple(
            Link(link_id, *pair, draw(minutes), draw(length)) for link_id, pair in zip(link_ids, pairs, strict=True)
        ),
        stations=tuple(
            Station(station_id, draw(some_node), draw(st.integers(1, 1000)), draw(words))
            for station_id in draw(st.lists(station_ids, min_size=1, max_size=3, unique=True))
        ),
        demand=(DemandPoint(node_ids[0], draw(minutes)), *draw(st.lists(points, max_size=4))),
        trucks_per_incident=draw(st.integers(1, 4)),
        shared_delay=draw(st.floats(0.0, 1.0)),
        driving=Driving(route_seed=draw(st.integers(0, MAX_SEED))),
        outside=Outside(draw(st.none() | st.integers(1, 10_000)), draw(st.none() | minutes)),
        objective=draw(objectives),
    )


@pytest.mark.slow
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
    with pytest.raises(CityError, match=r"node\.csv: expected a file, got a folder"):
        read_city(folder)


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


@pytest.fixture
def two_cities(small_city: City) -> tuple[City, City]:
    """Two cities of the same ids, so that any mixture of their files would read as a city."""
    other = replace(
        small_city,
        name="Two Others",
        links=(replace(small_city.links[0], mean_minutes=2.0),),
        stations=(replace(small_city.stations[0], trucks=3),),
        demand=(replace(small_city.demand[0], incidents_per_day=5.0),),
        nodes=tuple(replace(node, y_coord=7.0) for node in small_city.nodes),
    )
    return small_city, other


KILLS = """
import os, random, signal, sys, time
from pathlib import Path
from runcard.city import files, read_city, write_city
from runcard.errors import CityError

files._WAIT_SECONDS = 0.001
cities = [read_city(path) for path in sys.argv[2:]]
folder, rng = Path(sys.argv[1]), random.Random(1)
write_city(cities[0], folder)
(folder / "notes.txt").write_text("mine")
refused = 0
for _ in range(100):
    child = os.fork()
    if child == 0:
        number = 0
        while True:
            number += 1
            write_city(cities[number % 2], folder, overwrite=True)
    time.sleep(rng.uniform(0.001, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        assert read_city(folder) in cities, "a mixture"
    except CityError as error:
        assert "a write of a city was interrupted here" in str(error), str(error)
        assert "write the city again with --overwrite" in str(error), str(error)
        refused += 1
    write_city(cities[0], folder, overwrite=True)
    assert read_city(folder) == cities[0]
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["city.toml", "demand.csv", "link.csv", "node.csv", "notes.txt", "station.csv"], names
assert 0 < refused < 100
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")
def test_a_killed_write_never_leaves_a_mixture_of_two_cities(two_cities: tuple[City, City], tmp_path: Path) -> None:
    """A process that overwrites a city is killed 100 times: the folder holds one of both, or says what to do.

    The next write works, clears what the killed one left, and leaves other files alone.
    """
    places = [write_city(city, tmp_path / str(number)) for number, city in enumerate(two_cities)]
    done = subprocess.run(
        [sys.executable, "-c", KILLS, tmp_path / "city", *places], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("num_moves", range(1, 7))
def test_a_write_that_ends_between_two_files_is_refused_or_done(
    two_cities: tuple[City, City], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_moves: int
) -> None:
    """After each of the six renames of a write the folder is refused, until the last: then it is the new city."""
    folder = write_city(two_cities[0], tmp_path / "city")
    replace_file, moved = Path.replace, []

    def killed(path: Path, target: Path) -> Path:
        if len(moved) == num_moves:
            raise KeyboardInterrupt
        moved.append(path.name)
        return replace_file(path, target)

    monkeypatch.setattr(Path, "replace", killed)
    monkeypatch.setattr("runcard.city.files._WAIT_SECONDS", 0.001)
    with nullcontext() if num_moves == 6 else pytest.raises(KeyboardInterrupt):
        write_city(two_cities[1], folder, overwrite=True)
    if num_moves == 6:
        assert read_city(folder) == two_cities[1]
        return
    with pytest.raises(CityError, match="a write of a city was interrupted here"):
        read_city(folder)
    with pytest.raises(InputError, match="interrupted here; choose another folder or replace it with --overwrite"):
        write_city(two_cities[1], folder)
    monkeypatch.setattr(Path, "replace", replace_file)
    assert read_city(write_city(two_cities[1], folder, overwrite=True)) == two_cities[1]


def test_a_first_write_that_was_killed_is_written_again(small_city: City, tmp_path: Path) -> None:
    """A folder with nothing but the draft of a killed write is as good as empty."""
    (tmp_path / "city" / files.DRAFT).mkdir(parents=True)
    (tmp_path / "city" / files.DRAFT / "node.csv").write_text("node_id,x_co")
    folder = write_city(small_city, tmp_path / "city")
    assert read_city(folder) == small_city
    assert not (folder / files.DRAFT).exists()


def test_a_city_that_is_replaced_while_it_is_read_is_read_whole(
    two_cities: tuple[City, City], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When another program replaces the city between two files, all five are read again."""
    folder = write_city(two_cities[0], tmp_path / "city")
    read, replaced = files.read_text, []

    def read_and_replace(path: Path) -> str:
        text = read(path)
        if path.name == "link.csv" and not replaced:
            replaced.append(write_city(two_cities[1], folder, overwrite=True))
        return text

    monkeypatch.setattr(files, "read_text", read_and_replace)
    assert read_city(folder) == two_cities[1]


def test_two_programs_do_not_write_to_one_folder_at_a_time(two_cities: tuple[City, City], tmp_path: Path) -> None:
    """The second one is refused while the first writes, and the first goes on undisturbed."""
    folder = write_city(two_cities[0], tmp_path / "city")
    with (
        files._only_writer(folder),
        pytest.raises(RuncardError, match="another program is writing a city to this folder"),
    ):
        write_city(two_cities[1], folder, overwrite=True)
    assert read_city(write_city(two_cities[1], folder, overwrite=True)) == two_cities[1]


def test_files_that_a_hand_has_changed_are_read(two_cities: tuple[City, City], tmp_path: Path) -> None:
    """A city may be edited after it was written, in any of its files, and is then overwritten like any other."""
    folder = write_city(two_cities[0], tmp_path / "city")
    table = folder / "station.csv"
    table.write_text(table.read_text().replace("s,a,2", "s,a,4"))
    assert read_city(folder).num_trucks == 4
    assert read_city(write_city(two_cities[1], folder, overwrite=True)) == two_cities[1]


def test_a_link_to_a_folder_stays_a_link(two_cities: tuple[City, City], tmp_path: Path) -> None:
    """The city is written to the folder that a link names, also one that is not there yet."""
    (tmp_path / "link").symlink_to(tmp_path / "city")
    for city in two_cities:
        write_city(city, tmp_path / "link", overwrite=True)
        assert (tmp_path / "link").is_symlink()
        assert read_city(tmp_path / "city") == city


@pytest.mark.skipif(sys.platform == "win32", reason="modes are of Unix")
def test_files_have_the_modes_that_they_should(two_cities: tuple[City, City], tmp_path: Path) -> None:
    """New files are as the umask has it; a file that is replaced keeps its mode."""
    before = os.umask(0o027)
    try:
        folder = write_city(two_cities[0], tmp_path / "city")
        (folder / "demand.csv").chmod(0o600)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o750
        assert stat.S_IMODE((folder / "node.csv").stat().st_mode) == 0o640
        os.umask(0o022)
        write_city(two_cities[1], folder, overwrite=True)
        assert stat.S_IMODE((folder / "demand.csv").stat().st_mode) == 0o600
        assert stat.S_IMODE((folder / "node.csv").stat().st_mode) == 0o640
    finally:
        os.umask(before)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes on Windows")
@pytest.mark.parametrize("name", files.FILE_NAMES)
def test_a_pipe_in_place_of_a_file_is_refused_at_once(small_city: City, tmp_path: Path, name: str) -> None:
    """Nobody waits for a pipe that nobody writes to."""
    folder = write_city(small_city, tmp_path / "city")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(CityError, match=f"{name}: expected a file, got a device or a pipe"):
        read_city(folder)


def test_writing_over_a_copy_of_a_broken_city_is_refused(tmp_path: Path, small_city: City, data_folder: Path) -> None:
    """A folder with only some of a city's files is not taken for a city."""
    folder = shutil.copytree(data_folder / "broken" / "missing-node-csv", tmp_path / "city")
    with pytest.raises(InputError, match="other files in it"):
        write_city(small_city, folder, overwrite=True)
