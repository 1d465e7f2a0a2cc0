"""Reading a log: what is used, what is rejected and why, and what cannot be read at all."""

import re
from collections.abc import Callable
from itertools import islice, permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runcard.calibrate.log import Log, read_log, shown_rejections
from runcard.calibrate.mapping import LogMapping
from runcard.errors import InputError

COLUMNS = {
    "incident": "id", "unit": "unit", "kind": "kind", "type": "type",
    "dispatched": "sent", "en_route": "left", "on_scene": "there", "available": "free", "x": "x", "y": "y",
}  # fmt: skip
HEADER = "id,unit,kind,type,sent,left,there,free,x,y"
DAY = "2024-05-01T"
PACIFIC = "America/Los_Angeles"

Read = Callable[..., Log]


def row(
    incident: str = "1",
    unit: str = "E1",
    *,
    kind: str = "engine",
    of: str = "fire",
    times: tuple[str, ...] = ("10:00", "10:01", "10:05", "10:30"),
    at: str = "1.5,2.5",
) -> str:
    """A row of a log."""
    return ",".join([incident, unit, kind, of, *(DAY + one if one else "" for one in times), at])


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read the log of some rows, as in read(row(), row("2"), time_zone="UTC")."""

    def read_rows(
        *rows: str, header: str = HEADER, written_in: str = "utf-8", end: str = "\n", **settings: object
    ) -> Log:
        path = tmp_path / "calls.csv"
        path.write_bytes((header + end + "".join(one + end for one in rows)).encode(written_in))
        settings.setdefault("columns", COLUMNS)
        return read_log(path, LogMapping("m.toml", **settings))  # type: ignore[arg-type]

    return read_rows


def test_a_log_by_hand(read: Read) -> None:
    """Two incidents with three responses become the numbers and names that the file has."""
    second = row("2", of="alarm", times=("11:00", "11:01", "11:05", "11:30"), at="3,4")
    log = read(row(), row(unit="T1", kind="ladder", times=("10:00", "", "", "")), second)
    assert (log.name, log.num_rows, len(log.rejected)) == ("calls.csv", 3, 0)
    assert (log.incident_ids, log.units, log.kinds, log.types) == (
        ("1", "2"), ("E1", "T1"), ("engine", "ladder"), ("alarm", "fire"),
    )  # fmt: skip
    assert log.responses["line"].tolist() == [2, 3, 4]
    assert log.responses["incident"].tolist() == [0, 0, 1]
    assert (log.responses["on_scene"] - log.responses["dispatched"]).tolist()[::2] == [300.0, 300.0]
    assert np.isnan(log.responses["on_scene"][1])
    assert log.incidents[["x", "y"]].tolist() == [(1.5, 2.5), (3.0, 4.0)]
    assert (log.incidents["time"][1] - log.incidents["time"][0]) == 3600.0
    assert log.num_days == pytest.approx(3600.0 / 86400.0 * 3.0)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (row("2", times=("10:00", "9:59", "", "")), "a time that cannot be read"),
        (row("2", times=("11:00", "10:59", "", "")), "on the road before it was dispatched"),
        (row("2", times=("11:00", "", "10:59", "")), "on scene before it was dispatched or on the road"),
        (row("2", times=("11:00", "11:05", "11:04", "")), "on scene before it was dispatched or on the road"),
        (row("2", times=("11:00", "11:05", "11:09", "11:08")), "free before it was dispatched or on scene"),
        (row("2", times=("", "11:05", "11:09", "")), "no time of dispatch"),
        (row("2", times=("11:00", "11:01", "13:02", "")), "on the road for more than 2 hours"),
        (row("2", times=("11:00", "12:01", "", "")), "on the road more than an hour after dispatch"),
        (row("2", "", times=("11:00", "", "", "")), "no unit"),
        (row("", "E2"), "no incident number"),
        (row("2", kind="boat"), "the unit was still busy with another incident"),
        (row("2", "E\x07", times=("11:00", "", "", "")), "control characters in a name"),
        (row("2", of="fi\x00re", times=("11:00", "", "", "")), "control characters in a name"),
        (row(), "the same unit at the same incident again"),
        (row("2", times=("10:28", "", "", "")), "the unit was still busy with another incident"),
        (row("2", "E2", at=","), "the incident has no position"),
        (row("2", "E2", at="nan,1"), "the incident has no position"),
        (row("2", "E2", at="1e99,1"), "the incident has no position"),
        (row("2", "E2", of=""), "the incident has no type of the mapping"),
        (row("2", "E2") + ",more", "expected 10 cells"),
        ("2,E2", "expected 10 cells"),
    ],
)
def test_every_bad_row_is_rejected_for_its_reason(read: Read, bad: str, reason: str) -> None:
    """A bad row after a good one is counted under its reason, with its line, and the good one stays."""
    log = read(row(), bad)
    assert log.rejected.counts == {reason: 1}
    assert log.rejected.rows[0][0] == 3
    assert log.responses["line"].tolist() == [2]
    assert log.num_rows == 2
    assert shown_rejections(log) == [f"1 rows: {reason}"]


def test_words_that_the_mapping_leaves_out(read: Read) -> None:
    """Kinds and types that the mapping does not name are counted by name, and their incidents are none."""
    words = {"kinds": {"engine": ("engine",)}, "types": {"fire": ("fire",)}}
    log = read(row(), row("2", "B1", kind="boat"), row("3", "E2", of="cat"), row("4", "E3", kind=""), **words)
    assert log.rejected.counts == {
        "kind boat is not in the mapping": 1,
        "type cat is not in the mapping": 1,
        "kind empty is not in the mapping": 1,
    }
    assert log.incident_ids == ("1",)


def test_an_incident_has_what_most_of_its_rows_say(read: Read) -> None:
    """Type and place are those of most rows, whatever their order; of as many the first by name, and by the numbers."""
    rows = [row(of="", at=","), row(unit="E2", of="fire", at=","), row(unit="E3", of="alarm", at="7,8")]
    rows += [row(unit="E4", of="fire", at="1,9"), row(unit="E5", of="", at="7,8")]
    for number, said in ((5, ("fire", (7.0, 8.0))), (4, ("fire", (1.0, 9.0))), (3, ("alarm", (7.0, 8.0)))):
        for order in islice(permutations(rows[:number]), None, None, 1 if number == 3 else 17):
            log = read(*order)
            assert len(log.responses) == number
            assert (log.types[log.incidents["type"][0]], log.incidents[["x", "y"]][0].item()) == said
    words = {"types": {"fire": ("fire",), "alarm": ("alarm",)}}
    assert [read(*rows[:3], **words).types[number] for number in (0, 1)] == ["fire", "alarm"]
    assert read(*rows[:3], **words).incidents["type"].tolist() == [0]


def test_a_word_that_the_mapping_leaves_out_rejects_its_own_row(read: Read) -> None:
    """Where rows of one incident disagree, those of the mapping say what it is, in whatever order they stand."""
    rows = [row(of="cat"), row(unit="E2"), row(unit="E3", of="")]
    for order in permutations(rows):
        log = read(*order, types={"fire": ("fire",)})
        assert log.rejected.counts == {"type cat is not in the mapping": 1}
        assert (log.units, log.types) == (("E2", "E3"), ("fire",))


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_changes_nothing(read: Read, seed: int) -> None:
    """Shuffled rows, of which some repeat others or clash with them, give the same arrays and names."""
    rng = np.random.default_rng(seed)
    minutes = np.sort(rng.integers(0, 300, 60))
    rows = []
    for number, minute in enumerate(minutes.tolist()):
        moments = [f"{10 + at // 60}:{at % 60:02}" for at in (minute, minute + 1, minute + 5, minute + 20)]
        for unit in rng.permutation(9)[: rng.integers(1, 4)].tolist():
            blank = int(rng.integers(4, 40))
            times = tuple("" if place == blank - 3 else one for place, one in enumerate(moments))
            of, at = rng.choice(["fire", "alarm", "", "cat"], p=[0.5, 0.3, 0.1, 0.1]), rng.choice(["1,2", "3,4", ","])
            rows += [row(f"{number}", f"E{unit}", of=of, at=at, times=times)] * (1 + int(rng.random() < 0.1))
    words = {"types": {"fire": ("fire",), "alarm": ("alarm",)}}
    expected = read(*rows, **words)
    assert len(expected.rejected.counts) > 2
    for _ in range(5):
        log = read(*(rows[place] for place in rng.permutation(len(rows))), **words)
        for key in ("incident_ids", "units", "kinds", "types"):
            assert getattr(log, key) == getattr(expected, key)
        assert log.rejected.counts == expected.rejected.counts
        for key in ("incidents", "responses"):
            for name in {*getattr(log, key).dtype.names} - {"line"}:
                np.testing.assert_array_equal(getattr(log, key)[name], getattr(expected, key)[name])


def test_an_incident_counts_when_only_its_unit_row_is_bad(read: Read) -> None:
    """An incident whose one row is rejected for what the unit did still counts, at a time that can be read."""
    log = read(row(), row("2", "E2", times=("11:00", "", "10:59", "")), row("3", "E3", times=("12:00", "", "soon", "")))
    assert log.incident_ids == ("1", "2", "3")
    assert len(log.responses) == 1
    assert (log.incidents["time"] - log.incidents["time"][0]).tolist() == [0.0, 3600.0, 7200.0]


def test_a_wrong_year_does_not_make_the_log_longer(read: Read) -> None:
    """An incident whose only row has a dispatch of 1990 is no incident, and a call of 1900 is no time of one."""
    wrong = row("2", "E2").replace(DAY + "10:00", "1990-05-01T10:00")
    columns, header = COLUMNS | {"received": "call"}, HEADER + ",call"
    calls = ["2024-05-01T09:58", "2024-05-01T09:00", "1900-01-01T00:00", "2024-05-01T10:01"]
    rows = [row(), wrong, row("3", "E3"), row("4", "E4")]
    log = read(*(f"{a},{b}" for a, b in zip(rows, calls, strict=True)), columns=columns, header=header)
    assert log.rejected.counts == {"on the road more than an hour after dispatch": 1}
    assert log.incident_ids == ("1", "3", "4")
    assert (log.incidents["time"] - log.responses["dispatched"]).tolist() == [-120.0, 0.0, 0.0]
    assert np.isnan(log.responses["received"][1:]).all()


def test_a_unit_a_little_early_is_not_in_two_places(read: Read) -> None:
    """Within a minute two buttons may be pressed in the wrong order; that is no reason to reject a row."""
    log = read(row(), row("2", times=("10:29", "", "", "")), row("3", times=("10:29", "", "", "")))
    assert len(log.responses) == 3


def test_line_numbers_count_line_breaks_in_cells(read: Read) -> None:
    """A rejected row is named by the line on which it begins, also behind cells with line breaks and empty lines."""
    log = read(row('"1\n"', "E1"), "", row("2", '" "', times=("11:00", "", "", "")), row('"3\n\n"', "E2") + ",x", "1,2")
    assert [one[0] for one in sorted(log.rejected.rows)] == [5, 6, 9]
    assert log.responses["line"].tolist() == [2]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_system(read: Read, end: str) -> None:
    """The ends of lines do not matter, and lines are counted right."""
    log = read(row(), "1,2", row("2", "E2"), end=end)
    assert (len(log.responses), log.rejected.rows[0][0], log.num_rows) == (2, 3, 3)


def test_encodings(read: Read) -> None:
    """A byte order mark does no harm, a stated encoding is used, and another one is an error that names the key."""
    assert read(row(unit="Löschzug"), written_in="utf-8-sig").units == ("Löschzug",)
    assert read(row(unit="Löschzug"), written_in="cp1252", encoding="cp1252").units == ("Löschzug",)
    assert read(row(unit="Löschzug"), written_in="utf-16", encoding="utf-16").units == ("Löschzug",)
    with pytest.raises(
        InputError, match=r"calls\.csv: expected text in utf-8-sig: .*say log\.encoding, for instance cp1"
    ):
        read(row(unit="Löschzug"), written_in="cp1252")
    with pytest.raises(InputError, match=r"expected text in utf-16: .*say log\.encoding"):
        read(row(), encoding="utf-16")
    with pytest.raises(InputError, match=r"expected text in klingon: unknown encoding: klingon"):
        read(row(), encoding="klingon")


def test_separators(read: Read) -> None:
    """Another separator is read if the mapping says so; else the columns are missing."""
    header, line = HEADER.replace(",", ";"), row().replace(",", ";")
    assert len(read(line, header=header, separator=";").responses) == 1
    with pytest.raises(InputError, match="missing column id, which is incident"):
        read(line, header=header)


@pytest.mark.parametrize(
    ("header", "rows", "words"),
    [
        ("", [], "expected a header row, got an empty file"),
        (HEADER.replace("there", "theer"), [row()], "missing column there, which is on_scene (did you mean theer?)"),
        (HEADER.replace("kind", "unit"), [row()], "expected one column unit, got 2"),
        (HEADER, [], "expected rows that can be used, got none"),
        (HEADER, ["1,2", row("")], "got none: 1 rows: expected 10 cells; 1 rows: no incident number"),
        (
            HEADER,
            [row().replace("10:01", "10:01Z")],
            "1 times have an offset from UTC and 3 have none; say the time zone",
        ),
        ("x" * 200_000, [], "expected a header row, got line 1 that is not valid CSV"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_an_error(read: Read, header: str, rows: list[str], words: str) -> None:
    """Where nothing could be right, reading stops with a sentence."""
    with pytest.raises(InputError, match="calls") as raised:
        read(*rows, header=header)
    assert words in str(raised.value)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    """What is no file is an error, not a traceback."""
    cases = {
        tmp_path / "none.csv": "the file cannot be read: No such file or directory",
        tmp_path: "expected a file, got a folder",
        Path("/dev/zero"): "expected a file, got a device or a pipe",
    }
    for path, words in cases.items():
        with pytest.raises(InputError, match=f"{re.escape(str(path))}: {words}"):
            read_log(path, LogMapping("m", COLUMNS))


def test_two_time_zones_with_a_stated_one(read: Read) -> None:
    """Where the mapping says the zone, times with offsets and without stand side by side."""
    log = read(row().replace("10:01", "10:01-07:00"), time_zone="America/Los_Angeles")
    assert log.responses["en_route"][0] - log.responses["dispatched"][0] == 60.0


def test_the_days_on_which_clocks_change(read: Read) -> None:
    """An hour that never was is a counted rejection; one that happened twice is read in order, and counted."""
    night = row(times=("01:50", "01:58", "02:10", "")).replace("2024-05-01", "2024-03-10")
    twice = row("2", times=("01:50", "01:58", "01:04", "")).replace("2024-05-01", "2024-11-03")
    log = read(night, twice, time_zone="America/Los_Angeles")
    assert log.rejected.counts == {"a time that the clocks skipped when they went forward": 1}
    assert log.read_twice == 1
    assert ((log.responses["on_scene"] - log.responses["dispatched"]) / 60.0).tolist() == [14.0]


def test_huge_cells_and_nul_bytes_are_counted(read: Read) -> None:
    """A cell of megabytes, as a lost quote makes it, costs its own lines and no others; so does a NUL byte."""
    log = read(row(), row("2", '"' + "x" * 70_000, at="\n" * 70_000), row("3", "E\0", at="1,2"), row("4", "E4"))
    assert set(log.rejected.counts) == {"not valid CSV", "control characters in a name"}
    lost = [one for one in log.rejected.rows if one[1] == "not valid CSV"]
    assert [one[0] for one in lost] == list(range(3, 3 + len(lost)))  # every line that it swallowed
    assert lost[0][4].startswith(f"lines 3 to {lost[-1][0]}: ")
    assert log.units == ("E1", "E4")
    assert log.incident_ids == ("1", "4")


def test_the_second_file(tmp_path: Path) -> None:
    """Places and types come from the second file; its own bad rows, and what only one file knows, are counted."""
    mapping = LogMapping(
        "m.toml",
        {"incident": "i", "station": "s", "order": "o", "dispatched": "d"},
        {"incident": "i", "type": "t", "x": "x", "y": "y"},
        types={"fire": ("F",)},
        every_kind="pump",
    )
    log, second = tmp_path / "log.csv", tmp_path / "second.csv"
    log.write_text("i,s,o,d\n" + "".join(f"{one},A,1,2024-05-01 10:00\n" for one in ("1", "2", "3", "1", "5")))
    second.write_text("i,t,x,y\n1,F,1,2\n2,G,1,2\n1,F,3,4\n,F,1,2\n4,F,1,2\n5,F,,\n6,F\n7\a,F,1,2\n")
    found = read_log(log, mapping, incidents=second)
    assert found.rejected.counts == {
        "incidents file: the same incident again": 1,
        "incidents file: no incident number": 1,
        "incidents file: expected 4 cells": 1,
        "incidents file: control characters in a name": 1,
        "incidents file: the log has no such incident": 1,
        "type of the incident is not in the mapping": 1,
        "the same unit at the same incident again": 1,
        "the incident has no position": 2,
    }
    assert (found.num_rows, found.incident_ids, found.stations) == (5, ("1",), ("A",))
    assert found.incidents[["line", "x", "y"]].tolist() == [(2, 1.0, 2.0)]
    with pytest.raises(InputError, match="expected a second file, with the incidents: name it with --incidents"):
        read_log(log, mapping)
    with pytest.raises(InputError, match=r"expected a section \[incidents\] for"):
        read_log(log, LogMapping("m", {**mapping.columns, "node": "i"}, every_kind="pump"), incidents=second)


def test_the_second_file_may_say_when_the_call_came(tmp_path: Path) -> None:
    """The time of the call is that of the second file, unless it cannot be right or cannot be read."""
    mapping = LogMapping(
        "m.toml",
        {"incident": "i", "unit": "u", "dispatched": "d"},
        {"incident": "i", "received": "r", "x": "x", "y": "y"},
        every_kind="pump",
    )
    log, second = tmp_path / "log.csv", tmp_path / "second.csv"
    log.write_text("i,u,d\n" + "".join(f"{one},A{one},2024-05-01 10:00\n" for one in (1, 2, 3)))
    second.write_text("i,r,x,y\n1,2024-05-01 09:58,1,2\n2,1900-01-01 00:00,1,2\n3,early,1,2\n")
    found = read_log(log, mapping, incidents=second)
    assert ((found.incidents["time"] - found.responses["dispatched"]) / 60.0).tolist() == [-2.0, 0.0, 0.0]
    assert len(found.rejected) == 0


CELLS = st.sampled_from(
    ["", "1", "2", "E1", "E2", "fire", "x", "nan", "1e400", "-3.5", '"', "a\nb", "\0", "ü", "2024-05-01T10:00", "10:00",
     "2024-05-01T10:05:30Z", "2024-05-01T09:00", "2024-05-03T10:00", "9999-12-31T23:59", "2024-03-10T02:30", "\u202e"]
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=30)
@given(rows=st.lists(st.lists(CELLS, min_size=8, max_size=11), max_size=12), zone=st.sampled_from([None, PACIFIC]))
def test_whatever_stands_in_a_file_every_row_is_accounted_for(rows: list[list[str]], zone: str | None) -> None:
    """Rows of any cells, quoted or not, are used or rejected once each; or one sentence says why nothing can be."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "calls.csv"
        text = [row() if number % 4 == 0 else ",".join(cells) for number, cells in enumerate(rows)]
        path.write_text("\n".join([HEADER, *text]), newline="")
        try:
            log = read_log(path, LogMapping("m.toml", COLUMNS, time_zone=zone))
        except InputError:
            return
    assert len(log.responses) + len(log.rejected) == log.num_rows
    lines = [*log.responses["line"].tolist(), *(one[0] for one in log.rejected.rows)]
    assert len(lines) == len(set(lines))
    assert set(log.responses["incident"].tolist()) <= set(range(len(log.incidents)))
    assert np.isfinite(log.incidents["time"]).all()
    assert np.isfinite(log.responses["dispatched"]).all()


