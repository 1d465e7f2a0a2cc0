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
from safetensors import safe_open
from safetensors.numpy import save_file
from tests.mdp.problems import every_state, make_problem
from tests.policy_files import load_policy, save_policy

from runcard.city import Objective, generate_grid
from runcard.errors import InputError, PolicyFileError, RuncardError
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.objective import with_objective
from runcard.mdp.problem import DispatchProblem
from runcard.plan.file import FORMAT, _digest
from runcard.policy.base import Policy
from runcard.policy.by_value import ValuePolicy
from runcard.policy.solve import POLICY_NAMES, evaluate, solve_problem

LEAD = "0/0/"
"""Before the names of the arrays of the first kind in the first period."""
ARRAYS = ("trucks", "incidents_per_day", "trucks_needed", "cost", "order")
TABLES = {f"table_{of}" for of in ("value", "busy", "stations", "num_stations", "points", "num_points")}
STORED: dict[str, set[str]] = {
    "one-step-mean-field": TABLES,
    "one-step-neighbourhoods": TABLES,
    "one-step-queueing": set(),
    "one-step-queueing-printed": set(),
    "fixed-card": {"value", "measure_minutes", "card"},
}
"""What files hold beside the problem: tables, a card, nothing; all others values of every state, and the minutes."""


@pytest.fixture(scope="module")
def problem() -> DispatchProblem:
    """A small city's problem."""
    return dispatch_problem(generate_grid(side=3, num_stations=3, load=0.2, seed=5, trucks_per_station=2))


@pytest.fixture
def saved(problem: DispatchProblem, tmp_path: Path) -> Path:
    """A file with the optimal policy of the city."""
    return save_policy(solve_problem(problem, "optimal"), tmp_path / "policy.safetensors")


def arrays_in(path: Path) -> dict[str, Any]:
    """The arrays in a file, by their names without the numbers of their kind and period."""
    with safe_open(path, framework="numpy") as file:
        return {name.removeprefix(LEAD): file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def assert_equal(found: Any, expected: Any) -> None:
    """Assert that two arrays are the same to the last bit."""
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)


def assert_same_policy(found: Policy, policy: Policy) -> None:
    """Assert that two policies are the same to the last bit, in everything that a decision or report shows."""
    assert type(found) is type(policy)
    assert (found.name, found.certificate) == (policy.name, policy.certificate)
    stored, expected = found.stored(), policy.stored()
    assert (stored.settings, stored.arrays.keys()) == (expected.settings, expected.arrays.keys())
    for name, array in expected.arrays.items():
        assert_equal(stored.arrays[name], array)
    mine, theirs = found.problem, policy.problem
    for name in ("fingerprint", "returns_per_day", "station_ids", "point_ids", "objective"):
        assert getattr(mine, name) == getattr(theirs, name)
    for name in ARRAYS:
        assert_equal(getattr(mine, name), getattr(theirs, name))
    for name, table in mine.measures.items():
        assert_equal(table, theirs.measures[name])


def rewrite(
    path: Path, *, about: dict[str, Any] | None = None, arrays: dict[str, Any] | None = None, with_digest: bool = True
) -> None:
    """Write a policy file again with other words or arrays; None takes an array away, ... a word.

    The digest is made anew, so that the file is whole, but not one that this version writes; or it stays as it was.
    """
    with safe_open(path, framework="numpy") as file:
        words = json.loads(file.metadata()["runcard"])
        contents = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    contents |= {f"{LEAD}{name}": array for name, array in (arrays or {}).items()}
    kept = {name: array for name, array in contents.items() if array is not None}
    policy = words["kinds"][0]["policies"][0]
    for word, value in (about or {}).items():
        of = words if word in ("format", "digest") else policy
        of[word] = value
        if value is ...:
            del of[word]
    if with_digest:
        del words["digest"]
        words["digest"] = _digest(words, kept)
    path.unlink()  # a mapped file must not change under its map
    save_file(kept, path, metadata={"runcard": json.dumps(words)})


