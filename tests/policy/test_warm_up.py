"""Kernels made ready before a clock starts."""

import pytest

from runcard.city import demo_city
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.rows import ValueRule
from runcard.policy import warm_up
from runcard.policy.warm_up import load_kernels


def test_kernels_of_large_problems_are_made_ready_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a problem is large enough for keys of 32 bits, their kernel runs before the clock starts."""
    widths: list[int] = []
    rows = ValueRule.rows
    monkeypatch.setattr(
        ValueRule,
        "rows",
        lambda self, *args, **options: (widths.append(self.key_bits), rows(self, *args, **options))[1],
    )
    problem = dispatch_problem(demo_city())
    load_kernels(problem, ["closest-first", "optimal"])
    assert 32 not in widths
    monkeypatch.setattr(warm_up, "SMALL", 1)
    load_kernels(problem, ["closest-first", "optimal"])
    assert 32 in widths
