"""A dispatch desk in thirty lines: solve once, save, load, and answer a made-up evening of incidents with reasons.

Run it with `.venv/bin/python examples/dispatch_desk.py`.
"""

import tempfile
from pathlib import Path

import numpy as np

import runcard


def main() -> None:
    """Print a decision for each of five incidents; trucks stay out, so later ones find fewer idle."""
    problem = runcard.dispatch_problem(runcard.demo_city())
    with tempfile.TemporaryDirectory() as folder:
        path = runcard.save_policy(runcard.solve(problem, "optimal"), Path(folder) / "town.policy")
        policy = runcard.load_policy(path, problem)
        stations = policy.problem.station_ids
        idle = policy.problem.trucks.copy()
        rng = np.random.default_rng(7)
        busy_places = problem.incidents_per_day / problem.incidents_per_day.sum()
        for point in rng.choice(problem.num_points, 5, p=busy_places):
            decision = policy.decide(idle, int(point))
            for station_id in decision.team:
                if station_id in stations:
                    idle[stations.index(station_id)] -= 1
            team = " and ".join(decision.team)
            print(
                f"{policy.problem.point_ids[point]:12} send {team:24} "
                f"P(late) {decision.p_late:6.2%} + price {decision.price:6.2%}, {idle.sum()} trucks left"
            )


if __name__ == "__main__":
    main()
