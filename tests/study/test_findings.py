"""The findings and their evidence: each derivation against something independent, and that the claims hold."""

from decimal import Decimal, localcontext
from itertools import combinations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma

from runcard.errors import InputError
from runcard.mdp.from_city import dispatch_problem
from runcard.policy.queueing import QueueingPolicy
from runcard.policy.solve import evaluate, solve_problem
from runcard.response.routes import find_routes
from runcard.study.evidence import Evidence, Graphs, Share, off_paper, setting_of, share_in_paper, share_kept
from runcard.study.findings import FINDINGS, derive
from runcard.study.findings_cities import late_of_sparseness, late_of_weights
from runcard.study.findings_model import empty_parts, proposition_one
from runcard.study.findings_queueing import CORRECTED, NORMALISED, PRINTED, Version, late_of_versions
from runcard.study.tasks import Task, city_of, run_task


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 10))
def test_every_finding_holds(number: int) -> None:
    """On 20 to 60 graphs every claim is supported, and what supports it can be read in lines of a terminal."""
    found = derive(number, num_graphs={2: 30, 3: 30, 6: 60}.get(number, 20), seed=2)
    assert found.holds
    assert len(found.lines) > len(found.rows) >= 1


def test_other_findings_are_refused() -> None:
    """There are nine, with titles and claims; another number, a single graph and a gain of nothing are sentences."""
    assert list(FINDINGS) == list(range(1, 10))
    assert all(finding.title and finding.claim.endswith(".") for finding in FINDINGS.values())
    for number in (0, 10, -1):
        with pytest.raises(InputError, match=f"expected a finding from 1 to 9, got {number}"):
            derive(number)
    with pytest.raises(InputError, match="expected at least 2 graphs for a finding, got 1"):
        derive(2, num_graphs=1)
    with pytest.raises(InputError, match="take more of them"):
        share_kept(np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("number", [3, 5, 9])
def test_workers_do_not_matter(number: int) -> None:
    """One process and two find the same, to the last letter; another seed means other graphs."""
    lines = derive(number, num_graphs=3, seed=1, jobs=1).lines
    assert derive(number, num_graphs=3, seed=1, jobs=2).lines == lines != derive(number, num_graphs=3, seed=2).lines


def test_lines_are_aligned() -> None:
    """The columns of a table stand under each other, as wide as they must be, and sentences follow."""
    found = Evidence(heads=("a", "load"), rows=(("10", "1"), ("1", "0.02")), notes=("A sentence.",), holds=True)
    assert found.lines == (" a  load", "10     1", " 1  0.02", "A sentence.")


def test_tau_by_hand() -> None:
    """Three trucks, busy for an hour, 7.2 incidents a day: with all of them busy, 79.2 moves a day against τ = 10.2."""
    found = derive(1)
    days, hours, _ = found.rows
    assert days == ("days", "24", "10.2", f"{1 - 79.2 / 10.2:.3g}", f"{79.2 / 10.2:.3g}", "79.2", "0")
    assert hours[2] == hours[5]
    assert found.holds


@pytest.mark.parametrize(("parts", "t"), [((1, 1, 1), 0.5), ((2, 3, 1), 4.0), ((4, 2, 5), 6.0), ((3, 6, 6), 2.0)])
def test_proposition_one_is_what_it_says(parts: tuple[int, int, int], t: float) -> None:
    """For short routes the printed sum, in double and with 60 digits, is the probability by numerical integration."""
    w0, w1, w2 = parts

    def late_after(y: float) -> float:
        return float(gamma.pdf(y, w0) * gamma.sf(t - y, w1) * gamma.sf(t - y, w2))

    expected = gamma.sf(t, w0) + quad(late_after, 0.0, t, epsabs=1e-13)[0]
    assert proposition_one(*parts, t) == pytest.approx(expected, rel=1e-9)
    with localcontext() as context:
        context.prec = 60
        assert float(proposition_one(*parts, Decimal(t))) == pytest.approx(expected, rel=1e-9)


def test_proposition_one_cancels() -> None:
    """For routes of 30 links it is no probability any more in double precision."""
    assert not 0.0 <= proposition_one(10, 20, 20, 24.0) <= 1.0
    assert derive(9, num_graphs=2).holds


def test_empty_parts_by_listing_them() -> None:
    """The part of pairs of routes of which one contains the other, one by one."""
    routes = find_routes(city_of(setting_of(5, 0.1), 3, shared_delay=1.0, seed=1))
    empty = [
        routes.shared_links[i, k, j] in (routes.num_links[i, j], routes.num_links[k, j])
        for i, k in combinations(range(5), 2)
        for j in range(36)
    ]
    assert empty_parts(graph=3, seed=1) == [pytest.approx(np.mean(empty))]


def late_of_study(policies: tuple[str, ...], trucks: int, load: float, graph: int) -> list[float]:
    """The late fractions that the study finds, uncorrelated."""
    task = Task(
        setting=setting_of(trucks, load), first=graph, stop=graph + 1, shared_delays=(0.0,), policies=policies, seed=1
    )
    return [row["late_fraction"] for row in run_task(task)]


def test_readings_begin_with_that_of_the_study() -> None:
    """The first reading of sparseness and of rates is what the study does; the others are other cities."""
    expected = late_of_study(("closest-first", "optimal"), 4, 0.1, 2)
    sparseness = late_of_sparseness(setting_of(4, 0.1), graph=2, seed=1)
    weights = late_of_weights(setting_of(4, 0.1), graph=2, seed=1)
    assert sparseness[:2] == expected
    assert weights[:2] == pytest.approx(expected, rel=1e-12)
    pairs = {*zip(sparseness[::2], sparseness[1::2], strict=True), *zip(weights[2::2], weights[3::2], strict=True)}
    assert len(pairs) == 4
    assert all(best <= closest for closest, best in pairs)


def test_versions_are_those_that_can_be_named() -> None:
    """As printed with T = 1/μ, and corrected with T = 2/μ, are the policies of those names."""
    setting = setting_of(4, 0.1)
    versions = (Version(1.0, printed=True), CORRECTED, PRINTED, NORMALISED)
    *named, two_printed, normalised = late_of_versions(setting, 0.0, versions, graph=1, seed=1)
    expected = late_of_study(("closest-first", "optimal", "one-step-queueing-printed"), 4, 0.1, 1)
    problem = dispatch_problem(city_of(setting, 1, shared_delay=0.0, seed=1), minutes=False)
    expected.append(evaluate(solve_problem(problem, "one-step-queueing", horizon_busy_times=2.0)).late_fraction)
    assert named == pytest.approx(expected, rel=1e-12)
    assert min(two_printed, normalised) >= named[1]


def test_printed_rates_alone() -> None:
    """Only the rates as printed is a version of its own: another name, other prices, and every team is looked at."""
    problem = dispatch_problem(city_of(setting_of(5, 0.4), 0, shared_delay=0.0, seed=1), minutes=False)
    versions = [
        QueueingPolicy(problem=problem, horizon_busy_times=2.0, printed=printed, printed_rates=rates)
        for printed, rates in ((False, False), (False, True), (True, False), (True, True))
    ]
    names = [policy.name for policy in versions]
    assert names == ["one-step-queueing", "one-step-queueing-printed-rates"] + ["one-step-queueing-printed"] * 2
    assert [policy.queues.unique for policy in versions] == [True, False, False, False]
    teams = np.flatnonzero(problem.teams.sizes == 2)
    corrected, rates, printed, both = (policy.prices(problem.trucks, teams) for policy in versions)
    np.testing.assert_array_equal(printed, both)
    assert np.abs(corrected - rates).max() > 1e-4
    assert np.abs(printed - rates).max() > 1e-4
    decision = versions[1].decide(problem.trucks, 3)
    total = problem.cost[teams, 3] + rates
    assert decision.total == pytest.approx(total.min(), rel=1e-9)


def test_share_by_hand() -> None:
    """Gains of 1 and 3 where the optimum has 2 and 4: a share of 2/3, with d = ∓1/3 and a standard error of 1/9."""
    share = share_kept(np.array([1.0, 3.0]), np.array([2.0, 4.0]))
    assert share.value == pytest.approx(2 / 3)
    assert share.error == pytest.approx(1 / 9)
    assert share.words == "66.7 ± 11.1"


def test_error_of_a_share_is_that_of_many_samples() -> None:
    """The standard error of a share is the spread of the shares of other samples, within a tenth."""
    rng = np.random.default_rng(0)

    def sample() -> Share:
        best = rng.exponential(10.0, 200)
        return share_kept(best * rng.uniform(0.2, 1.0, 200), best)

    shares = [sample() for _ in range(2000)]
    spread = np.std([share.value for share in shares])
    assert np.mean([share.error for share in shares]) == pytest.approx(spread, rel=0.1)


def test_distance_from_the_share_of_the_paper() -> None:
    """At 5 trucks and load 0.02 the paper keeps 8.56/15.71; an error on 150 graphs counts twice, and rounding once."""
    paper = share_in_paper(5, 0.02, 0.0)
    assert paper == pytest.approx(8.56 / 15.71)
    off = off_paper(Share(value=paper + 0.03, error=0.01), 5, 0.02, 0.0, 150)
    rounding = (0.01 / 15.71) ** 2 * (1 + paper**2) / 12
    assert off == pytest.approx(0.03 / np.sqrt(2 * 0.01**2 + rounding))


def test_measurements_are_by_cell_and_graph() -> None:
    """What is measured comes back as [cells, graphs, numbers], in order."""
    found = Graphs(num=3, seed=7).measure(_numbers, [(10.0,), (20.0,)])
    np.testing.assert_array_equal(found[1], [[20.0, 0.0, 7.0], [20.0, 1.0, 7.0], [20.0, 2.0, 7.0]])
    assert found.shape == (2, 3, 3)


def _numbers(cell: float, *, graph: int, seed: int) -> list[float]:
    return [cell, float(graph), float(seed)]
