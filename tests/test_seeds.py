"""Tests of many seeds are one test each."""

import inspect

import pytest
from tests.seeds import each_seed


def test_every_seed_is_tried_and_the_one_that_fails_is_named() -> None:
    """A test runs for each seed up to the first that fails, whose error says so; other arguments are handed on."""
    seen: list[tuple[int, str]] = []

    @each_seed(5)
    def check(seed: int, name: str) -> None:
        seen.append((seed, name))
        assert seed < 3

    assert [*inspect.signature(check).parameters] == ["name"]
    with pytest.raises(AssertionError) as caught:
        check(name="a")
    assert seen == [(seed, "a") for seed in range(4)]
    assert caught.value.__notes__ == ["with seed 3"]
