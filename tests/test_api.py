"""Tests of the public names."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import runcard


def test_names_are_sorted_and_few() -> None:
    """The public list is sorted, without doubles, and short enough to read."""
    assert list(runcard.__all__) == sorted(set(runcard.__all__))
    assert len(runcard.__all__) <= 19


@pytest.mark.parametrize("name", runcard.__all__)
def test_every_name_can_be_had(name: str) -> None:
    """Every public name leads to a class or function of that name, with a docstring."""
    found = getattr(runcard, name)
    assert callable(found)
    assert found.__name__.removeprefix("runcard.") == name  # `assess` is a folder, too
    assert found.__doc__


def test_names_are_there_before_any_is_used() -> None:
    """`dir(runcard)` and `from runcard import *` have every public name; a wrong one is an AttributeError."""
    names: dict[str, object] = {}
    exec("from runcard import *", names)
    assert set(runcard.__all__) <= names.keys() & set(dir(runcard))
    with pytest.raises(AttributeError, match="'nothing'"):
        _ = runcard.nothing


def test_importing_is_light_and_quiet() -> None:
    """Importing the package prints nothing and loads neither numba nor scipy nor numpy."""
    code = "import sys, runcard; sys.exit(bool({'numba', 'scipy', 'numpy'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_five_lines_of_the_docstring() -> None:
    """A city becomes a problem, a problem a policy, and a policy an evaluation and decisions."""
    city = runcard.generate_grid(side=3, num_stations=3, load=0.1, seed=1)
    problem = runcard.dispatch_problem(city)
    policy = runcard.solve_problem(problem, "optimal")
    assert 0.0 < runcard.evaluate(policy).late_fraction < 1.0
    assert len(policy.decide(problem.trucks, 0).team) == 2


def test_the_version_is_in_one_place() -> None:
    """The project file takes its version from the package, and the changelog has it on top."""
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "runcard.__version__"}
    newest = re.search(r"^## (\S+)[, ]", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1].rstrip(",") == runcard.__version__
