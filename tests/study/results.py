"""Results of studies with made-up numbers, for tests of what is shown of them."""

from itertools import product

import numpy as np

from runcard.study.experiment import Experiment
from runcard.study.tables import ExperimentResult


def made(experiment: Experiment, *, num_graphs: int = 150, seed: int = 7) -> ExperimentResult:
    """A result in which other policies are late somewhat less often than closest-first, and seconds grow by policy."""
    combinations = product(experiment.settings, range(num_graphs), experiment.shared_delays, experiment.policies)
    keys = [(one.side, one.trucks, one.load, one.gamma, *rest) for one, *rest in combinations]
    names = ("side", "trucks", "load", "gamma", "graph", "shared_delay", "policy")
    rows = dict(zip(names, map(np.array, zip(*keys, strict=True)), strict=True))
    spread = np.random.default_rng(seed).random(len(keys))
    rows["late_fraction"] = np.where(rows["policy"] == "closest-first", 0.2, 0.16 + 0.04 * spread)
    order = {policy: place for place, policy in enumerate(experiment.policies)}
    rows["seconds"] = np.array([rows["trucks"][i] * 0.001 * 10.0 ** order[key[-1]] for i, key in enumerate(keys)])
    return ExperimentResult(experiment=experiment, seed=seed, rows=rows)
