"""The reference is complete: nothing that a user can set is left out of it."""

import re
from pathlib import Path

import pytest
import typer
from safetensors import safe_open

import runcard
from runcard.city.conditions import SETTING_CONDITIONS
from runcard.city.tables import TABLES
from runcard.cli import app
from runcard.outputs.records import COLUMNS as RECORD_COLUMNS
from runcard.outputs.records import OF_DEPARTMENT
from runcard.policy.solve import LABELS, POLICY_NAMES
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


def test_every_key_and_column_of_a_city_folder_is_documented() -> None:
    """Each key of city.toml and each column of the tables stands in the reference."""
    text = (DOCS / "reference" / "city-folder.md").read_text(encoding="utf-8")
    columns = [column for table in TABLES for column in table.columns]
    for word in ("schema", *SETTING_CONDITIONS, *columns):
        assert f"`{word}`" in text, word


def test_every_key_of_a_scenario_is_documented() -> None:
    """Each key of a scenario file, each built-in scenario and each column of the records stands in the reference."""
    text = (DOCS / "reference" / "scenarios.md").read_text(encoding="utf-8")
    for word in ("title", "shift", *SCENARIO_KEYS, *built_in_names(), *RECORD_COLUMNS, *OF_DEPARTMENT):
        assert f"`{word}`" in text, word


def test_every_public_name_is_documented() -> None:
    """Each name of runcard.__all__ stands in the reference."""
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    for name in runcard.__all__:
        assert f"`{name}" in text, name


def test_every_policy_is_in_the_readme() -> None:
    """The README lists each policy with the paper's label, or a dash where the paper has none."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    label_of = {name: label for label, name in LABELS.items()}
    for name in POLICY_NAMES:
        assert f"| `{name}` | {label_of.get(name, '–')} |" in text, name


@pytest.mark.parametrize("page", ["command-line", "policy-file", "python"])
def test_every_policy_is_in_the_reference(page: str) -> None:
    """Each page of the reference that has to do with policies names all of them."""
    text = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
    for name in POLICY_NAMES:
        assert f"`{name}`" in text, name


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_every_tensor_of_a_policy_file_is_documented(name: str, tmp_path: Path) -> None:
    """Whatever a policy file holds is listed in the reference, by the row of its policy or among those of all."""
    text = (DOCS / "reference" / "policy-file.md").read_text(encoding="utf-8")
    problem = runcard.dispatch_problem(runcard.generate_grid(side=3, num_stations=3, load=0.1, seed=1))
    path = runcard.save_policy(runcard.solve(problem, name), tmp_path / "policy")
    own = next(line for line in text.splitlines() if line.startswith("| ") and f"`{name}`" in line)
    if "as `closest-first`" in own:
        own += next(line for line in text.splitlines() if line.startswith("| `closest-first` |"))
    in_all = text.split("The rest depends on the policy")[0]
    with safe_open(path, framework="numpy") as file:
        for tensor in file.keys():  # noqa: SIM118 not a dictionary
            listed = "`table_..." if tensor.startswith("table_") else f"`{tensor}`"
            assert f"`{tensor}`" in text, tensor
            assert listed in in_all or listed in own, tensor
        settings = set(re.findall(r'"settings": \{([^}]*)\}', file.metadata()["runcard"])[0].split('"')[1::2])
    assert all(f"`{setting}`" in own for setting in settings), settings
