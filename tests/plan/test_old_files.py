"""Policy files of the formats before: what was written before there was one format is read, and decides as it did."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import DATA
from tests.snapshots.frozen import differences

from runcard.cli import main

OLD = DATA / "old-policies"
"""A policy of one kind without a city, departments with and without a roster and classes, and two weeks."""
ANSWERS = json.loads((OLD / "answers.json").read_text())


@pytest.mark.parametrize("path", sorted(OLD.glob("*.policy")), ids=lambda path: path.name)
def test_an_old_file_decides_as_it_did(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every answer is what the version that wrote the file said: units, chances, minutes, prices and alternatives."""
    asked: list[dict[str, Any]] = [answer for answer in ANSWERS if answer["file"] == path.name]
    assert asked
    for answer in asked:
        assert main(["decide", str(path), *answer["asked"], "--json"]) == 0
        assert list(differences(answer["answer"], json.loads(capsys.readouterr().out))) == []
