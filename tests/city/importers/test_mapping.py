"""The mapping file."""

from pathlib import Path

import pytest

from runcard.city.importers.mapping import mapping_of, read_import_mapping
from runcard.errors import InputError


def test_columns_and_settings_are_told_apart() -> None:
    """A section has columns by what they are for, and settings; sections of `fit` are passed over."""
    found = mapping_of(
        {
            "nodes": {"file": "a.csv", "id": "osmid", "x": "lon", "y": "lat", "skip_rows": 2, "crs": "lonlat"},
            "log": {"anything": 1},
            "types": {},
            "kinds": {"x": "y"},
            "other": 3,
        }
    )
    assert found.nodes is not None
    assert found.nodes.columns == {"id": "osmid", "x": "lon", "y": "lat"}
    assert found.nodes.reading == {"skip_rows": 2}
    assert found.links is None


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"nodes": {"idd": "osmid"}}, r"\[nodes\]: unknown key idd \(did you mean id\?\)"),
        ({"links": {"lenght": "l"}}, r"\[links\]: unknown key lenght \(did you mean length\?\)"),
        ({"stations": {"zzz": "l"}}, r"unknown key zzz \(known: id, x, y, node"),
        ({"node": {}}, r"unknown section \[node\] \(did you mean nodes\?\)"),
        ({"links": {"length_unit": "furlong"}}, r"\[links\] length_unit: expected one of m, km, mi, ft, got 'furlong'"),
        ({"links": {"directed": 1}}, "directed: expected true or false, got 1"),
        ({"nodes": {"skip_rows": -1}}, "skip_rows: expected a whole number from 0 to 1,000,000, got -1"),
        ({"nodes": {"separator": ";;"}}, "separator: expected one character"),
        ({"nodes": {"separator": '"'}}, "separator: expected one character"),
        ({"nodes": {"crs": "utm"}}, "crs: expected one of lonlat, metres"),
        ({"nodes": {"id": 3}}, r"\[nodes\] id: expected the name of a column, got 3"),
        ({"nodes": "x"}, r"expected nodes to be a section, \[nodes\]"),
    ],
)
def test_mistakes_are_named(document: dict[str, object], words: str) -> None:
    """What is not known or cannot be is an error that says what was expected."""
    with pytest.raises(InputError, match=words):
        mapping_of(document)


def test_all_mistakes_of_a_file_are_in_one_error(tmp_path: Path) -> None:
    """Nobody has to run it once for each."""
    path = tmp_path / "m.toml"
    path.write_text('[nodes]\nidd = "a"\n[links]\nform = "b"\n')
    with pytest.raises(InputError, match=r"m\.toml: .*idd.*; .*form \(did you mean from\?\)"):
        read_import_mapping(path)


def test_what_is_no_toml_is_refused(tmp_path: Path) -> None:
    """A missing file and other text are sentences."""
    path = tmp_path / "m.toml"
    with pytest.raises(InputError, match="the file is missing"):
        read_import_mapping(path)
    path.write_text("nodes: yes")
    with pytest.raises(InputError, match="expected a mapping file in TOML"):
        read_import_mapping(path)
