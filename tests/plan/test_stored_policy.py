"""Tests of policy files: exact round trips, and every way a file can be damaged."""

import json
import struct
import warnings
from dataclasses import replace
from mmap import mmap
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save_file

from runcard.city import Objective, generate_grid
from runcard.errors import InputError, PolicyFileError, RuncardError
from runcard.mdp.factored import FactoredValues
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.objective import with_objective
from runcard.mdp.problem import DispatchProblem
from runcard.plan.file import FORMAT, _digest
from runcard.policy.ahead import AheadPolicy
from runcard.policy.base import Policy
from runcard.policy.by_order import OrderPolicy
from runcard.policy.by_value import ValuePolicy, Values
from runcard.policy.solve import POLICY_NAMES, evaluate, solve_problem

from ..mdp.problems import make_problem
from ..policy_files import load_policy, save_policy

OWN = "0/0/"
"""Before the names of the arrays of the first kind in the first period."""
ARRAYS = ("trucks", "incidents_per_day", "trucks_needed", "cost", "order")
ONLINE = ("one-step-queueing", "one-step-queueing-printed", "one-step-mean-field", "one-step-neighbourhoods")
"""The policies whose files hold nothing of the size of the state space."""


@pytest.fixture(scope="module")
def problem() -> DispatchProblem:
    """A small city's problem."""
    return dispatch_problem(generate_grid(side=3, num_stations=3, load=0.2, seed=5, trucks_per_station=2))


@pytest.fixture
def saved(problem: DispatchProblem, tmp_path: Path) -> Path:
    """A file with the optimal policy of the city."""
    return save_policy(solve_problem(problem, "optimal"), tmp_path / "policy.safetensors")


def contents_of(policy: Policy) -> dict[str, Any]:
    """The arrays that a policy holds beside its problem, by a name of our own."""
    if isinstance(policy, ValuePolicy):
        return {"value": policy.value}
    arrays: dict[str, Any] = {}
    if isinstance(policy, OrderPolicy):
        arrays["order"] = policy.order
    values = policy.values if isinstance(policy, OrderPolicy | AheadPolicy) else None
    if isinstance(values, FactoredValues):
        arrays |= {"tables": values.value, "busy": values.busy}
        arrays |= {f"stations {g}": stations for g, stations in enumerate(values.stations)}
        arrays |= {f"points {g}": points for g, points in enumerate(values.points)}
    elif isinstance(values, Values):
        arrays["value"] = values.value
    return arrays


def arrays_in(path: Path) -> set[str]:
    """The names of the arrays in a file, without the numbers of their kind and period."""
    with safe_open(path, framework="numpy") as file:
        return {name.removeprefix(OWN) for name in file.keys()}  # noqa: SIM118


def every_state(problem: DispatchProblem) -> list[NDArray[np.int64]]:
    """Every state of a problem."""
    return list(np.indices(tuple(problem.trucks + 1)).reshape(problem.num_stations, -1).T)


def assert_same_policy(found: Policy, policy: Policy) -> None:
    """Assert that two policies are the same to the last bit, in everything that a decision or report shows."""
    assert type(found) is type(policy)
    assert found.name == policy.name
    assert found.certificate == policy.certificate
    for name, array in contents_of(policy).items():
        mine = contents_of(found)[name]
        assert mine.dtype == array.dtype
        assert np.array_equal(mine, array)
    assert found.problem.fingerprint == policy.problem.fingerprint
    assert found.problem.returns_per_day == policy.problem.returns_per_day
    assert found.problem.station_ids == policy.problem.station_ids
    assert found.problem.point_ids == policy.problem.point_ids
    for name in ARRAYS:
        mine, theirs = getattr(found.problem, name), getattr(policy.problem, name)
        assert mine.dtype == theirs.dtype
        assert np.array_equal(mine, theirs)
    kept = {"late"} if policy.name in ONLINE else set(policy.problem.measures)
    assert set(found.problem.measures) == kept
    for name in kept:
        assert np.array_equal(found.problem.measures[name], policy.problem.measures[name])


