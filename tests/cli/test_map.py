"""`runcard map`."""

import sys
from pathlib import Path

import pytest

from runcard.city import generate_grid, write_city

PNG = b"\x89PNG"


def test_a_city_is_drawn_with_closest_first_and_optimal(
    run, grid_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says what was written; the file is map.png here if no other is named, and nothing else is left there."""
    monkeypatch.chdir(tmp_path)
    ran = run("map", grid_folder)
    assert (ran.code, ran.err) == (0, "")
    assert "Wrote map.png" in ran.out
    assert ran.out.strip().endswith("closest-first and optimal")
    assert [path.name for path in tmp_path.iterdir()] == ["map.png"]
    assert (tmp_path / "map.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize(("ending", "start"), [("png", PNG), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_name_of_the_map_says_its_format(run, grid_folder: Path, tmp_path: Path, ending: str, start: bytes) -> None:
    """As .png, .svg or .pdf; a policy can be given by its paper label, alone."""
    path = tmp_path / f"mine.{ending}"
    ran = run("map", grid_folder, "--policy", "CF", "-o", path)
    assert (ran.code, ran.err) == (0, "")
    assert path.read_bytes().startswith(start)
    assert ran.out.strip().endswith(": closest-first")


@pytest.mark.slow
def test_a_policy_file_is_drawn_beside_closest_first_or_whatever_is_named(
    run, grid_folder: Path, policy_file: Path, tmp_path: Path
) -> None:
    """The file with its city gives the same picture as the city with the file among its policies, or solved again."""
    paths = [tmp_path / f"{name}.svg" for name in ("file", "named", "solved")]
    assert run("map", policy_file, "--city", grid_folder, "-o", paths[0]).code == 0
    assert run("map", grid_folder, "--policies", f"closest-first,{policy_file}", "-o", paths[1]).code == 0
    assert run("map", grid_folder, "-o", paths[2]).code == 0
    contents = [path.read_bytes() for path in paths]
    assert contents[0] == contents[1] == contents[2]


def test_the_file_of_another_city_is_refused(refuse, policy_file: Path, data_folder: Path) -> None:
    """One sentence, exit code 2, and no map, whatever the command."""
    table = """
map FILE --city CITY -o map.png :: the policy was made for another city
decide FILE --city CITY --at n5 --idle all :: the policy was made for another city
simulate CITY --policies CF,FILE :: the policy was made for another city
stress CITY --policies CF,FILE :: the policy was made for another city
compare CITY --policies CF,FILE :: the policy was made for another city
"""
    refuse(table.replace("FILE", str(policy_file)), CITY=data_folder / "golden" / "city0-shared1")


def test_what_is_not_clear_is_refused_with_a_sentence(refuse, grid_folder: Path, policy_file: Path) -> None:
    """A file without a city, a city with another, both kinds of policies, names of nothing, and wrong files."""
    table = """
map FILE :: name the city folder with --city
map CITY --city CITY :: expected --city only with a policy file
map FILE --city CITY --policies optimal :: expected --policies only with a city folder
map nothing :: expected a city folder or a policy file, found none
map CITY --policies optimol :: did you mean optimal?
map CITY --policies my.policy :: my.policy: expected a policy file, found none
map CITY --policies , :: expected names with commas between
map CITY -o map.gif :: expected a map to end in .png, .svg, .pdf
map CITY -o no/map.png :: expected an existing folder
"""
    refuse(table, FILE=policy_file, CITY=grid_folder)


@pytest.mark.slow
@pytest.mark.usefixtures("coarse_values")
def test_a_large_department_is_not_solved_exactly_by_accident(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 2^30 states the policy for so many trucks is drawn, it is said and why, and `optimal` is never asked."""

    def fail(*_arguments: object, **_settings: object) -> None:
        raise AssertionError("solved exactly")

    monkeypatch.setattr("runcard.policy.optimal.solve_optimal", fail)
    monkeypatch.setattr("runcard.policy.solve.evaluate_rule", fail)
    folder = write_city(generate_grid(side=6, num_stations=30, load=0.1, seed=5), tmp_path / "city")
    ran = run("map", folder, "-o", tmp_path / "map.svg")
    assert (ran.code, ran.err) == (0, "")
    said = " ".join(ran.out.split())
    assert "exactly takes long, so one-step-mean-field is drawn instead of optimal" in said
    assert said.endswith("closest-first and one-step-mean-field")


def test_a_map_is_not_solved_for_if_it_cannot_be_drawn(
    run, grid_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without matplotlib one line names the install command."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    ran = run("map", grid_folder, "-o", tmp_path / "map.png")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (1, "", 1)
    assert "pip install 'runcard[report]'" in ran.err
