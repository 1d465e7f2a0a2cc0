"""What users see of a dozen cities is what it was."""

from pathlib import Path

import pytest
from tests.snapshots.cities import CITIES
from tests.snapshots.frozen import COLUMNS, changed, differences, frozen, made


@pytest.mark.slow
@pytest.mark.parametrize("city", CITIES)
def test_what_users_see_is_what_it_was(city: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No number, key or word of a document, of a page's data or of a table has changed."""
    monkeypatch.setenv("COLUMNS", COLUMNS)
    lines = changed(frozen(city), made(city, tmp_path))
    assert not lines, f"{len(lines)} differences:\n" + "\n".join(lines[:40])


def test_a_changed_number_is_a_difference() -> None:
    """Rounding is no difference, the next digit is; and so are a key more, another word and a number in a text."""
    document = {"late": 0.125, "words": ["in 2.50 min", "s1"], "yes": True, "of": None}
    assert not [*differences(document, {**document, "late": 0.125 * (1.0 + 1e-12)})]
    assert not [*differences(document, {**document, "words": ["in  2.51 min", "s1"]})]
    for key, value in (
        ("late", 0.125 * (1.0 + 1e-8)), ("words", ["in 2.52 min", "s1"]), ("words", ["in 2.50 min", "s2"]),
        ("words", ["in 2.50 min"]), ("yes", 1), ("of", 0.0), ("more", 1),
    ):  # fmt: skip
        assert len([*differences(document, {**document, key: value})]) == 1, (key, value)
