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
"""What `runcard decide --json` said when the files were written, with the keys of that time."""
OF_OPTION = ("p_late", "price", "first_minutes", "last_minutes")


def as_before(answer: dict[str, Any], now: dict[str, Any]) -> tuple[Any, Any]:
    """What an answer said and says now: units, chances, minutes and prices, of other choices too."""
    kinds = answer.get("kinds", [answer])
    prices = {name: price for kind in kinds for name, price in kind["truck_prices"].items()}
    pairs = [*zip(kinds, now["kinds"], strict=True)]
    names = [[name for name in OF_OPTION if name in kind] for kind in kinds]
    before = [_kind(kind, "team", kind.get("standards"), own) for kind, own in zip(kinds, names, strict=True)]
    after = [
        _kind(kind, "units", kind["standards"] if "standards" in old else None, own)
        for (old, kind), own in zip(pairs, names, strict=True)
    ]
    keys = [key for key in ("team", "p_late", "price", "period") if key in answer]
    return (
        [{key: answer[key] for key in keys}, prices, before],
        [{key: now[key] for key in keys}, now["truck_prices"], after],
    )


def _kind(kind: dict[str, Any], team: str, standards: list[dict[str, Any]] | None, names: list[str]) -> list[Any]:
    """What one kind sends, the chance to miss each standard, and the other choices."""
    options = [kind, *kind["alternatives"]]
    missed = [of["p_miss"] if "p_miss" in of else 1.0 - of["chance"] for of in standards or []]
    return [missed, *([option[team], *(option[name] for name in names)] for option in options)]


@pytest.mark.parametrize("path", sorted(OLD.glob("*.policy")), ids=lambda path: path.name)
def test_an_old_file_decides_as_it_did(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every answer is what the version that wrote the file said: units, chances, minutes, prices and alternatives."""
    asked: list[dict[str, Any]] = [answer for answer in ANSWERS if answer["file"] == path.name]
    assert asked
    for answer in asked:
        assert main(["decide", str(path), *answer["asked"], "--json"]) == 0
        assert list(differences(*as_before(answer["answer"], json.loads(capsys.readouterr().out)))) == []
