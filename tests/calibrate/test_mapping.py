"""The mapping file of a log."""

from pathlib import Path

import pytest

from runcard.calibrate.mapping import LogMapping, Vocabulary, log_mapping_of, read_mapping, shipped_names
from runcard.city.importers.mapping import OF_OTHERS, SECTIONS, mapping_of
from runcard.errors import InputError

LOG = {"incident": "i", "unit": "u", "kind": "k", "dispatched": "d", "x": "x", "y": "y"}


def fault_of(document: dict[str, object]) -> str:
    """What is wrong with a mapping."""
    with pytest.raises(InputError) as raised:
        log_mapping_of(document, "m.toml")
    return str(raised.value)


@pytest.mark.parametrize("name", ["london", "neris", "runcard", "san-francisco"])
def test_shipped_mappings_load(name: str) -> None:
    """Every shipped mapping can be read by its name and has kinds, types, and dispatch times."""
    mapping = read_mapping(name)
    assert name in shipped_names()
    assert mapping.types or "type" in mapping.columns
    assert mapping.kinds or mapping.every_kind or "kind" in mapping.columns
    assert "dispatched" in mapping.columns


def test_a_mapping_is_read_from_a_file(tmp_path: Path) -> None:
    """A file gives the mapping that it states, with a byte order mark or without, and import's sections passed over."""
    path = tmp_path / "own.toml"
    text = '[nodes]\nfile = "n.csv"\n[links]\nx = 1\n[log]\n' + "".join(f'{k} = "{v}"\n' for k, v in LOG.items())
    path.write_text(text + 'separator = ";"\n[kinds]\nengine = "E"\n', encoding="utf-8-sig")
    found = read_mapping(path)
    assert found.columns == LOG
    assert (found.separator, dict(found.kinds), dict(found.types)) == (";", {"engine": ("E",)}, {})


def test_import_and_fit_know_the_sections_of_each_other() -> None:
    """Neither command complains about a section of the other one, nor about the second file of a log."""
    log = {name: dict.fromkeys(("incident", "x", "y"), "c") if name == "incidents" else {} for name in OF_OTHERS}
    assert mapping_of(log)
    assert set(OF_OTHERS) == {"log", "incidents", "kinds", "types"}
    assert log_mapping_of({"log": LOG, **{name: {"anything": 1} for name in SECTIONS}}, "m.toml").columns == LOG


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"log": LOG, "kind": {}}, "unknown section kind (did you mean kinds?)"),
        ({"kinds": {}}, "expected a section [log], got none"),
        ({"log": 3}, "expected [log] to be a section, got 3"),
        ({"log": {**LOG, "dispatch": "x"}}, "unknown key log.dispatch (did you mean dispatched?)"),
        ({"log": {**LOG, "unit": 3}}, "expected log.unit to be text, got 3"),
        ({"log": {**LOG, "unit": ""}}, "expected log.unit to be text, got ''"),
        ({"log": {k: v for k, v in LOG.items() if k != "incident"}}, "missing key log.incident"),
        ({"log": {k: v for k, v in LOG.items() if k != "dispatched"}}, "missing key log.dispatched"),
        ({"log": {k: v for k, v in LOG.items() if k != "unit"}}, "expected log.unit, or log.station"),
        (
            {"log": {"incident": "i", "station": "s", "dispatched": "d", "node": "n"}},
            "expected log.kind, or log.every_kind where all units are of one kind, got neither",
        ),
        ({"log": {k: v for k, v in LOG.items() if k != "y"}}, "expected the columns of positions: x and y"),
        ({"log": LOG, "incidents": {"x": "x", "y": "y"}}, "missing key incidents.incident"),
        ({"log": LOG, "incidents": {"incident": "i", "unit": "u"}}, "unknown key incidents.unit"),
        ({"log": {**LOG, "home_pattern": "("}}, "expected log.home_pattern to be a regular expression"),
        ({"log": {**LOG, "home_pattern": "[0-9]+"}}, "expected log.home_pattern with (?P<station>...), got '[0-9]+'"),
        ({"log": {**LOG, "position_pattern": "("}}, "expected log.position_pattern to be a regular expression"),
        ({"log": {**LOG, "position": "p"}}, "missing key log.position_pattern"),
        (
            {"log": {**LOG, "position": "p", "position_pattern": "(?P<x>.)"}},
            "expected log.position_pattern with (?P<x>...) and (?P<y>...), got '(?P<x>.)'",
        ),
        ({"log": {**LOG, "separator": "::"}}, "expected log.separator to be one character, got '::'"),
        (
            {"log": LOG, "types": {"fire": ["F"], "alarm": ["A", "F"]}},
            "expected F once in [types], got it for fire and",
        ),
        ({"log": LOG, "kinds": {"engine": []}}, "expected kinds.engine to be a list of words, got []"),
        ({"log": LOG, "kinds": {"engine": [1]}}, "expected kinds.engine to be a list of words, got [1]"),
        ({"log": LOG, "kinds": 1}, "expected [kinds] to be a section, got 1"),
    ],
)
def test_every_fault_has_its_sentence(document: dict[str, object], words: str) -> None:
    """A mapping that cannot be right is refused in words that name the file, the key and what was found."""
    assert fault_of(document).startswith("m.toml: ")
    assert words in fault_of(document)


def test_an_unknown_name_suggests_a_shipped_one(tmp_path: Path) -> None:
    """A misspelt name says what there is; a missing or broken file says what is wrong with it."""
    with pytest.raises(
        InputError, match=r"got 'londn' \(did you mean london\?\); there are london, neris, runcard, san-fr"
    ):
        read_mapping("londn")
    with pytest.raises(InputError, match=r"none\.toml: the file is missing"):
        read_mapping(tmp_path / "none.toml")
    (tmp_path / "broken.toml").write_text("[log\n")
    with pytest.raises(InputError, match=r"broken\.toml: "):
        read_mapping(tmp_path / "broken.toml")


def test_words_with_a_star_stand_for_all_that_begin_so() -> None:
    """An exact word wins over a beginning, the first of two beginnings wins, and other words stand for nothing."""
    words = Vocabulary({"fire": ("FIRE*", "ALARM-FIRE"), "alarm": ("ALARM*", "FIRE-TEST"), "all": ("FIREWORK*",)})
    assert [words.find(one) for one in ("FIRE", "FIREWORKS", "FIRE-TEST", "ALARM-FIRE", "ALARM-X", "fire", "")] == [
        "fire", "fire", "alarm", "fire", "alarm", "", "",
    ]  # fmt: skip
    assert Vocabulary({}).find("anything") == "anything"


def test_a_mapping_made_in_memory_is_checked() -> None:
    """Somebody who makes a mapping in Python hears of its faults, too."""
    with pytest.raises(InputError, match="mine: missing key log"):
        LogMapping("mine", {"incident": "i", "unit": "u", "x": "x", "y": "y"})
