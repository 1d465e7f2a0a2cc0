"""The reference is complete: nothing that a user can set, and no word that a program reads, is left out of it."""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from safetensors import safe_open
from tests.policy_files import save_policy
from tests.weeks import with_days

import runcard
from runcard.calibrate.mapping import INCIDENT_COLUMNS, LOG_COLUMNS
from runcard.calibrate.mapping import SECTIONS as LOG_SECTIONS
from runcard.calibrate.mapping import SETTINGS as LOG_SETTINGS
from runcard.city.importers.mapping import SECTIONS
from runcard.city.model import SETTING_CONDITIONS
from runcard.city.periods import PERIOD_KEYS
from runcard.city.tables import TABLES
from runcard.cli import app, main
from runcard.outputs.cards.book import make_book
from runcard.outputs.cards.csv_file import columns_of
from runcard.outputs.records import COLUMNS as RECORD_COLUMNS
from runcard.outputs.records import OF_DEPARTMENT
from runcard.plan.plan import solve
from runcard.policy.solve import LABELS, POLICY_NAMES
from runcard.service.audit.drift import DriftDocument, DriftRowDocument
from runcard.service.audit.export import COLUMNS as AUDIT_COLUMNS
from runcard.simulate.scenario import KEYS as SCENARIO_KEYS
from runcard.simulate.scenario import built_in_names

DOCS = Path(__file__).parents[2] / "docs"


def test_every_command_and_option_is_documented() -> None:
    """Each command has a section, and each of its options stands in that section."""
    text = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    sections = {part.split("`", 1)[0].split()[1]: part for part in text.split("## `")[1:]}
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert sections.keys() == commands.keys()
    for name, command in commands.items():
        for parameter in command.params:
            for option in parameter.opts:
                assert not option.startswith("-") or f"`{option}`" in sections[name], f"{name} {option}"


def test_every_key_of_a_mapping_file_is_documented() -> None:
    """Each section has a heading, and each of its keys stands below it, or among those that every section takes."""
    text = (DOCS / "reference" / "mapping-file.md").read_text(encoding="utf-8")
    parts = {part.split("]", 1)[0]: part.split("\n## ", 1)[0] for part in text.split("## `[")[1:]}
    everywhere = text.split("Every section also takes")[1].split("\n", 1)[0]
    assert parts.keys() == {*SECTIONS, *LOG_SECTIONS}
    keys = {name: tuple(known) for name, known in SECTIONS.items()}
    keys |= {"log": (*LOG_COLUMNS, *LOG_SETTINGS), "incidents": INCIDENT_COLUMNS}
    for name, own in keys.items():
        for key in own:
            assert f"`{key}`" in parts[name] + everywhere, f"[{name}] {key}"


def keys_in(document: Any) -> Iterator[str]:
    """Every key of a JSON document, at any depth; ids and kinds as keys (of prices and units) are not among them."""
    if isinstance(document, list):
        for one in document:
            yield from keys_in(one)
    elif isinstance(document, dict):
        for key, value in document.items():
            yield key
            if key not in ("truck_prices", "units"):
                yield from keys_in(value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "department", "periods"])
def test_every_key_of_json_is_documented(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a command prints as JSON, of a city with and without kinds, stands in the section of the command."""
    text = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    sections = {part.split("`", 1)[0].split()[1]: part for part in text.split("## `")[1:]}
    plain = runcard.generate_grid(side=3, num_stations=3, load=0.1, seed=1)
    made = {"plain": plain, "department": runcard.demo_city(), "periods": with_days(plain)}
    city = runcard.write_city(made[kind], tmp_path / "city")
    node, of_type = ("old-d2", "--type fire") if kind == "department" else ("n4", "--time now")
    assert main(["solve", str(city), "-o", str(tmp_path / "file.policy")]) == 0
    assert main(["cards", str(tmp_path / "file.policy"), "-o", str(tmp_path / "cards.csv")]) == 0
    lines = [
        f"compare {city}",
        f"compare {city} --weights 0.01 {'--kind engine' if kind == 'department' else ''}",
        f"lateness {city} --at {node}",
        f"decide {tmp_path / 'file.policy'} --at {node} --idle all {of_type}",
        f"decide {tmp_path / 'cards.csv'} --at {node} --idle all {of_type}",
        f"simulate {city} --incidents 2000",
        f"stress {city} --incidents 2000 --scenarios paper",
        f"bound {city} --incidents 2000 --steps 5",
        f"whatif {city} --load 1.1",
    ]
    for line in lines:
        capsys.readouterr()
        assert main([*shlex.split(line), "--json"]) == 0, line
        command = line.split()[0]
        section = sections[command] + (sections["simulate"] if command == "stress" else "")
        for key in set(keys_in(json.loads(capsys.readouterr().out))):
            assert f'"{key}"' in section or f"`{key}`" in section, f"{command}: {key}"


def test_every_key_of_the_file_of_a_department_is_documented(tmp_path: Path) -> None:
    """Each tensor of a department's file, without its number, and each key of its header stands in the reference."""
    text = (DOCS / "reference" / "policy-file.md").read_text(encoding="utf-8")
    city, path = runcard.write_city(runcard.demo_city(), tmp_path / "city"), tmp_path / "file.policy"
    assert main(["solve", str(city), "-o", str(path), "--policy", "closest-first"]) == 0
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["runcard"])
        for tensor in (key.rpartition("/")[2] for key in file.keys()):  # noqa: SIM118 not a dictionary
            assert f"`{tensor}`" in text, tensor
    kind = header["kinds"][0]
    for key in (*header, *header["periods"][0], *kind, *kind["policies"][0]):
        assert f"`{key}`" in text, key
    assert f"`{header['format']}`" in text