@pytest.mark.parametrize("name", POLICY_NAMES)
@pytest.mark.parametrize(
    "objective", [Objective(), Objective("minutes"), Objective("late+minutes", 0.05)], ids=lambda one: one.minimise
)
def test_a_round_trip_is_exact(problem: DispatchProblem, name: str, objective: Objective, tmp_path: Path) -> None:
    """A policy that is saved and loaded is the same to the last bit, decides and evaluates the same, for any objective.

    The file holds what decisions need and no more, and is the same when it is saved again, even over itself.
    """
    policy = solve_problem(with_objective(problem, objective), name)
    path = save_policy(policy, tmp_path / "p")
    found, before, measures = load_policy(path), path.read_bytes(), {"measure_late", "measure_minutes"}
    stored = STORED.get(name, {"value", "measure_minutes"}) | (set() if objective == Objective() else measures)
    assert arrays_in(path).keys() == {*ARRAYS, *stored}
    assert_same_policy(found, policy)
    for idle in every_state(problem):
        assert [found.decide(idle, j) for j in range(9)] == [policy.decide(idle, j) for j in range(9)]
    assert evaluate(found).late_fraction == evaluate(policy).late_fraction
    assert save_policy(load_policy(path), path).read_bytes() == before
    if objective != Objective():
        with pytest.raises(PolicyFileError, match="made for another city"):
            load_policy(path, problem)


@pytest.mark.parametrize("name", ["closest-first", "fixed-card", "one-step-mean-field", "one-step-queueing"])
def test_a_round_trip_without_values_of_every_state(name: str, tmp_path: Path) -> None:
    """With 6^15 states, where prices come from several small tables, a loaded policy decides the same."""
    problem = make_problem([1, 2] * 15, [2, 1, 2, 2], load=0.1, seed=3)
    policy = solve_problem(problem, name)
    path = save_policy(policy, tmp_path / "p")
    found = load_policy(path, problem)
    assert "value" not in arrays_in(path)
    assert_same_policy(found, policy)
    rng = np.random.default_rng(1)
    for _ in range(20):
        idle, point = rng.integers(0, problem.trucks + 1), int(rng.integers(4))
        assert found.decide(idle, point) == policy.decide(idle, point)


def test_the_horizon_of_queueing_is_kept(problem: DispatchProblem, tmp_path: Path) -> None:
    """The horizon that was asked for is in the file; it changes prices."""
    policies = [solve_problem(problem, "OSIA", horizon_busy_times=horizon) for horizon in (None, 0.5)]
    found = [load_policy(save_policy(policy, tmp_path / "p")) for policy in policies]
    totals = [policy.decide(problem.trucks, 0).total for policy in found]
    assert totals == [policy.decide(problem.trucks, 0).total for policy in policies]
    assert totals[0] != totals[1]


def test_names_in_any_script_and_no_minutes(tmp_path: Path) -> None:
    """Ids in any script, with quotes and spaces, come back as they were, also of a problem without response minutes."""
    ids = {"station_ids": ('Brand "1"', "消防 Ω"), "point_ids": ("\\", "é")}
    policy = solve_problem(replace(make_problem([1, 2], [2, 1]), measures={}, **ids))
    assert_same_policy(load_policy(save_policy(policy, tmp_path / "ü p")), policy)


def test_a_policy_is_that_of_the_problem_that_was_given(saved: Path, problem: DispatchProblem) -> None:
    """With a problem to compare with, the policy shares it; one that differs in any number is refused."""
    assert load_policy(saved, problem).problem is problem
    assert load_policy(saved).problem is not problem
    with pytest.raises(PolicyFileError, match="another city"):
        load_policy(saved, replace(problem, incidents_per_day=problem.incidents_per_day * 1.01))


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
        names = {load_policy(path, problem).name for _ in range(200)}
    finally:
        stop.set()
        writer.join()
    assert names == {"optimal", "fixed-card"}


def flipped(contents: bytes, place: int, mask: int) -> bytes:
    """The bytes with some bits of one of them turned over."""
    return contents[:place] + bytes([contents[place] ^ mask]) + contents[place + 1 :]


def test_a_file_cut_short_or_too_long_is_refused(saved: Path) -> None:
    """A file that ends too early, anywhere, or has a byte too many, or a header that claims to be huge, is refused."""
    contents = saved.read_bytes()
    header = 8 + struct.unpack("<Q", contents[:8])[0]
    lengths = (0, 4, 8, header // 2, header, (header + len(contents)) // 2, len(contents) - 1)
    wrong = [contents + b"\0", *(flipped(contents, place, 0x40) for place in (0, 3, 7))]
    for content in (*(contents[:length] for length in lengths), *wrong):
        saved.write_bytes(content)
        with pytest.raises(PolicyFileError, match=r"policy\.safetensors: .*(damaged|cut short)"):
            load_policy(saved)


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


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"format": "runcard-policy-0"}, f"expected a policy file of the format {FORMAT}, found 'runcard-policy-0'"),
        ({"format": ...}, "expected a policy file of the format"),
        ({"policy": "one-step"}, "do not match their digest"),
        ({"digest": "0" * 32}, "do not match their digest"),
        ({"digest": ...}, "do not match their digest"),
    ],
)
def test_words_must_be_what_was_saved(saved: Path, about: dict[str, Any], message: str) -> None:
    """A file names its format, and what it says of itself has a digest."""
    rewrite(saved, about=about, with_digest=False)
    with pytest.raises(PolicyFileError, match=message):
        load_policy(saved)


