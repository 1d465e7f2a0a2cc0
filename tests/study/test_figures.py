"""The figures of the study."""

import re
import sys
from dataclasses import replace
from functools import cache
from itertools import product
from xml.etree import ElementTree

import matplotlib
import pytest
from tests.study.results import made

from runcard.errors import InputError, MissingExtraError
from runcard.mdp.from_city import dispatch_problem
from runcard.study.experiment import experiment_named
from runcard.study.figures import CAPTIONS, POLICY_LOOKS, figure_svg
from runcard.study.tables import ExperimentResult
from runcard.study.tasks import city_of, solved

SVG = "{http://www.w3.org/2000/svg}"


def result_named(name: str) -> ExperimentResult:
    """A result for one of the figures of the package, made smaller."""
    small = {
        "figure-load": {"loads": (0.01, 0.1, 1.0)},
        "figure-gamma": {"gammas": (0.2, 0.6, 1.0)},
        "figure-late": {"sides": (4, 5), "trucks": (3, 4, 5)},
        "figure-map": {"sides": (3,), "trucks": (3,)},
        "figure-seconds-trucks": {"trucks": (3, 5, 7)},
        "figure-seconds-points": {"sides": (5, 10)},
    }
    experiment = replace(experiment_named(name), **small[name])
    return made(experiment, num_graphs=1 if experiment.kind in ("map", "seconds") else 4, seed=1)


FIGURES = (
    "figure-load", "figure-gamma", "figure-late", "figure-map", "figure-seconds-trucks", "figure-seconds-points",
)  # fmt: skip


@cache
def drawn(name: str) -> str:
    """Each figure, drawn once."""
    return figure_svg(result_named(name))


def texts_of(svg: str) -> list[str]:
    """Every text of a figure, in the order of the file."""
    return ["".join(one.itertext()).strip() for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_one_well_formed_element(name: str) -> None:
    """It parses as XML, is an <svg>, has words for those who cannot see it, and does not say when it was made."""
    svg = drawn(name)
    element = ElementTree.fromstring(svg)
    assert element.tag == f"{SVG}svg"
    assert element.get("role") == "img"
    assert element.get("aria-label") == experiment_named(name).title
    assert "<metadata" not in svg
    assert "Matplotlib" not in svg


def test_a_figure_drawn_twice_is_the_same_bytes_whatever_a_person_has_set() -> None:
    """Neither the time nor a person's own settings of matplotlib change it; the report has all of them drawn twice."""
    first = drawn("figure-load")
    with matplotlib.rc_context({"lines.linewidth": 9.0, "font.size": 30.0, "svg.fonttype": "path"}):
        assert figure_svg(result_named("figure-load")) == first


@pytest.mark.slow
def test_ids_of_two_figures_differ_and_their_references_hold() -> None:
    """Figures on one page do not take each other's clip paths and markers."""
    ids = []
    for name in FIGURES:
        svg = drawn(name)
        own = re.findall(r'\bid="([^"]+)"', svg)
        assert set(re.findall(r'(?:url\(|href=")#([^)"]+)', svg)) <= set(own)
        ids += own
    assert len(ids) == len(set(ids))


@pytest.mark.slow
def test_a_title_is_text() -> None:
    """Signs of markup in a title are escaped."""
    result = result_named("figure-load")
    odd = replace(result, experiment=replace(result.experiment, title='a "b" <c> & $d$'))
    assert ElementTree.fromstring(figure_svg(odd)).get("aria-label") == 'a "b" <c> & $d$'


@pytest.mark.parametrize(("num_graphs", "panels"), [(1, 1), (3, 3), (9, 4)])
def test_each_graph_has_a_panel_up_to_those_that_the_experiment_asks_for(num_graphs: int, panels: int) -> None:
    """Four graphs are four panels; more graphs do not make the figure longer, and fewer leave no empty panel."""
    experiment = replace(experiment_named("figure-load"), loads=(0.01, 0.1))
    texts = texts_of(figure_svg(made(experiment, num_graphs=num_graphs)))
    assert [text for text in texts if text.startswith("Graph")] == [f"Graph {one + 1}" for one in range(panels)]


def test_curves_and_panels_are_named() -> None:
    """The legend has OPT and the mean field, without and with correlation; three numbers of trucks are three panels.

    No two policies share a colour or a marker, and each kind of figure that can be drawn has a caption.
    """
    texts = texts_of(drawn("figure-gamma"))
    for policy, side in product(("OPT", "mean field"), ("without", "with")):
        assert f"{policy} {side} correlation" in texts
    panels = [text for text in texts_of(drawn("figure-late")) if text.endswith("trucks")]
    assert panels == ["3 trucks", "4 trucks", "5 trucks"]
    colours, markers = zip(*POLICY_LOOKS.values(), strict=True)
    assert len(set(colours)) == len(set(markers)) == len(POLICY_LOOKS)
    assert {experiment_named(name).kind for name in FIGURES} == CAPTIONS.keys()


def test_a_map_has_the_team_of_each_demand_point_and_counts_the_differences() -> None:
    """Every disc says its team as the optimal policy decides it, and the legend how many teams differ."""
    result = replace(result_named("figure-map"), seed=2)
    setting = result.experiment.settings[0]
    teams = []
    for shared_delay in (0.0, 1.0):
        problem = dispatch_problem(city_of(setting, 0, shared_delay=shared_delay, seed=2))
        policy = solved(problem, "optimal")
        numbers = {station_id: str(i + 1) for i, station_id in enumerate(problem.station_ids)}
        decisions = [policy.decide(problem.trucks, point) for point in range(problem.num_points)]
        teams += ["+".join(numbers[one] for one in decision.team) for decision in decisions]
    differing = sum(one != other for one, other in zip(teams[:9], teams[9:], strict=True))
    assert differing > 0
    svg = figure_svg(result)
    texts = texts_of(svg)
    assert sorted(text for text in texts if "+" in text) == sorted(
        [*teams, *set(teams)]
    )  # each team in the legend, too
    assert svg.count("stroke: #000000; stroke-width: 2.4") == 2 * differing
    assert f"The maps differ here ({differing} of 9)" in texts
    assert texts.count("3") == 2  # the third station's triangle, once on each map


def test_seconds_are_listed_from_the_slowest() -> None:
    """The legend has the order of the lines, and the axis every number of trucks."""
    texts = texts_of(drawn("figure-seconds-trucks"))
    assert texts[-6:] == ["fixed card", "mean field", "OSIA corrected", "OSIA as printed", "OSI", "OPT"]
    assert {"3", "5", "7", "trucks", "seconds"} <= set(texts)
    assert {"25", "100", "demand points"} <= set(texts_of(drawn("figure-seconds-points")))


def test_a_table_is_no_figure() -> None:
    """The message names the experiment."""
    with pytest.raises(InputError, match="table3, which is a table"):
        figure_svg(made(replace(experiment_named("table3"), trucks=(3,), loads=(0.1,))))


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person without the extra reads how to install it."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"runcard\[report\]"):
        figure_svg(result_named("figure-load"))
