"""The settings of the experiments."""

from importlib.resources import files

import pytest

from runcard.errors import InputError
from runcard.study.experiment import ORDER, Experiment, experiment_named, experiments, parse_experiment
from runcard.study.tables import read_paper

GOOD = """
title = "t"
paper = "p"
kind = "gap"
sides = [6]
trucks = [3]
loads = [0.1]
graphs = 2
policies = ["optimal"]
"""


def test_every_settings_file_is_an_experiment() -> None:
    """Each file of the settings folder is listed, and each listed name has a file."""
    found = {entry.name.removesuffix(".toml") for entry in (files("runcard.study") / "settings").iterdir()}
    assert found == set(ORDER)
    assert [one.name for one in experiments()] == list(ORDER)


@pytest.mark.parametrize("one", experiments(), ids=lambda one: one.name)
def test_what_the_paper_does_not_give_is_said(one: Experiment) -> None:
    """An experiment of the paper without known numbers, or with open settings, has a note."""
    assert one.notes
    assert one.known is None or read_paper(one.known)


def test_the_settings_of_the_paper() -> None:
    """Tables 1 to 4 have the sizes, loads and graphs that the paper's text gives."""
    one, two, three, four = (experiment_named(f"table{n}") for n in (1, 2, 3, 4))
    assert all(table.graphs == 150 and table.gammas == (0.6,) for table in (one, two, three, four))
    assert all(table.trucks == (3, 4, 5, 6) for table in (one, two, three, four))
    assert one.sides == (4, 5, 6, 7, 8)
    assert one.loads == two.loads == (0.1,)
    assert two.sides == three.sides == four.sides == (6,)
    assert three.loads == four.loads == (0.02, 0.04, 0.1, 0.4, 0.6)


def test_settings_are_every_combination() -> None:
    """Sides, trucks, loads and gammas are combined, the last varying fastest."""
    settings = parse_experiment("e", GOOD.replace("[6]", "[4, 5]").replace("[0.1]", "[0.1, 0.2]")).settings
    assert [(one.side, one.load) for one in settings] == [(4, 0.1), (4, 0.2), (5, 0.1), (5, 0.2)]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"gap"', '"gaps"', "kind one of improvement"),
        ("graphs = 2", "graphs = 0", "graphs >= 1, got 0"),
        ("[6]", "[]", r"sides >= 2, got \[\]"),
        ("[0.1]", "[-1.0]", "loads > 0"),
        ("[0.1]", "[nan]", "loads > 0"),
        ('["optimal"]', '["best"]', "policies of closest-first"),
        ('["optimal"]', '["one-step"]', "the policies optimal for this kind"),
        ("graphs = 2", "", "graphs"),
        ("graphs = 2", "graphs = 2\ncolour = 3", "got colour"),
        ("graphs = 2", "graphs = ", "expected TOML"),
        ("graphs = 2", "graphs = 2\nshared_delays = [1.5]", "shared_delays from 0 to 1"),
    ],
)
def test_wrong_settings_are_refused(old: str, new: str, words: str) -> None:
    """A settings file with a mistake is refused with the name of the experiment and what was expected."""
    with pytest.raises(InputError, match=f"the settings of mine: .*{words}"):
        parse_experiment("mine", GOOD.replace(old, new))


def test_unknown_names_get_a_hint() -> None:
    """A name that is nearly right is answered with the right one."""
    with pytest.raises(InputError, match="did you mean table3"):
        experiment_named("tabel3")
