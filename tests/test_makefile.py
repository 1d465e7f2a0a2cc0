"""The Makefile: when it clears the cache of compiled kernels, and when it installs the browser of the tests."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

MAKEFILE = Path(__file__).parents[1] / "Makefile"
FRESH = ".venv/.kernels"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that is set up, with a kernel in the cache, and nothing changed since the cache was found fresh."""
    shutil.copy(MAKEFILE, tmp_path)
    sources = ("src/runcard/kernel.py", "src/runcard/called.py", "benchmarks/case.py")
    for number, name in enumerate(
        ("pyproject.toml", "requirements.lock", "requirements-uv.lock", "Makefile", *sources, ".venv/.ready", FRESH)
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (1e9 + number, 1e9 + number))
    cached(tmp_path).parent.mkdir()
    cached(tmp_path).touch()
    return tmp_path


def cached(project: Path) -> Path:
    """A compiled kernel of the project."""
    return project / "src/runcard/__pycache__/kernel.nbi"


def make_fresh(project: Path) -> None:
    """Do what `make test` does before the tests."""
    subprocess.run(["make", FRESH], cwd=project, check=True, capture_output=True, timeout=30)


@pytest.mark.parametrize("source", ["src/runcard/called.py", "benchmarks/case.py"])
def test_a_change_in_any_source_clears_the_compiled_kernels(project: Path, source: str) -> None:
    """A file without `njit` may be compiled into a kernel of another file: it clears the cache too, once.

    Nothing is compiled again if no source has changed.
    """
    make_fresh(project)
    assert cached(project).exists()
    (project / source).touch()
    make_fresh(project)
    assert not cached(project).exists()
    cached(project).touch()
    make_fresh(project)
    assert cached(project).exists()


def make_browser(project: Path, *programs: str, script: str = 'echo "$0 $*" >> asked') -> str:
    """What `make browser` says on a machine with these programs, which write down how they were called."""
    folder = project / "programs"
    folder.mkdir()
    for name in ("sh", "id", "find", "make"):
        (folder / name).symlink_to(str(shutil.which(name)))
    for name in programs:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    command, machine = ["make", "browser", "SUDO="], {"PATH": str(folder)}
    done = subprocess.run(command, cwd=project, env=machine, check=True, capture_output=True, text=True, timeout=30)
    return done.stdout + done.stderr


def test_a_browser_is_installed_where_it_is_missing(project: Path) -> None:
    """From Debian's packages; with chromium on the machine nothing is said or done."""
    assert make_browser(project, "chromium", "apt-get") == ""
    assert not (project / "asked").exists()
    shutil.rmtree(project / "programs")
    make_browser(project, "apt-get")
    assert "install -qq -y --no-install-recommends chromium" in (project / "asked").read_text()


@pytest.mark.parametrize("programs", [(), ("apt-get",)])
def test_where_no_browser_can_be_installed_the_tests_go_on(project: Path, programs: tuple[str, ...]) -> None:
    """Without apt-get, or without the right to install, it says what that means and does not fail."""
    assert "the browser tests will be skipped" in make_browser(project, *programs, script="exit 1")