def card_columns() -> list[str]:
    """Each column of files of run cards, with periods and with classes."""
    plain = runcard.generate_grid(side=3, num_stations=3, load=0.1, seed=1)
    city = with_days(replace(plain, demand=(*plain.demand, plain.demand[0])))
    plans = (solve(city, "closest-first"), runcard.solve(runcard.demo_city(), "closest-first"))
    return [column for plan in plans for column in columns_of(make_book(plan, depth=1))]


PAGES: dict[str, Callable[[], Iterable[str]]] = {
    "city-folder": lambda: (
        "schema", *SETTING_CONDITIONS, *PERIOD_KEYS, "[[period]]",
        *(column for table in TABLES.values() for column in table.columns),
    ),
    "scenarios": lambda: ("title", "shift", *SCENARIO_KEYS, *built_in_names(), *RECORD_COLUMNS, *OF_DEPARTMENT),
    "run-cards": card_columns,
    "audit-log": lambda: (*AUDIT_COLUMNS, *DriftDocument.model_fields, *DriftRowDocument.model_fields),
    "command-line": lambda: POLICY_NAMES,
    "policy-file": lambda: POLICY_NAMES,
    "python": lambda: (*POLICY_NAMES, *runcard.__all__),
}  # fmt: skip
"""By page of the reference: the keys, columns and names that it must explain."""


@pytest.mark.parametrize("page", PAGES)
def test_every_word_of_a_page_is_documented(page: str) -> None:
    """Each key of a file, each column of a table, each policy and each public name stands in its page."""
    text = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
    for word in PAGES[page]():
        assert f"`{word}" in text if page == "python" else f"`{word}`" in text, word


def test_every_policy_is_in_the_readme() -> None:
    """The README lists each policy with the paper's label, or a dash where the paper has none."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    label_of = {name: label for label, name in LABELS.items()}
    for name in POLICY_NAMES:
        assert f"| `{name}` | {label_of.get(name, '–')} |" in text, name


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_every_tensor_of_a_policy_file_is_documented(name: str, tmp_path: Path) -> None:
    """Whatever a policy file holds is listed in the reference, by the row of its policy or among those of all."""
    text = (DOCS / "reference" / "policy-file.md").read_text(encoding="utf-8")
    problem = runcard.dispatch_problem(runcard.generate_grid(side=3, num_stations=3, load=0.1, seed=1))
    path = save_policy(runcard.solve_problem(problem, name), tmp_path / "policy")
    own = next(line for line in text.splitlines() if line.startswith("| ") and f"`{name}`" in line)
    if "as `closest-first`" in own:
        own += next(line for line in text.splitlines() if line.startswith("| `closest-first` |"))
    in_all = text.split("The rest depends on the policy")[0]
    with safe_open(path, framework="numpy") as file:
        for tensor in (key.rpartition("/")[2] for key in file.keys()):  # noqa: SIM118 not a dictionary
            listed = "`table_..." if tensor.startswith("table_") else f"`{tensor}`"
            assert f"`{tensor}`" in text, tensor
            assert listed in in_all or listed in own, tensor
        settings = set(re.findall(r'"settings": \{([^}]*)\}', file.metadata()["runcard"])[0].split('"')[1::2])
    assert all(f"`{setting}`" in own for setting in settings), settings
