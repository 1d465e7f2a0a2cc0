"""Colours and classes of maps: order in black and white, for every eye, and round limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from runcard.page import classes_of, diverging, sequential
from runcard.page.colours import lightness

# What people without one kind of cones see of red, green and blue, in linear light (Viénot, Brettel and Mollon 1999).
CONE_LOSS = {
    "no red": [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]],
    "no green": [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]],
}


def seen(colour: str, loss: list[list[float]]) -> np.ndarray:
    """A colour in linear light, as somebody sees it who lacks a kind of cones."""
    channels = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255.0
    return np.array(loss) @ channels**2.2


@pytest.mark.parametrize("num", range(2, 10))
def test_a_sequence_darkens_by_equal_steps(num: int) -> None:
    """So that a print in black and white keeps the order, and all differences are equally clear."""
    steps = np.diff([lightness(one.colour) for one in sequential(num)])
    assert (steps < 0.0).all()
    assert steps == pytest.approx(np.full(num - 1, steps.mean()), abs=1.5)


def test_lightness_is_that_of_the_standard() -> None:
    """Black is 0, white is 100, and the middle grey of the standard, #777777, is 50.03."""
    assert lightness("#000000") == pytest.approx(0.0)
    assert lightness("#FFFFFF") == pytest.approx(100.0, abs=0.01)
    assert lightness("#777777") == pytest.approx(50.03, abs=0.01)


@pytest.mark.parametrize("num", range(2, 10))
def test_the_sides_of_a_diverging_ramp_differ_in_print_and_for_every_eye(num: int) -> None:
    """One side is hatched, equally dark; blue stays bluer than orange without any kind of red or green cones."""
    swatches = diverging(num)
    assert len(swatches) == num
    for blue, orange in zip(swatches[: num // 2], reversed(swatches[-(num // 2) :]), strict=True):
        assert (blue.hatch, orange.hatch) == ("", "/")
        assert lightness(blue.colour) == pytest.approx(lightness(orange.colour), abs=1.5)
        for loss in CONE_LOSS.values():
            (red, _, bluish), (other_red, _, other_bluish) = seen(blue.colour, loss), seen(orange.colour, loss)
            assert bluish > red
            assert other_bluish < other_red


def test_an_odd_diverging_ramp_has_a_white_middle() -> None:
    """Where nothing changes, nothing is coloured or hatched."""
    assert lightness(diverging(7)[3].colour) > 95.0
    assert diverging(7)[3].hatch == ""


@given(some.lists(some.floats(0.0, 1.0), min_size=1, max_size=60), some.integers(2, 8))
def test_every_value_is_in_the_class_that_its_label_says(values: list[float], num: int) -> None:
    """Limits increase, every class has a label of its own, no class at an end is empty, and there are not too many."""
    classes = classes_of(values, num=num)
    assert 1 <= len(classes) <= num
    assert list(classes.limits) == sorted(set(classes.limits))
    assert len(set(classes.labels)) == len(classes) == len(classes.limits) + 1
    numbers = [classes.of(value) for value in values]
    for value, number in zip(values, numbers, strict=True):
        assert number == 0 or value >= classes.limits[number - 1]
        assert number == len(classes.limits) or value < classes.limits[number]
    if len(classes) > 1:
        assert {0, len(classes) - 1} <= set(numbers)


def test_limits_are_round() -> None:
    """Percentages of one or two digits, in words."""
    values = np.random.default_rng(1).beta(1.0, 20.0, 540)
    labels = ("under 1 %", "1 to 2 %", "2 to 4 %", "4 to 6 %", "6 to 10 %", "10 % and more")
    assert classes_of(values).labels == labels


def test_classes_hold_about_equal_shares() -> None:
    """On smooth values no class has more than twice its share."""
    values = np.random.default_rng(2).gamma(3.0, 2.0, 2000)
    classes = classes_of(values, num=5, label=lambda minutes: f"{minutes:g} min")
    assert np.bincount([classes.of(value) for value in values]).max() < 2 * len(values) / 5


@pytest.mark.parametrize("num", [5, 6, 7])
def test_symmetric_classes_mirror_each_other(num: int) -> None:
    """As many below 0 as above; an odd number has one around 0."""
    classes = classes_of(np.random.default_rng(3).normal(0.004, 0.01, 300), num=num, symmetric=True)
    assert len(classes) == num
    assert classes.limits == pytest.approx([-limit for limit in reversed(classes.limits)])
    assert (0.0 in classes.limits) == (num % 2 == 0)


@pytest.mark.parametrize("symmetric", [True, False])
def test_equal_values_are_one_class(symmetric: bool) -> None:
    """Also none at all, or values that are unknown."""
    assert len(classes_of([0.0, 0.0], symmetric=symmetric)) == 1
    assert len(classes_of([], symmetric=symmetric)) == 1
    assert classes_of([np.nan, 0.2]).labels == ("20 %",)


def test_a_legend_has_a_row_for_each_class() -> None:
    """In the form that the map reads."""
    legend = classes_of([0.01, 0.02, 0.03, 0.5], num=2).legend(sequential(2))
    assert [set(row) for row in legend] == [{"colour", "hatch", "label"}] * 2
