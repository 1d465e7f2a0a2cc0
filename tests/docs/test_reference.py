"""The reference is complete: nothing that a user can set is left out of it."""

from pathlib import Path

import typer

import runcard
from runcard.city.settings import KEYS
from runcard.city.tables import TABLES
from runcard.cli import app
from runcard.policy.solve import LABELS

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
    columns = [column.name for table in TABLES for column in table.columns]
    for word in ("schema", *KEYS, *columns):
        assert f"`{word}`" in text, word


def test_every_public_name_is_documented() -> None:
    """Each name of runcard.__all__ stands in the reference."""
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    for name in runcard.__all__:
        assert f"`{name}" in text, name


def test_every_policy_is_in_the_readme() -> None:
    """The README lists each policy with the paper's label."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for label, name in LABELS.items():
        assert f"| `{name}` | {label} |" in text
