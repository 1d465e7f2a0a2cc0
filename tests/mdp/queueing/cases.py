"""The queues of a problem in every version."""

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.problem import DispatchProblem
from runcard.mdp.queueing import TruckQueues
from runcard.mdp.queueing.fixed_point import request_rates


def queues_of(problem: DispatchProblem, kind: str = "relaxing", horizon: float = 2.0) -> TruckQueues:
    """The queues of a problem: "relaxing", "fixed" or "printed", or with only "printed rates" or "printed chances"."""
    return TruckQueues(
        name=kind, problem=problem, horizon=horizon, relaxing=kind == "relaxing",
        printed_chances=kind in ("printed", "printed chances"), printed_rates=kind in ("printed", "printed rates"),
    )  # fmt: skip


def rates_of(queues: TruckQueues, busy: NDArray[np.float64]) -> NDArray[np.float64]:
    """[N] the rates that chances [N] give."""
    every = queues.independent.with_outside(busy)
    asked = np.zeros_like(every)
    request_rates(queues.arrays, every, asked)
    return asked[: len(busy)]


def chances_of(queues: TruckQueues, demand: NDArray[np.float64], idle: NDArray[np.int64]) -> NDArray[np.float64]:
    """[N] the chances that rates [N] give, from the relative costs of each queue as the paper writes them."""
    load = np.maximum(demand / queues.problem.returns_per_day, 1e-30)
    share, now = load / (1.0 + load), idle == 1
    if queues.relaxing:
        return np.where(now, share - share / queues.horizon, share + (1.0 - share) / queues.horizon)
    if queues.printed_chances:
        cost = np.where(now, share**2 - share, share**2)
    else:
        cost = np.where(now, -(share**2), share - share**2)
    return (share + cost / (load * queues.horizon)).clip(0.0, 1.0)


def orders(problem: DispatchProblem) -> list[list[int]]:
    """The trucks of a problem in the order of each demand point."""
    station = np.repeat(np.arange(problem.num_stations), problem.trucks)
    return [[int(n) for i in order for n in np.flatnonzero(station == i)] for order in problem.order]
