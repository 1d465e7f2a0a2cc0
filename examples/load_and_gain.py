"""How much the best dispatch gains over closest-first, by load: one random city of the paper, six loads.

Run it with `.venv/bin/python examples/load_and_gain.py`.
"""

import runcard


def late_fractions(load: float) -> tuple[float, float]:
    """The late fractions of closest-first and of the optimal policy at a load."""
    problem = runcard.dispatch_problem(runcard.generate_grid(side=7, num_stations=8, load=load, seed=4))
    closest, optimal = (runcard.evaluate(runcard.solve_problem(problem, name)) for name in ("closest-first", "optimal"))
    assert closest.converged
    assert optimal.converged
    return closest.late_fraction, optimal.late_fraction


def main() -> None:
    """Print the table."""
    print("load   closest-first    optimal   fewer late")
    for load in (0.01, 0.03, 0.1, 0.2, 0.4, 0.8):
        closest, optimal = late_fractions(load)
        print(f"{load:4.2f}   {closest:12.3%}   {optimal:8.3%}   {1 - optimal / closest:9.1%}")


if __name__ == "__main__":
    main()
