"""Files of the policy of one kind, for tests: a plan of one fleet without a roster and without a city."""

import os
from pathlib import Path

from runcard.mdp.problem import DispatchProblem
from runcard.plan.file import load, said_of
from runcard.plan.fleet import fleet_of
from runcard.plan.plan import Plan
from runcard.policy.base import Policy


def save_policy(policy: Policy, path: str | os.PathLike[str]) -> Path:
    """The file that now holds a policy."""
    return Plan(fleets=(fleet_of(policy),)).save(path)


def load_policy(path: str | os.PathLike[str], problem: DispatchProblem | str | None = None) -> Policy:
    """The policy of a file; with a problem or its fingerprint only if it was made for that."""
    (fleet,) = load(path).fleets
    with said_of(path):
        if problem is None:
            return fleet.policy
        return fleet.of_fingerprint(problem) if isinstance(problem, str) else fleet.made_for(problem)
