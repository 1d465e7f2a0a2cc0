"""The wheel: what is in it, what it says of itself, and that plain pip installs it into an empty environment.

It is built by `make wheel` in a copy of the project that has what git has, with the packages of this environment.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.metadata import Metadata

import runcard
from runcard.city import demo_city, read_city

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def last_line(done: "subprocess.CompletedProcess[str]") -> str:
    """What a command said last."""
    return next(reversed((done.stderr or done.stdout).splitlines()), "nothing")


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    """Every file of the project that git has, or would take."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs the git repository of the project, to know which files belong to it")
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted({name for name in names if name and (ROOT / name).is_file()})


@pytest.fixture(scope="module")
def dist(tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what `make wheel` builds."""
    if shutil.which("make") is None:
        pytest.skip("needs make")
    project = tmp_path_factory.mktemp("project")
    for name in tracked:
        if not name.startswith("docs/"):
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, project / name)
    # What a working copy has beside its files: none of it may get into the wheel.
    for name in ("src/runcard/mdp/__pycache__/chain.nbi", "build/lib/runcard/old.py", "src/runcard/calls.csv.gz"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("left behind")
    ready = project / ".venv" / ".ready"
    ready.parent.mkdir()
    ready.touch()
    os.utime(ready, (4e9, 4e9))  # newer than all that a set-up depends on
    command = ["make", "wheel", f"BIN={Path(sys.executable).parent}"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return project / "dist"


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    """The one wheel there."""
    (found,) = dist.glob("*.whl")
    assert found.name == f"runcard-{runcard.__version__}-py3-none-any.whl"
    return found


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Metadata:
    """What the wheel says of itself, checked as a package index does."""
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Metadata.from_email(archive.read(name), validate=True)


def test_the_wheel_has_every_file_of_the_package_and_no_other(tracked: list[str], wheel: Path) -> None:
    """Code, mappings, scenarios, pages and the demo town as git has them; no tests, caches, old files or data."""
    with ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
    assert sorted(names) == [name.removeprefix("src/") for name in tracked if name.startswith("src/")]


def test_the_source_distribution_has_what_is_needed_to_build(tracked: list[str], dist: Path) -> None:
    """The package, the project files, the licence and the changelog; the wheel was built from it."""
    (found,) = dist.glob("*.tar.gz")
    with tarfile.open(found) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"pyproject.toml", "setup.py", "README.md", "LICENSE", "CHANGELOG.md"}
    assert needed | {name for name in tracked if name.startswith("src/")} <= names
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in names)


def test_what_the_wheel_says_of_itself(metadata: Metadata) -> None:
    """Version, licence, Python versions, addresses and extras are there, and every needed package is of no extra."""
    assert str(metadata.version) == runcard.__version__
    assert (metadata.license_expression, metadata.license_files) == ("MIT", ["LICENSE"])
    assert str(metadata.requires_python) == ">=3.11"
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= (metadata.project_urls or {}).keys()
    assert {"report", "geo", "cluster", "rl", "dev"} <= set(metadata.provides_extra or ())
    assert {"Typing :: Typed", "Programming Language :: Python :: 3.13"} <= set(metadata.classifiers or ())
    needed = {one.name for one in metadata.requires_dist or () if one.marker is None}
    assert {"numpy", "numba", "scipy"} <= needed
    assert "matplotlib" not in needed


def test_the_links_of_the_description_work_anywhere(metadata: Metadata) -> None:
    """On a package index there are no files of the project, so every link has its full address."""
    assert metadata.description_content_type == "text/markdown"
    home = (metadata.project_urls or {})["Homepage"]
    targets = re.findall(r"\]\(([^)]+)\)", metadata.description or "")
    assert f"{home}/blob/main/docs/tutorial.md" in targets
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []


@pytest.fixture(scope="module")
def plain_install(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The programs of a new environment that has the wheel and what it needs, in the versions of the lock."""
    folder = tmp_path_factory.mktemp("plain")
    venv.create(folder / "venv")
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^\S+==[^\\\n]+", lock, re.MULTILINE)  # with their conditions, but no hashes: the wheel has none
    (folder / "pins.txt").write_text("\n".join(pins))
    pip = [sys.executable, "-m", "pip", "--python", programs / "python", "--quiet", "--disable-pip-version-check"]

    def run_pip(*words: str | Path) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([*pip, *words], capture_output=True, text=True, check=False, env=clean(), timeout=300)

    (probe,) = (pin for pin in pins if pin.startswith("typer=="))
    reached = run_pip("download", "--no-deps", "--dest", folder / "probe", probe)
    if reached.returncode != 0:
        pytest.skip(f"no package index can be reached: {last_line(reached)}")
    # What the demo imports is compiled then: a fifth of what there is.
    done = run_pip("install", "--no-compile", "--constraint", folder / "pins.txt", wheel)
    assert done.returncode == 0, done.stderr
    (package,) = (folder / "venv").rglob("site-packages/runcard")
    copy_kernels(package)
    yield programs
    shutil.rmtree(folder / "venv")  # hundreds of megabytes, of which pytest would keep three


def copy_kernels(package: Path) -> None:
    """Give an installed package the kernels that are compiled here, from the same sources: a minute less."""
    source = Path(runcard.__file__).parent
    for path in package.rglob("*.py"):
        assert path.read_bytes() == (source / path.relative_to(package)).read_bytes()
        shutil.copystat(source / path.relative_to(package), path)
    for path in source.rglob("*.nb[ci]"):
        (package / path.relative_to(source)).parent.mkdir(exist_ok=True)
        shutil.copy(path, package / path.relative_to(source))


def clean() -> dict[str, str]:
    """The environment without what would lead to other packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def test_the_demo_runs_in_an_empty_environment(plain_install: Path, tmp_path: Path) -> None:
    """With the wheel and nothing else `runcard demo` writes its files, and says which extra draws pictures."""
    done = subprocess.run(
        [plain_install / "runcard", "demo"], cwd=tmp_path, capture_output=True, text=True, env=clean(), timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "runcard-demo"
    assert {"cards.csv", "city", "optimal.policy", "report.html"} == {entry.name for entry in folder.iterdir()}
    assert read_city(folder / "city") == demo_city()
    assert "pip install 'runcard[report]'" in done.stdout
    assert "internal" not in done.stderr


def test_the_version_of_the_plain_install(plain_install: Path, tmp_path: Path) -> None:
    """The program and the package both say the version, and no package of an extra is there."""
    program = [plain_install / "runcard", "--version"]
    said = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, env=clean(), check=True).stdout
    assert said == f"runcard {runcard.__version__}\n"
    code = (
        "from importlib.metadata import version; from importlib.util import find_spec; "
        "print(version('runcard'), find_spec('matplotlib'), find_spec('pytest'))"
    )
    python = [plain_install / "python", "-c", code]
    said = subprocess.run(python, cwd=tmp_path, capture_output=True, text=True, env=clean(), check=True).stdout
    assert said == f"{runcard.__version__} None None\n"
