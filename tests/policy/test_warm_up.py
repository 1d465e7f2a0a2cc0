"""Kernels made ready before a clock starts."""

from typing import Any

import pytest
from tests.town import plain_town

from runcard.mdp import cpu
from runcard.mdp.from_city import dispatch_problem
from runcard.policy.warm_up import load_kernels


def test_kernels_of_large_problems_are_made_ready_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a problem is large enough for coarse numbers, their kernel runs before the clock starts."""
    is_coarse: list[bool] = []
    improve = cpu.CpuBackend.improve

    def watched(self: cpu.CpuBackend, *args: Any, coarse: bool = False, **options: Any) -> Any:
        is_coarse.append(coarse)
        return improve(self, *args, coarse=coarse, **options)

    monkeypatch.setattr(cpu.CpuBackend, "improve", watched)
    problem = dispatch_problem(plain_town())
    load_kernels(problem, ["closest-first", "optimal"])
    assert not any(is_coarse)
    monkeypatch.setattr(cpu, "SMALL", problem.num_states * problem.num_points)
    load_kernels(problem, ["closest-first", "optimal"])
    assert any(is_coarse)
