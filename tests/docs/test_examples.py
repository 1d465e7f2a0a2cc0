"""The documentation is run: every Python block and every command line in it."""

import re
import runpy
import shlex
from pathlib import Path

import pytest

from runcard import compare_department, demo_city, dispatch_problem, evaluate, generate_grid, solve
from runcard.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def page_name(page: Path) -> str:
    """The path of a page below the project's folder."""
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_example_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks of a page run in order, in one folder and one namespace, and each command ends with exit code 0."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(text, page_name(page), "exec"), names)
            continue
        for line in text.splitlines():
            if line.startswith("$ runcard "):
                assert main(shlex.split(line)[2:]) == 0, f"{line}\n{capsys.readouterr().err}"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    """A relative link names a file that exists."""
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("program", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_every_example_program_runs(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each program of examples/ runs to its end and prints something."""
    runpy.run_path(str(program), run_name="__main__")
    assert capsys.readouterr().out


def words_of(page: str) -> str:
    """The text of a page with single spaces, so that it does not matter where lines end."""
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


def test_the_numbers_of_the_readme_are_those_of_the_demo() -> None:
    """The README and the tutorial say how often the first engine is late at fires, and one of both, by policy."""
    city = demo_city()
    closest, optimal = compare_department(city, ["closest-first", "optimal"]).results
    late: dict[tuple[int, str], str] = {}
    for result in (closest, optimal):
        for one in result.standards:
            if (one.standard.type, one.standard.kind) == ("fire", "engine"):
                assert one.miss_fraction is not None
                late[one.standard.arrivals, result.name] = f"{100 * one.miss_fraction:.1f} %"
    engines, ladders = (city.of_kind(kind).num_trucks for kind in ("engine", "ladder"))
    said = (
        f"The town of the demo has {engines} engines and {ladders} ladders. With closest-first the first engine is "
        f"late at {late[1, 'closest-first']} of the fires, with the optimal policy at {late[1, 'optimal']}, and the "
        f"units are the same. The second engine pays a little: one of the two is late at {late[2, 'optimal']} instead "
        f"of {late[2, 'closest-first']}."
    )
    assert said in words_of("README.md")
    tutorial = f"late at {late[1, 'closest-first']} of the fires under closest-first, and at {late[1, 'optimal']} under"
    assert tutorial in words_of("docs/tutorial.md")


def test_the_numbers_of_the_tutorial_are_those_of_its_grid() -> None:
    """The tutorial says when the last truck is there in its grid, under the optimal policy and closest-first."""
    problem = dispatch_problem(generate_grid(side=6, num_stations=5, load=0.1, seed=1), arrivals=True)
    optimal, closest = (evaluate(solve(problem, name)).last_minutes for name in ("optimal", "closest-first"))
    said = f"after {optimal:.1f} minutes on average, under closest-first after {closest:.1f}."
    assert said in words_of("docs/tutorial.md")