def test_many_reasons_are_shown_in_a_few_lines(read: Read) -> None:
    """The most common reasons have a line each, and the rest one together."""
    log = read(row(), *(row(str(n + 2), kind=f"k{n}") for n in range(20)), kinds={"engine": ("engine",)})
    lines = shown_rejections(log, most=3)
    assert len(lines) == 4
    assert lines[-1].startswith("17 rows: 17 other reasons, 'kind k3 is not in the mapping' among them")


def test_rows_of_another_year_are_rejected(read: Read) -> None:
    """A row months away from all others does not thin out the rates."""
    rows = [row(str(number), f"E{number}") for number in range(20)]
    wrong = [row("99", "E99").replace(DAY[:4], year) for year in ("1970", "2044")]
    log = read(*rows, *wrong)
    assert log.rejected.counts == {"more than 60 days before or after all other rows": 2}
    assert np.ptp(log.incidents["time"]) < 86400.0


def test_a_log_with_too_many_types_has_another_column_in_their_place(read: Read) -> None:
    """Types that are as many as incidents are an error that names the section which puts words together."""
    with pytest.raises(
        InputError, match=r"expected at most 60 types, got 70: is the column right\? A section \[types\]"
    ):
        read(*(row(str(number), f"E{number}", of=f"type {number}") for number in range(70)))
