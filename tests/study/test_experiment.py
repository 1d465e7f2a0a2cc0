"""The settings of the experiments."""

from dataclasses import replace

import pytest

from runcard.errors import InputError
from runcard.policy.solve import POLICY_NAMES
from runcard.study.experiment import IGNORING, Experiment, experiment_named, experiments
from runcard.study.tables import OURS, read_paper

NEEDED = {
    "improvement": {"closest-first", "optimal"},
    "range": {"closest-first", "optimal", *OURS},
    "gap": {"optimal"},
    "ignoring": {"optimal", f"optimal{IGNORING}"},
    "against-load": {"closest-first", "optimal"},
    "against-gamma": {"closest-first", "optimal"},
    "late": {"optimal"},
    "map": {"optimal"},
    "seconds": set(),
}
"""By kind: the policies that it cannot do without."""


def test_the_order_of_the_report() -> None:
    """The paper's tables come first, then its figures, its appendix and what it does not have; times come last."""
    names = [one.name.partition("-")[0] for one in experiments()]
    assert list(dict.fromkeys(names[:-2])) == ["table1", "table2", "table3", "table4", "figure", "appendix", "larger"]
    assert [one.kind for one in experiments()[-2:]] == ["seconds", "seconds"]
    assert len({one.name for one in experiments()}) == len(experiments()) == 15


def test_the_settings_of_the_paper() -> None:
    """Tables 1 to 4 have the sizes, loads and graphs that the paper's text gives."""
    one, two, three, four = (experiment_named(f"table{n}") for n in (1, 2, 3, 4))
    assert all(table.graphs == 150 and table.gammas == (0.6,) for table in (one, two, three, four))
    assert all(table.trucks == (3, 4, 5, 6) for table in (one, two, three, four))
    assert one.sides == (4, 5, 6, 7, 8)
    assert one.loads == two.loads == (0.1,)
    assert two.sides == three.sides == four.sides == (6,)
    assert three.loads == four.loads == (0.02, 0.04, 0.1, 0.4, 0.6)


@pytest.mark.parametrize("one", experiments(), ids=lambda one: one.name)
def test_the_settings_make_sense(one: Experiment) -> None:
    """Sizes, loads and chances are in range, each kind has the policies that it needs, and notes say the rest."""
    assert one.graphs >= 1
    assert min(one.sides) >= 2
    assert min(one.trucks) >= 1
    assert all(0.0 < number < 10.0 for number in (*one.loads, *one.gammas))
    assert all(0.0 <= chance <= 1.0 for chance in one.shared_delays)
    assert {policy.removesuffix(IGNORING) for policy in one.policies} <= set(POLICY_NAMES)
    assert set(one.policies) >= NEEDED[one.kind]
    assert one.notes
    assert one.known is None or read_paper(one.known)


def test_settings_are_every_combination() -> None:
    """Sides, trucks, loads and gammas are combined, the last varying fastest."""
    settings = replace(experiment_named("table3"), sides=(4, 5), trucks=(3,), loads=(0.1, 0.2)).settings
    assert [(one.side, one.load) for one in settings] == [(4, 0.1), (4, 0.2), (5, 0.1), (5, 0.2)]


def test_unknown_names_get_a_hint() -> None:
    """A name that is nearly right is answered with the right one."""
    with pytest.raises(InputError, match="did you mean table3"):
        experiment_named("tabel3")
