"""The documentation is run: every Python block and every command line in it."""

import re
import runpy
import shlex
from pathlib import Path

import pytest

from runcard import assess, demo_city, dispatch_problem, evaluate, generate_grid, solve_problem
from runcard.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LONG = re.compile(r"(--incidents \d{4,}|--graphs \d\d|--steps \d\d)0\b")
"""Runs that are ten times as long as a test of their command needs."""
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


RUN: dict[object, dict[Path, bytes]] = {}
"""The files that a command wrote, by its line and the files it names: no page runs it again on the same."""


def page_name(page: Path) -> str:
    """The path of a page below the project's folder."""
    return str(page.relative_to(ROOT))


def contents(path: Path) -> dict[Path, bytes]:
    """What is in a file, or in every file of a folder."""
    return {file: file.read_bytes() for file in (path, *path.rglob("*")) if file.is_file()}


def run_line(line: str) -> int:
    """The exit code of a command in this folder; where it was run on the same files, they are written as then."""
    words = shlex.split(line)
    inputs = {name: text for word in words if Path(word).exists() for name, text in contents(Path(word)).items()}
    key = line, frozenset(inputs.items())
    if key not in RUN:
        before = contents(Path())
        if code := main(words):
            return code
        RUN[key] = {file: text for file, text in contents(Path()).items() if before.get(file) != text}
    for file, text in RUN[key].items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)
    return 0


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_example_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks of a page run in order, in one folder and namespace, and commands end well; of long runs a tenth."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(text, page_name(page), "exec"), names)
            continue
        for line in text.splitlines():
            if line.startswith("$ runcard "):
                command = LONG.sub(r"\1", line.removeprefix("$ runcard "))
                assert run_line(command) == 0, f"{line}\n{capsys.readouterr().err}"


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
    """The README and the tutorial say what all standards together gain, and beside it what single ones do."""
    city = demo_city()
    closest, optimal = assess(city, ["closest-first", "optimal"])
    late: dict[tuple[str, int, str], str] = {}
    saved: dict[tuple[str, int], float] = {}
    for before, after in zip(closest.standards, optimal.standards, strict=True):
        standard = before.standard
        assert standard == after.standard
        assert before.missed is not None
        assert after.missed is not None
        if standard.kind == "engine":
            for result, one in (("closest-first", before.missed.value), ("optimal", after.missed.value)):
                late[standard.type, standard.arrivals, result] = f"{100 * one:.1f} %"
        per_day = sum(point.incidents_per_day for point in city.demand if point.type == standard.type)
        rank = standard.arrivals if standard.kind == "engine" else 0
        saved[standard.type, rank] = standard.weight * per_day * (before.missed.value - after.missed.value)
    engines, ladders = (city.of_kind(kind).num_trucks for kind in ("engine", "ladder"))
    missed, best = (f"{100 * outcome.missed.value:.1f}" for outcome in (closest, optimal))
    fewer = f"{100 * (1 - optimal.missed.value / closest.missed.value):.1f} % fewer"
    total = city.incidents_per_day * (closest.missed.value - optimal.missed.value)
    assert sum(saved.values()) == pytest.approx(total, rel=1e-6)
    assert saved["fire", 1] + saved["alarm", 1] > 0.5 * total  # most of it
    assert max(saved, key=lambda one: saved[one]) == ("alarm", 1)
    assert sum(point.incidents_per_day for point in city.demand if point.type == "medical") > city.incidents_per_day / 2
    assert [late["fire", rank, name] for rank in (1, 2) for name in ("closest-first", "optimal")] == [
        late["alarm", rank, name] for rank in (1, 2) for name in ("closest-first", "optimal")
    ]
    said = (
        f"The town of the demo has {engines} engines and {ladders} ladders. With closest-first {missed} standards are "
        f"missed per 100 incidents, with the optimal policy {best}, and the units are the same: {fewer}, "
        f"{365 * total:.0f} a year. Most of it is gained at fires and alarms, where the first engine is late at "
        f"{late['fire', 1, 'optimal']} instead of {late['fire', 1, 'closest-first']}; at medical calls, most of all "
        f"incidents, it is late at {late['medical', 1, 'optimal']} instead of {late['medical', 1, 'closest-first']}. "
        f"The second engine pays a little: one of the two is late at {late['fire', 2, 'optimal']} of the fires instead "
        f"of {late['fire', 2, 'closest-first']}."
    )
    assert said in words_of("README.md")
    first = late["fire", 1, "closest-first"], late["fire", 1, "optimal"]
    tutorial = words_of("docs/tutorial.md")
    assert f"It is {missed} under closest-first and {best} under the optimal policy, {fewer}." in tutorial
    assert f"late at {first[0]} of the fires under closest-first, and at {first[1]} under" in tutorial


def test_the_numbers_of_the_tutorial_are_those_of_its_grid() -> None:
    """The tutorial says when the last truck is there in its grid, under the optimal policy and closest-first."""
    problem = dispatch_problem(generate_grid(side=6, num_stations=5, load=0.1, seed=1), arrivals=True)
    optimal, closest = (evaluate(solve_problem(problem, name)).last_minutes for name in ("optimal", "closest-first"))
    said = f"after {optimal:.1f} minutes on average, under closest-first after {closest:.1f}."
    assert said in words_of("docs/tutorial.md")
