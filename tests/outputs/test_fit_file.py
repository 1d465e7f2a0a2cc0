"""What a fit wrote beside a city, and the words that come before the numbers of a bad one."""

from pathlib import Path

import pytest

from runcard.outputs.fit_file import care_line, care_words, fit_faults, read_fit


def test_a_damaged_fit_is_as_none(tmp_path: Path) -> None:
    """A report does not fail because of a file that it could do without."""
    assert read_fit(tmp_path) is None
    for text in ("{", "[1]", "\x00"):
        (tmp_path / "fit.json").write_text(text)
        assert read_fit(tmp_path) is None
    (tmp_path / "fit.json").write_text('{"numbers": []}')
    assert read_fit(tmp_path) == {"numbers": []}


@pytest.mark.parametrize("damaged", [None, {}, {"goodness": 3}, {"goodness": {}}, {"goodness": {"faults": "bad"}}])
def test_without_faults_there_is_nothing_to_say(damaged: dict[str, object] | None) -> None:
    """Neither of no fit, nor of a file that is not what it should be."""
    assert fit_faults(damaged) == ()
    assert care_words(fit_faults(damaged)) == ""


def test_faults_are_counted_in_words() -> None:
    """As the fit says them; what is no text is left out."""
    faults = fit_faults({"goodness": {"faults": ["Roads are wrong.", 7, "Incidents come in bursts."]}})
    assert faults == ("Roads are wrong.", "Incidents come in bursts.")
    assert "the fit is bad in 2 ways" in care_words(faults)
    assert "the fit is bad in 1 way (" in care_words(faults[:1])
    of_unit = "E38 changes, and its work is off by more than a third."  # a part of the way that names all such units
    for words in (care_words((of_unit, *faults)), care_line((of_unit, *faults))):
        assert "the fit is bad in 2 ways" in words
        assert of_unit in words
    assert care_line(faults).endswith("the fit is bad in 2 ways, which fit.html lists. Roads are wrong.")
    assert care_line(faults[1:]).endswith("the fit is bad in 1 way. Incidents come in bursts.")
    assert care_line(()) == ""
