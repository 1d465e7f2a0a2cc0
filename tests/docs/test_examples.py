"""The documentation is run: every Python block and every command line in it."""

import re
import runpy
import shlex
from pathlib import Path

import pytest

from runcard import demo_city, dispatch_problem, evaluate, solve
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


def test_the_numbers_of_the_readme_are_those_of_the_demo() -> None:
    """The README says what the demo shows: 3.8 % late instead of 5.4 %."""
    problem = dispatch_problem(demo_city())
    closest, optimal = (evaluate(solve(problem, name)).late_fraction for name in ("closest-first", "optimal"))
    said = f"{100 * optimal:.1f} % of the incidents late where closest-first reaches {100 * closest:.1f} % late"
    assert said in (ROOT / "README.md").read_text(encoding="utf-8")