def rewrite(
    path: Path,
    *,
    about: dict[str, Any] | None = None,
    arrays: dict[str, Any] | None = None,
    with_digest: bool = False,
) -> None:
    """Write a policy file again with other words or arrays; None takes an array away, ... a word.

    The digest stays as it was, or is made anew: then the file is whole, but not one that this version writes.
    """
    with safe_open(path, framework="numpy") as file:
        words = json.loads(file.metadata()["runcard"])
        contents = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    contents |= {f"{OWN}{name}": array for name, array in (arrays or {}).items()}
    kept = {name: array for name, array in contents.items() if array is not None}
    policy = words["kinds"][0]["policies"][0]
    for word, said in (about or {}).items():
        of = words if word in ("format", "digest") else policy
        of[word] = said
        if said is ...:
            del of[word]
    if with_digest:
        del words["digest"]
        words["digest"] = _digest(words, kept)
    path.unlink()  # a mapped file must not change under its map
    save_file(kept, path, metadata={"runcard": json.dumps(words)})


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_a_round_trip_is_exact(problem: DispatchProblem, name: str, tmp_path: Path) -> None:
    """A policy that is saved and loaded is the same to the last bit, and decides and evaluates the same."""
    policy = solve_problem(problem, name)
    found = load_policy(save_policy(policy, tmp_path / "p"))
    assert_same_policy(found, policy)
    for idle in every_state(problem):
        assert [found.decide(idle, j) for j in range(9)] == [policy.decide(idle, j) for j in range(9)]
    assert evaluate(found).late_fraction == evaluate(policy).late_fraction


@pytest.mark.parametrize("name", ["closest-first", "fixed-card", "one-step-mean-field", "one-step-queueing"])
def test_a_round_trip_without_values_of_every_state(name: str, tmp_path: Path) -> None:
    """With 6^15 states, where prices come from several small tables, a loaded policy decides the same."""
    problem = make_problem([1, 2] * 15, [2, 1, 2, 2], load=0.1, seed=3)
    policy = solve_problem(problem, name)
    path = save_policy(policy, tmp_path / "p")
    found = load_policy(path, problem)
    assert "value" not in arrays_in(path)
    assert type(found) is type(policy)
    for array in contents_of(policy):
        assert np.array_equal(contents_of(found)[array], contents_of(policy)[array])
    rng = np.random.default_rng(1)
    for _ in range(20):
        idle, point = rng.integers(0, problem.trucks + 1), int(rng.integers(4))
        assert found.decide(idle, point) == policy.decide(idle, point)


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_a_file_holds_what_decisions_need_and_no_more(problem: DispatchProblem, name: str, tmp_path: Path) -> None:
    """Beside the problem: values of every state with the minutes that go with them, a card, tables, or nothing."""
    found = arrays_in(save_policy(solve_problem(problem, name), tmp_path / "p")) - set(ARRAYS)
    tables = {"value", "busy", "stations", "num_stations", "points", "num_points"}
    expected = {
        "one-step-mean-field": {f"table_{table}" for table in tables},
        "one-step-neighbourhoods": {f"table_{table}" for table in tables},
        "one-step-queueing": set(),
        "one-step-queueing-printed": set(),
        "fixed-card": {"value", "measure_minutes", "card"},
    }
    assert found == expected.get(name, {"value", "measure_minutes"})


@pytest.mark.parametrize("name", POLICY_NAMES)
@pytest.mark.parametrize("objective", [Objective("minutes"), Objective("late+minutes", 0.05)], ids=lambda o: o.minimise)
def test_an_objective_is_kept(problem: DispatchProblem, name: str, objective: Objective, tmp_path: Path) -> None:
    """A policy for another objective says the same after a round trip: its cost, P(late), minutes and bounds."""
    policy = solve_problem(with_objective(problem, objective), name)
    path = save_policy(policy, tmp_path / "p")
    found = load_policy(path, policy.problem)
    assert found.problem.objective == objective
    assert found.certificate == policy.certificate
    assert {"measure_late", "measure_minutes"} <= arrays_in(path)
    assert np.array_equal(found.problem.cost, policy.problem.cost)
    for measure in ("late", "minutes"):
        assert np.array_equal(found.problem.measures[measure], policy.problem.measures[measure])
    for idle in every_state(problem)[::3]:
        assert [found.decide(idle, j) for j in range(9)] == [policy.decide(idle, j) for j in range(9)]
    assert evaluate(found).late_fraction == evaluate(policy).late_fraction
    with pytest.raises(PolicyFileError, match="made for another city"):
        load_policy(path, problem)


