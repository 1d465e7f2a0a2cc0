"""The curve of late fraction against mean response minutes."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runcard.assess.assessment import Assessment
from runcard.city import generate_grid
from runcard.errors import InputError, MissingExtraError
from runcard.outputs.curve import draw_curve, weight_figure
from runcard.outputs.weights import compare_weights


@pytest.fixture(scope="module")
def curves() -> dict[str, Assessment]:
    """Three policies of a small grid city."""
    city = generate_grid(side=4, num_stations=4, load=0.2, seed=5)
    return compare_weights(city, [0.003, 0.01, 0.03, 0.1, 1.0], ["optimal", "closest-first", "one-step"])


def test_every_point_is_where_its_numbers_say(curves: dict[str, Assessment]) -> None:
    """Each policy is a line through mean minutes and late percent, in the order of the weights."""
    (axes,) = weight_figure(curves).axes
    assert [line.get_label() for line in axes.lines] == list(curves)
    for line, points in zip(axes.lines, curves.values(), strict=True):
        expected = [(point.first_minutes, 100.0 * point.missed.value) for point in points]
        assert np.array_equal(line.get_xydata(), expected)


def test_every_weight_is_named_alone_or_in_a_range(curves: dict[str, Assessment]) -> None:
    """Closest-first, whose points are one, has one range for all of them; the ends of the others are named."""
    (axes,) = weight_figure(curves).axes
    words = [text.get_text() for text in axes.texts]
    assert "0 to 1" in words
    assert sum(text.startswith("0") for text in words) >= 3
    assert any(text.endswith("1") for text in words)


def test_no_policy_is_in_the_shaded_region(curves: dict[str, Assessment]) -> None:
    """Every point lies on or above its edge, those of the optimal policy on it; without that nothing is shaded."""
    (axes,) = weight_figure(curves).axes
    (shaded,) = axes.collections
    (edge,) = (path.vertices for path in shaded.get_paths())
    minutes, late = edge[edge[:, 1] > edge[:, 1].min()].T
    order = np.argsort(minutes)
    spread = np.ptp(axes.get_ylim())
    for policy, points in curves.items():
        for point in points:
            limit = np.interp(point.first_minutes, minutes[order], late[order])
            assert 100.0 * point.missed.value >= limit - 0.01 * spread
            assert policy != "optimal" or 100.0 * point.missed.value <= limit + 0.02 * spread
    figure = weight_figure({name: of for name, of in curves.items() if name != "optimal"})
    assert not figure.axes[0].collections
    assert "Grey" not in figure.get_supxlabel()


def test_the_same_curve_is_the_same_file(curves: dict[str, Assessment], tmp_path: Path) -> None:
    """Files have no date in them, so that drawing again changes nothing."""
    for ending in ("svg", "png"):
        one, two = (draw_curve(curves, tmp_path / f"{name}.{ending}") for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
    assert (tmp_path / "one.svg").read_bytes().startswith(b"<?xml")


def test_names_and_single_points_can_be_drawn(curves: dict[str, Assessment], tmp_path: Path) -> None:
    """A dollar sign in a name starts no formula, and one point alone is no reason to fail."""
    closest = curves["closest-first"]
    odd = replace(closest, city=replace(closest.city, name="$x^{$ & _y_"), outcomes=closest.outcomes[:1])
    assert draw_curve({"closest-first": odd}, tmp_path / "curve.png").stat().st_size > 1000


def test_another_ending_is_refused(curves: dict[str, Assessment], tmp_path: Path) -> None:
    """The message names the endings, and nothing is written."""
    with pytest.raises(InputError, match=r"expected a curve to end in \.png, \.svg, \.pdf, got '\.docx'"):
        draw_curve(curves, tmp_path / "curve.docx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("module", ["matplotlib", "matplotlib.figure"])
def test_without_matplotlib_the_error_names_the_extra(
    curves: dict[str, Assessment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    """A person without the extra reads how to install it."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"the curve needs matplotlib.*runcard\[report\]"):
        draw_curve(curves, tmp_path / "curve.svg")
