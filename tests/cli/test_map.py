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


def test_the_file_of_another_city_is_refused(run, policy_file: Path, tmp_path: Path) -> None:
    """One sentence, exit code 2, and no map."""
    other = write_city(generate_grid(side=4, num_stations=4, load=0.2, seed=6), tmp_path / "other")
    ran = run("map", policy_file, "--city", other, "-o", tmp_path / "map.png")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert "made for another city" in ran.err
    assert not (tmp_path / "map.png").exists()


def test_what_is_not_clear_is_refused_with_a_sentence(
    run, grid_folder: Path, policy_file: Path, tmp_path: Path
) -> None:
    """A file without a city, a city with another, both kinds of policies, and names of nothing."""
    path = tmp_path / "map.png"
    for words, reason in (
        ((policy_file,), "name the city folder with --city"),
        ((grid_folder, "--city", grid_folder), "expected --city only with a policy file"),
        ((policy_file, "--city", grid_folder, "--policies", "optimal"), "expected --policies only with a city folder"),
        ((tmp_path / "nothing",), "expected a city folder or a policy file, found none"),
        ((grid_folder, "--policies", "optimol"), "did you mean optimal?"),
        ((grid_folder, "--policies", "my.policy"), "my.policy: expected a policy file, found none"),
        ((grid_folder, "--policies", ","), "expected names with commas between"),
    ):
        ran = run("map", *words, "-o", path)
        assert ran.code == 2, words
        assert reason in " ".join(ran.err.split())
    ran = run("map", grid_folder, "-o", tmp_path / "map.gif")
    assert (ran.code, "expected a map to end in .png, .svg, .pdf" in ran.err) == (2, True)
    ran = run("map", grid_folder, "-o", tmp_path / "no" / "map.png")
    assert (ran.code, "expected an existing folder" in ran.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("coarse_values")
@pytest.mark.parametrize(("load", "policy"), [(0.1, "one-step-mean-field"), (0.2, "one-step-neighbourhoods")])
def test_a_large_department_is_not_solved_exactly_by_accident(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load: float, policy: str
) -> None:
    """With 2^30 states the policy for so busy trucks is drawn, it is said and why, and `optimal` is never asked."""

    def fail(*_arguments: object, **_settings: object) -> None:
        raise AssertionError("solved exactly")

    monkeypatch.setattr("runcard.policy.optimal.solve_optimal", fail)
    monkeypatch.setattr("runcard.policy.solve.evaluate_rule", fail)
    folder = write_city(generate_grid(side=6, num_stations=30, load=load, seed=5), tmp_path / "city")
    ran = run("map", folder, "-o", tmp_path / "map.svg")
    assert (ran.code, ran.err) == (0, "")
    said = " ".join(ran.out.split())
    assert f"exactly takes long, so {policy} is drawn instead of optimal" in said
    assert said.endswith(f"closest-first and {policy}")


def test_a_map_is_not_solved_for_if_it_cannot_be_drawn(
    run, grid_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without matplotlib one line names the install command."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    ran = run("map", grid_folder, "-o", tmp_path / "map.png")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (1, "", 1)
    assert "pip install 'runcard[report]'" in ran.err
