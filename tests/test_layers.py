"""The folders of the package and the arrows between them."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "runcard"
RANKS = {
    "errors": -1,
    "database": 0,
    "interval": 0,
    "table": 0,
    "memory": 0,
    "output_file": 2,
    "threads": 0,
    "city": 1,
    "response": 2,
    "mdp": 3,
    "page": 3,
    "policy": 4,
    "plan": 5,
    "simulate": 6,
    "assess": 7,
    "calibrate": 8,
    "outputs": 9,
    "study": 10,
    "service": 10,
    "cli": 11,
    "__main__": 12,
    "__init__": 12,
}


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """The imports and names of a file."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom | ast.Name)]


@pytest.fixture(scope="module", autouse=True)
def parsed() -> None:
    """Every file of the package is parsed once, before the tests."""
    for path in SOURCE.rglob("*.py"):
        nodes_of(path)


def imported_modules(path: Path, package: str) -> Iterator[str]:
    """Every module that a file imports, anywhere in it, by its full name."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            # `from runcard import city` names a folder too.
            yield from (f"{module}.{alias.name}" for alias in node.names if module == "runcard")


def wrong_arrows(source: Path) -> list[str]:
    """Each import from a folder to one that is not to its left, as `file -> module`."""
    wrong = []
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        package = ".".join(["runcard", *parts[:-1]])
        for module in imported_modules(path, package):
            target = module.split(".")[1:2]
            if module.split(".")[0] == "runcard" and target and target[0] != parts[0]:
                if target[0] in RANKS and RANKS[target[0]] < RANKS[parts[0]]:
                    continue
                if target[0] == "__version__":
                    continue  # a text, not a folder: pages and files may say it
                if parts[0] in ("__init__", "cli", "__main__") and target[0] not in RANKS:
                    continue  # a public name, not a folder
                wrong.append(f"{'/'.join(parts)} -> {module}")
    return wrong


def test_every_folder_imports_only_from_folders_to_its_left() -> None:
    """The data flows one way, as `RANKS` says: from the city to the command line."""
    assert wrong_arrows(SOURCE) == []


def test_every_folder_of_the_package_has_its_place() -> None:
    """A new folder must be given a place in the order before it can be used."""
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert folders <= RANKS.keys()


def test_only_the_command_line_parses_and_prints() -> None:
    """No other folder knows the terminal: neither typer nor rich nor print. A table knows how rich shows it."""
    for path in sorted(SOURCE.rglob("*.py")):
        if "cli" in path.relative_to(SOURCE).parts or path == SOURCE / "table.py":
            continue
        assert not {"rich", "typer"} & {module.split(".")[0] for module in imported_modules(path, "runcard")}, path
        assert not any(isinstance(node, ast.Name) and node.id == "print" for node in nodes_of(path)), path


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("city/files.py", "from runcard.response.routes import routes"),
        ("city/files.py", "from runcard import mdp"),
        ("city/files.py", "from ..policy import base"),
        ("study/tables.py", "import runcard.service"),
        ("service/app.py", "def f():\n    from runcard.study import tables"),
        ("errors.py", "from runcard.city import City"),
        ("mdp/solve.py", "import runcard.cli"),
    ],
)
def test_a_wrong_arrow_is_noticed(tmp_path: Path, file: str, line: str) -> None:
    """The check above sees absolute, relative and local imports, and the ones between study and service."""
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(line)
    assert len(wrong_arrows(tmp_path)) == 1


def test_importing_the_command_line_loads_nothing_heavy() -> None:
    """`runcard --help` answers at once, because compilers, solvers and plots are imported when they are used."""
    heavy = "{'numba', 'numpy', 'scipy', 'matplotlib', 'rich'}"
    code = f"import sys, runcard, runcard.cli; print(sorted({heavy} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