def test_an_objective_without_sense_is_refused(problem: DispatchProblem, tmp_path: Path) -> None:
    """A file that lost its P(late), or whose objective is not one, is refused."""
    path = save_policy(solve_problem(with_objective(problem, Objective("minutes")), "optimal"), tmp_path / "p")
    whole = path.read_bytes()
    for about, arrays in (
        ({}, {"measure_late": None}),
        ({"objective": ...}, {}),
        ({"objective": None}, {}),
        ({"objective": {"minimise": "cost", "weight": None}}, {}),
        ({"objective": {"minimise": "late+minutes", "weight": "much"}}, {}),
        ({"objective": {"maximise": "late"}}, {}),
    ):
        path.unlink()
        path.write_bytes(whole)
        rewrite(path, about=about, arrays=arrays, with_digest=True)
        with pytest.raises(PolicyFileError, match="damaged"):
            load_policy(path)


def test_the_horizon_of_queueing_is_kept(problem: DispatchProblem, tmp_path: Path) -> None:
    """The horizon that was asked for is in the file; it changes prices."""
    policies = [solve_problem(problem, "OSIA", horizon_busy_times=horizon) for horizon in (None, 0.5)]
    found = [load_policy(save_policy(policy, tmp_path / "p")) for policy in policies]
    totals = [policy.decide(problem.trucks, 0).total for policy in found]
    assert totals == [policy.decide(problem.trucks, 0).total for policy in policies]
    assert totals[0] != totals[1]


def test_a_problem_without_minutes(tmp_path: Path) -> None:
    """A problem that gives no response minutes makes the trip too."""
    policy = solve_problem(replace(make_problem([1, 2], [3, 1]), measures={}))
    assert_same_policy(load_policy(save_policy(policy, tmp_path / "p")), policy)


def test_names_in_any_script(tmp_path: Path) -> None:
    """Ids in any script, with quotes and spaces, come back as they were."""
    policy = solve_problem(
        replace(make_problem([1, 2], [2, 1]), station_ids=('Brand "1"', "消防 Ω"), point_ids=("\\", "é"))
    )
    assert_same_policy(load_policy(save_policy(policy, tmp_path / "ü p")), policy)


def test_a_policy_is_that_of_the_problem_that_was_given(saved: Path, problem: DispatchProblem) -> None:
    """With a problem to compare with, the policy shares it: its arrays are not there twice."""
    assert load_policy(saved, problem).problem is problem
    assert load_policy(saved).problem is not problem


@pytest.mark.parametrize("damage", ["overwritten", "truncated", "removed"])
def test_a_loaded_policy_is_a_copy(saved: Path, problem: DispatchProblem, damage: str) -> None:
    """What becomes of a file in place does not change, or end, a process that has loaded it."""
    policy = load_policy(saved)
    before = [policy.decide(idle, j) for idle in every_state(problem)[::5] for j in range(9)]
    if damage == "removed":
        saved.unlink()
    else:
        with saved.open("r+b") as file:
            if damage == "truncated":
                file.truncate(100)
            else:
                file.write(b"\xff" * saved.stat().st_size)
    assert [policy.decide(idle, j) for idle in every_state(problem)[::5] for j in range(9)] == before


