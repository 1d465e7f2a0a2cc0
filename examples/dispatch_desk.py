"""A dispatch desk in thirty lines: solve once, save, load, and answer a made-up evening of incidents with reasons.

Run it with `.venv/bin/python examples/dispatch_desk.py`.
"""

import tempfile
from pathlib import Path

import numpy as np

import runcard
from runcard.plan.situation import Situation


def main() -> None:
    """Print who goes to each of five incidents; units stay out, so later incidents find fewer idle."""
    city = runcard.demo_city()
    with tempfile.TemporaryDirectory() as folder:
        path = runcard.solve(city, "optimal").save(Path(folder) / "town.policy")
        plan = runcard.load(path, city)
        idle = set(plan.unit_ids)
        rng = np.random.default_rng(7)
        shares = np.array([point.incidents_per_day for point in city.demand]) / city.incidents_per_day
        for number in rng.choice(len(city.demand), 5, p=shares):
            point = city.demand[number]
            decision = plan.decide(Situation(at=point.node_id, type=point.type, idle=idle))
            idle -= set(decision.units)  # those from outside are not among them
            print(f"{point.type} at {point.node_id}: send {', '.join(decision.units)}; {len(idle)} units left")
            for one in decision.kinds:
                missed = one.fleet.chances(one.point, one.decision)
                rules = [standard.rule for standard in one.fleet.standards_at(one.point)]
                met = ", ".join(f"{rule} {1 - chance:.1%}" for rule, chance in zip(rules, missed, strict=True))
                print(f"    {one.fleet.kind}: {met}; price {one.decision.price:.2%}")


if __name__ == "__main__":
    main()