@pytest.mark.parametrize(("word", "proven"), [(True, True), (False, False), (..., False)])
def test_nothing_is_proven_that_a_file_does_not_say(saved: Path, word: Any, proven: bool) -> None:
    """Files of before do not say whether the errors of their chances are bounds: they may be estimated."""
    rewrite(saved, about={"proven": word})
    assert load_policy(saved).problem.proven is proven


BROKEN: dict[str, list[dict[str, Any]]] = {
    "optimal": [
        *({"arrays": {name: None}} for name in ("value", "trucks", "cost")),
        *({"arrays": {"value": array}} for array in (np.zeros(34), np.zeros((5, 7)), np.zeros(35, np.float32))),
        *({"arrays": {"cost": array}} for array in (np.zeros((2, 2)), np.zeros((10, 9), np.float32))),
        *({"arrays": {"trucks": np.array(trucks)}} for trucks in (0, [2, 2, -2], [2**63 - 1] * 3, [10**6] * 3)),
        {"arrays": {"trucks": np.array([2, 2, 2], np.int32)}},
        *({"arrays": {"trucks_needed": np.full(9, needed)}} for needed in (0, 2**40)),
        {"arrays": {"order": np.zeros((9, 3), np.int64)}},
        {"arrays": {"measure_minutes": np.zeros((9, 9))}},
        {"arrays": {"surprise": np.zeros(2)}},
        {"arrays": {"card": np.zeros((9, 3), np.int64)}},
        *({"about": {word: ...}} for word in ("settings", "policy", "problem", "certificate", "station_ids")),
        *(
            {"about": {"policy": name}}
            for name in (["optimal"], "one-step-mean-field", "fixed-card", "one-step-queueing")
        ),
        *({"about": {"certificate": bounds}} for bounds in ([0.1], 7, [0.5, 0.1, True], [0.1, 0.5, "yes"])),
        {"about": {"certificate": [0.1, 1e308, True]}},
        *({"about": {"station_ids": ids}} for ids in (7, ["a", "b", 3])),
        *({"about": {"point_ids": ids}} for ids in ([], ["n0"])),
        *({"about": {"returns_per_day": number}} for number in ("many", True, 10**400)),
        *({"about": {"measure_errors": errors}} for errors in ({"minutes": "none"}, {"noise": 0.1})),
        {"about": {"problem": "0" * 32}},
        {"about": {"class_names": {"a": 1}}},
        {"about": {"source": 7}},
        {"about": {"cost_error": -1.0}},
    ],
    "fixed-card": [
        *({"arrays": {name: None}} for name in ("card", "value")),
        *({"arrays": {"card": np.zeros((9, number), np.int64)}} for number in (2, 3)),
        {"arrays": {"card": np.array([[0.0, 1.0, 2.0]] * 9)}},
        {"arrays": {"value": np.zeros(3)}},
        *({"about": {"settings": settings}} for settings in ({}, None)),
    ],
    "closest-first": [{"arrays": {"value": None}}, {"arrays": {"value": np.zeros(3)}}],
    "one-step-mean-field": [
        *({"arrays": {name: None}} for name in ("table_value", "table_busy", "table_stations", "table_num_points")),
        *({"arrays": {"table_value": array}} for array in (np.zeros(26), np.zeros(27, np.float32))),
        {"arrays": {"table_busy": np.zeros(2)}},
        *(
            {"arrays": {"table_stations": np.array(stations)}}
            for stations in ([0, 1, 3], [-1, 1, 2], [2, 1, 0], [0, 0, 0], [0.0, 1.0, 2.0])
        ),
        *({"arrays": {"table_num_stations": np.array(numbers, np.int64)}} for numbers in ([4], [-1, 4], [])),
        {"arrays": {"table_points": np.arange(1, 10)}},
        {"arrays": {"table_num_points": np.array([4, 5])}},
        *({"about": {word: value}} for word, value in (("policy", "optimal"), ("settings", ...))),
    ],
    "one-step-queueing": [
        {"about": {"settings": ...}},
        *({"about": {"settings": {"horizon_busy_times": horizon}}} for horizon in (-1.0, "long")),
        {"about": {"settings": {}}},
    ],
}
"""Files that are whole, but that no version wrote: decisions from them would read where nothing is."""
NUMBERS = {
    "optimal": ("value", "cost", "measure_minutes", "incidents_per_day"),
    "closest-first": ("value",),
    "one-step-mean-field": ("table_value", "table_busy"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_whole_files_without_sense_are_refused(problem: DispatchProblem, tmp_path: Path, name: str) -> None:
    """A digest is no signature: a file with a good one that lacks something, or contradicts itself, is refused.

    So is one with a NaN, an infinity or an absurd number; in one line, and nothing is allocated on its word.
    """
    path, changes = save_policy(solve_problem(problem, name), tmp_path / "p"), list(BROKEN[name])
    rewrite(path)
    assert load_policy(path).name == name
    whole = path.read_bytes()
    for array in NUMBERS.get(name, ()):
        for number in (np.nan, np.inf, -np.inf, 1e300, -1e300):
            wrong = arrays_in(path)[array].copy()
            wrong.flat[1] = number
            changes.append({"arrays": {array: wrong}})
    for change in changes:
        path.unlink()
        path.write_bytes(whole)
        rewrite(path, **change)
        try:
            load_policy(path)
        except PolicyFileError as error:
            assert str(error).startswith(f"{path}: ")  # noqa: PT017
            assert "\n" not in str(error)  # noqa: PT017
        else:
            pytest.fail(f"accepted {change}")


@pytest.mark.parametrize(
    "change",
    [
        {"arrays": {"measure_late": None}},
        *({"about": {"objective": words}} for words in (..., None, {"minimise": "cost", "weight": None})),
        {"about": {"objective": {"minimise": "late+minutes", "weight": "much"}}},
        {"about": {"objective": {"maximise": "late"}}},
    ],
)
def test_an_objective_without_sense_is_refused(
    problem: DispatchProblem, tmp_path: Path, change: dict[str, Any]
) -> None:
    """A policy for minutes that lost its P(late), or whose objective is none, is refused."""
    path = save_policy(solve_problem(with_objective(problem, Objective("minutes")), "optimal"), tmp_path / "p")
    rewrite(path, **change)
    with pytest.raises(PolicyFileError, match="damaged"):
        load_policy(path)


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [
        ("shortest-queue", 35, r"expected a policy of closest-first, .*found 'shortest-queue'"),
        ("optimal", 10, r"expected the array value of float64 \(35,\)"),
    ],
)
def test_a_policy_that_no_version_has_is_refused(
    problem: DispatchProblem, tmp_path: Path, name: str, size: int, message: str
) -> None:
    """A policy of another name, with the choices named, and values that do not fit the states of their own problem."""
    policy = ValuePolicy(name=name, problem=problem, value=np.zeros(size), certificate=None)
    with pytest.raises(PolicyFileError, match=message):
        load_policy(save_policy(policy, tmp_path / "p"))


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_no_file_leads_to_an_answer_without_sense(problem: DispatchProblem, name: str, tmp_path: Path) -> None:
    """Whatever number of a file somebody changes, with a new digest: it is refused, or its decisions are numbers."""
    path, rng = save_policy(solve_problem(problem, name), tmp_path / "p"), np.random.default_rng(11)
    whole, arrays, refused = path.read_bytes(), arrays_in(path), 0
    odd = [0, -1, 1, 2, 127, -128, 2**31, 2**62, 0.5, -1e-300, 1e99, np.nan, np.inf]
    for _ in range(60):
        array = str(rng.choice(sorted(arrays)))
        wrong = arrays[array].copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrong.flat[rng.integers(wrong.size)] = np.array(rng.choice(odd)).astype(wrong.dtype)
        path.unlink()
        path.write_bytes(whole)
        rewrite(path, arrays={array: wrong})
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
    text, other, odd = (tmp_path / name for name in ("text.csv", "other.safetensors", "odd.safetensors"))
    text.write_text("station_id,node_id,trucks\n" * 100)
    save_file({"weights": np.zeros(3)}, other)
    save_file({"weights": np.zeros(3)}, odd, metadata={"runcard": "[1, 2]"})
    for path in (tmp_path, text, other, odd, tmp_path / "missing"):
        with pytest.raises(PolicyFileError) as caught:
            load_policy(path)
        message = str(caught.value)
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        assert len(message) < 400


def test_saving_is_all_or_nothing(problem: DispatchProblem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If saving fails at the last moment, the old file is as it was and no other one is left; nor where none can be."""
    closest_first, optimal = (solve_problem(problem, name) for name in ("closest-first", "optimal"))
    with pytest.raises(InputError, match="expected an existing folder to write to, got none"):
        save_policy(optimal, tmp_path / "missing" / "p")
    target = save_policy(closest_first, tmp_path / "p")
    before = target.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(RuncardError, match="no space left"):
        save_policy(optimal, target)
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]