def test_a_large_file_is_mapped(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above a size the arrays are a map of the file: processes share them, and nobody can change them."""
    monkeypatch.setattr("runcard.plan.tensor_file.MOST_COPIED", 1000)
    policy = load_policy(saved)
    assert isinstance(policy, ValuePolicy)
    base: Any = policy.value
    while isinstance(base, np.ndarray):
        assert not base.flags.writeable
        base = base.base
    assert isinstance(base, mmap)
    with pytest.raises(ValueError, match="read-only"):
        policy.value[0] = 1.0


def test_a_file_may_be_replaced_while_it_is_loaded(problem: DispatchProblem, tmp_path: Path) -> None:
    """Whoever loads gets the old policy or the new one, each whole, however often they are exchanged."""
    policies = [solve_problem(problem, "optimal"), solve_problem(problem, "fixed-card")]
    path, stop = save_policy(policies[0], tmp_path / "p"), Event()

    def exchange() -> None:
        while not stop.is_set():
            for policy in policies:
                save_policy(policy, path)

    writer = Thread(target=exchange)
    writer.start()
    try:
        names = [load_policy(path, problem).name for _ in range(400)]
    finally:
        stop.set()
        writer.join()
    assert set(names) == {"optimal", "fixed-card"}


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_a_loaded_policy_can_be_saved_again(problem: DispatchProblem, name: str, tmp_path: Path) -> None:
    """Saving a loaded policy, even over its own file, gives the same bytes."""
    saved = save_policy(solve_problem(problem, name), tmp_path / "policy")
    before = saved.read_bytes()
    save_policy(load_policy(saved), saved)
    assert saved.read_bytes() == before
    assert save_policy(load_policy(saved), tmp_path / "copy").read_bytes() == before


def test_another_city_is_refused(saved: Path, problem: DispatchProblem) -> None:
    """A policy is refused for a problem that differs in any number, and accepted for its own."""
    assert load_policy(saved, problem).name == "optimal"
    busier = replace(problem, incidents_per_day=problem.incidents_per_day * 1.01)
    with pytest.raises(PolicyFileError, match="another city"):
        load_policy(saved, busier)


@pytest.mark.parametrize(
    "length", ["empty", "half a length", "length", "half header", "header", "half data", "all but one"]
)
def test_a_file_cut_short_is_refused(saved: Path, length: str) -> None:
    """A file that ends too early, anywhere, is refused with a message that names it."""
    contents = saved.read_bytes()
    header = 8 + struct.unpack("<Q", contents[:8])[0]
    kept = {
        "empty": 0,
        "half a length": 4,
        "length": 8,
        "half header": header // 2,
        "header": header,
        "half data": (header + len(contents)) // 2,
        "all but one": len(contents) - 1,
    }[length]
    saved.write_bytes(contents[:kept])
    with pytest.raises(PolicyFileError, match=r"policy\.safetensors: .*(damaged|cut short)"):
        load_policy(saved)


def test_a_file_with_something_after_it_is_refused(saved: Path) -> None:
    """A file with a byte too many is refused."""
    saved.write_bytes(saved.read_bytes() + b"\0")
    with pytest.raises(PolicyFileError):
        load_policy(saved)


def flipped(contents: bytes, place: int, mask: int) -> bytes:
    """The bytes with some bits of one of them turned over."""
    return contents[:place] + bytes([contents[place] ^ mask]) + contents[place + 1 :]


@pytest.mark.parametrize("part", ["header", "data"])
def test_flipped_bits_never_go_unnoticed(saved: Path, problem: DispatchProblem, part: str) -> None:
    """After a few hundred random flips, one at a time, a file is refused or still holds the very same policy."""
    policy, contents = solve_problem(problem, "optimal"), saved.read_bytes()
    header = 8 + struct.unpack("<Q", contents[:8])[0]
    rng = np.random.default_rng(7)
    damaged = saved.with_name("damaged")
    for _ in range(400):
        place = int(rng.integers(*((0, header) if part == "header" else (header, len(contents)))))
        damaged.unlink(missing_ok=True)  # a mapped file must not change under its map
        damaged.write_bytes(flipped(contents, place, int(rng.integers(1, 256))))
        try:
            found = load_policy(damaged)
        except PolicyFileError as error:
            assert str(damaged) in str(error)  # noqa: PT017
        else:
            assert part == "header", place
            assert_same_policy(found, policy)


@pytest.mark.parametrize("place", [0, 3, 7])
def test_a_wrong_length_of_the_header_is_refused(saved: Path, place: int) -> None:
    """A header that claims to be huge is refused, and no memory is asked for it."""
    contents = saved.read_bytes()
    saved.write_bytes(flipped(contents, place, 0x40))
    with pytest.raises(PolicyFileError):
        load_policy(saved)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"format": "runcard-policy-0"}, f"expected a policy file of the format {FORMAT}, found 'runcard-policy-0'"),
        ({"format": ...}, "expected a policy file of the format"),
        ({"policy": "one-step"}, "damaged"),
        ({"digest": "0" * 32}, "damaged"),
        ({"digest": ...}, "damaged"),
        ({"policy": ...}, "damaged"),
        ({"certificate": ...}, "damaged"),
        ({"certificate": [0.1]}, "damaged"),
        ({"certificate": [0.0, 1.0, True]}, "damaged"),
        ({"station_ids": ...}, "damaged"),
        ({"station_ids": 7}, "damaged"),
        ({"station_ids": ["x", "y", "z"]}, "damaged"),
        ({"point_ids": []}, "damaged"),
        ({"returns_per_day": "many"}, "damaged"),
        ({"returns_per_day": 23.0}, "damaged"),
        ({"problem": "0" * 32}, "damaged"),
    ],
)
def test_words_that_do_not_fit_are_refused(saved: Path, about: dict[str, Any], message: str) -> None:
    """What a file says of itself must be complete, and must be what was saved."""
    rewrite(saved, about=about)
    with pytest.raises(PolicyFileError, match=message):
        load_policy(saved)


@pytest.mark.parametrize(("said", "proven"), [(True, True), (False, False), (..., False)])
def test_nothing_is_proven_that_a_file_does_not_say(saved: Path, said: Any, proven: bool) -> None:
    """Files of before do not say whether the errors of their chances are bounds: they may be estimated."""
    rewrite(saved, about={"proven": said}, with_digest=True)
    assert load_policy(saved).problem.proven is proven


def test_a_policy_of_another_version_is_refused(problem: DispatchProblem, tmp_path: Path) -> None:
    """A whole file with a policy that this version does not know is refused, with the choices named."""
    policy = ValuePolicy(name="shortest-queue", problem=problem, value=np.zeros(35), certificate=None)
    with pytest.raises(PolicyFileError, match=r"expected a policy of closest-first, .*found 'shortest-queue'"):
        load_policy(save_policy(policy, tmp_path / "p"))


def test_values_of_the_wrong_length_are_refused(problem: DispatchProblem, tmp_path: Path) -> None:
    """A whole file whose values do not fit the states of its own problem is refused: decisions would read past them."""
    policy = ValuePolicy(name="optimal", problem=problem, value=np.zeros(10), certificate=None)
    with pytest.raises(PolicyFileError):
        load_policy(save_policy(policy, tmp_path / "p"))


@pytest.mark.parametrize(
    "arrays",
    [
        {"value": None},
        {"value": np.zeros(3)},
        {"value": np.zeros(35, np.float32)},
        {"value": np.zeros((5, 7))},
        {"cost": None},
        {"cost": np.zeros((2, 2))},
        {"surprise": np.zeros(2)},
        {"trucks": np.array([2, 2, 2], np.int32)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(saved: Path, arrays: dict[str, Any]) -> None:
    """An array that is missing, of another shape or kind, or one too many, is refused."""
    rewrite(saved, arrays=arrays)
    with pytest.raises(PolicyFileError):
        load_policy(saved)


BROKEN: dict[str, list[dict[str, Any]]] = {
    "optimal": [
        {"arrays": {"value": None}},
        {"arrays": {"value": np.zeros(34)}},
        {"arrays": {"value": np.zeros((5, 7))}},
        {"arrays": {"trucks": None}},
        {"arrays": {"trucks": np.zeros((), np.int64)}},
        {"arrays": {"order": np.zeros((9, 3), np.int64)}},
        {"arrays": {"cost": np.zeros((2, 2))}},
        {"about": {"settings": ...}},
        {"about": {"policy": ...}},
        {"about": {"policy": ["optimal"]}},
        {"about": {"problem": ...}},
        {"about": {"certificate": ...}},
        {"about": {"certificate": [0.1]}},
        {"about": {"certificate": 7}},
        {"about": {"station_ids": ...}},
        {"about": {"station_ids": 7}},
        {"about": {"point_ids": ["n0"]}},
        {"about": {"returns_per_day": "many"}},
        {"about": {"policy": "one-step-mean-field"}},
        {"about": {"policy": "fixed-card"}},
        {"about": {"policy": "one-step-queueing"}},
    ],
    "fixed-card": [
        {"arrays": {"card": None}},
        {"arrays": {"card": np.zeros((9, 3), np.int64)}},
        {"arrays": {"card": np.zeros((9, 2), np.int64)}},
        {"arrays": {"card": np.array([[0.0, 1.0, 2.0]] * 9)}},
        {"arrays": {"value": None}},
        {"arrays": {"value": np.zeros(3)}},
        {"about": {"settings": {}}},
        {"about": {"settings": None}},
    ],
    "closest-first": [{"arrays": {"value": None}}, {"arrays": {"value": np.zeros(3)}}],
    "one-step-mean-field": [
        {"arrays": {"table_value": None}},
        {"arrays": {"table_value": np.zeros(26)}},
        {"arrays": {"table_value": np.full(27, np.nan)}},
        {"arrays": {"table_value": np.zeros(27, np.float32)}},
        {"arrays": {"table_busy": None}},
        {"arrays": {"table_busy": np.zeros(2)}},
        {"arrays": {"table_stations": None}},
        {"arrays": {"table_stations": np.array([0, 1, 3])}},
        {"arrays": {"table_stations": np.array([-1, 1, 2])}},
        {"arrays": {"table_stations": np.array([2, 1, 0])}},
        {"arrays": {"table_stations": np.array([0, 0, 0])}},
        {"arrays": {"table_stations": np.array([0.0, 1.0, 2.0])}},
        {"arrays": {"table_num_stations": np.array([4])}},
        {"arrays": {"table_num_stations": np.array([-1, 4])}},
        {"arrays": {"table_num_stations": np.zeros(0, np.int64)}},
        {"arrays": {"table_points": np.arange(1, 10)}},
        {"arrays": {"table_num_points": np.array([4, 5])}},
        {"arrays": {"table_num_points": None}},
        {"about": {"policy": "optimal"}},
        {"about": {"settings": ...}},
    ],
    "one-step-queueing": [
        {"about": {"settings": {}}},
        {"about": {"settings": ...}},
        {"about": {"settings": {"horizon_busy_times": -1.0}}},
        {"about": {"settings": {"horizon_busy_times": "long"}}},
    ],
}
"""Files that are whole, but that no version wrote: decisions from them would read where nothing is."""


@pytest.mark.parametrize(
    ("name", "change"),
    [(name, change) for name, changes in BROKEN.items() for change in changes],
    ids=lambda given: given if isinstance(given, str) else "-".join(str(next(iter(part))) for part in given.values()),
)
def test_whole_files_without_sense_are_refused(
    problem: DispatchProblem, tmp_path: Path, name: str, change: dict[str, Any]
) -> None:
    """A file with a good digest that lacks something, or has it in another shape, is refused in one line."""
    path = save_policy(solve_problem(problem, name), tmp_path / "p")
    rewrite(path, with_digest=True)
    assert load_policy(path).name == name
    rewrite(path, **change, with_digest=True)
    with pytest.raises(PolicyFileError) as caught:
        load_policy(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e300, -1e300])
@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("optimal", "value"),
        ("optimal", "cost"),
        ("optimal", "measure_minutes"),
        ("optimal", "incidents_per_day"),
        ("closest-first", "value"),
        ("one-step-mean-field", "table_value"),
        ("one-step-mean-field", "table_busy"),
    ],
)
def test_what_is_no_number_is_refused(
    problem: DispatchProblem, tmp_path: Path, name: str, array: str, number: float
) -> None:
    """A file with a good digest and one NaN, infinity or absurd number is refused before anything is decided."""
    path = save_policy(solve_problem(problem, name), tmp_path / "p")
    with safe_open(path, framework="numpy") as file:
        wrong = file.get_tensor(f"{OWN}{array}").copy()
    wrong.flat[1] = number
    rewrite(path, arrays={array: wrong}, with_digest=True)
    with pytest.raises(PolicyFileError, match="damaged"):
        load_policy(path)


@pytest.mark.parametrize(
    "change",
    [
        {"about": {"problem": "0" * 32}},
        {"about": {"certificate": [0.5, 0.1, True]}},
        {"about": {"certificate": [0.1, 0.5, "yes"]}},
        {"about": {"certificate": [0.1, 1e308, True]}},
        {"about": {"station_ids": ["a", "b", 3]}},
        {"about": {"class_names": {"a": 1}}},
        {"about": {"source": 7}},
        {"about": {"cost_error": -1.0}},
        {"about": {"measure_errors": {"minutes": "none"}}},
        {"about": {"measure_errors": {"noise": 0.1}}},
        {"about": {"returns_per_day": True}},
        {"about": {"returns_per_day": 10**400}},
        {"arrays": {"surprise": np.zeros(2)}},
        {"arrays": {"card": np.zeros((9, 3), np.int64)}},
        {"arrays": {"trucks": np.full(3, 2**63 - 1)}},
        {"arrays": {"trucks": np.full(3, 10**6)}},
        {"arrays": {"trucks": np.array([2, 2, -2])}},
        {"arrays": {"trucks_needed": np.full(9, 2**40)}},
        {"arrays": {"trucks_needed": np.zeros(9, np.int64)}},
        {"arrays": {"measure_minutes": np.zeros((9, 9))}},
        {"arrays": {"cost": np.zeros((10, 9), np.float32)}},
    ],
    ids=lambda change: "-".join(str(next(iter(part))) for part in change.values()),
)
def test_contents_that_contradict_each_other_are_refused(saved: Path, change: dict[str, Any]) -> None:
    """A digest is no signature: a file with a good one is still checked, and nothing is allocated on its word."""
    rewrite(saved, **change, with_digest=True)
    with pytest.raises(PolicyFileError, match=r"damaged|not a policy file of this version"):
        load_policy(saved)


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_no_file_leads_to_an_answer_without_sense(problem: DispatchProblem, name: str, tmp_path: Path) -> None:
    """Whatever number of a file somebody changes, with a new digest: it is refused, or its decisions are numbers."""
    path, rng = save_policy(solve_problem(problem, name), tmp_path / "p"), np.random.default_rng(11)
    whole, refused = path.read_bytes(), 0
    with safe_open(path, framework="numpy") as file:
        arrays = {tensor.removeprefix(OWN): file.get_tensor(tensor) for tensor in sorted(file.keys())}
    odd = [0, -1, 1, 2, 127, -128, 2**31, 2**62, 0.5, -1e-300, 1e99, np.nan, np.inf]
    for _ in range(60):
        array = str(rng.choice(list(arrays)))
        wrong = arrays[array].copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrong.flat[rng.integers(wrong.size)] = np.array(rng.choice(odd)).astype(wrong.dtype)
        path.unlink()
        path.write_bytes(whole)
        rewrite(path, arrays={array: wrong}, with_digest=True)
        try:
            policy = load_policy(path)
        except PolicyFileError:
            refused += 1
            continue
        for idle in every_state(problem)[::9]:
            decision = policy.decide(idle, 0)
            assert all(np.isfinite([one.p_late, one.price]).all() for one in (decision, *decision.alternatives))
    assert refused > 10


def test_not_a_policy_file_at_all(tmp_path: Path) -> None:
    """A folder, a text file, a missing file and somebody else's safetensors file are refused, each in words."""
    text, other = tmp_path / "text.csv", tmp_path / "other.safetensors"
    text.write_text("station_id,node_id,trucks\n" * 100)
    save_file({"weights": np.zeros(3)}, other)
    odd = tmp_path / "odd.safetensors"
    save_file({"weights": np.zeros(3)}, odd, metadata={"runcard": "[1, 2]"})
    for path in (tmp_path, text, other, odd, tmp_path / "missing"):
        with pytest.raises(PolicyFileError) as caught:
            load_policy(path)
        message = str(caught.value)
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        assert len(message) < 400


def test_saving_is_all_or_nothing(problem: DispatchProblem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If saving fails at the last moment, the old file is as it was and no other file is left."""
    target = save_policy(solve_problem(problem, "closest-first"), tmp_path / "p")
    before = target.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(RuncardError, match="no space left"):
        save_policy(solve_problem(problem, "optimal"), target)
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


def test_places_that_cannot_be_written(problem: DispatchProblem, tmp_path: Path) -> None:
    """A folder that does not exist, or a folder in the place of the file, is refused in words."""
    policy = solve_problem(problem, "closest-first")
    with pytest.raises(InputError, match="expected an existing folder to write to, got none"):
        save_policy(policy, tmp_path / "missing" / "p")
    with pytest.raises(InputError, match="got a folder"):
        save_policy(policy, tmp_path)
    assert list(tmp_path.iterdir()) == []
