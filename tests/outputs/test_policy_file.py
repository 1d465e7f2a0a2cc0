"""Tests of policy files: exact round trips, and every way a file can be damaged."""

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from runcard.city import generate_grid
from runcard.errors import InputError, PolicyFileError, RuncardError
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.outputs.policy_file import FORMAT, load_policy, save_policy
from runcard.policy.base import Policy
from runcard.policy.by_value import ValuePolicy
from runcard.policy.solve import POLICY_NAMES, evaluate, solve

from ..mdp.problems import make_problem

ARRAYS = ("trucks", "incidents_per_day", "trucks_needed", "teams", "cost", "order", "response_minutes")


@pytest.fixture(scope="module")
def problem() -> DispatchProblem:
    """A small city's problem."""
    return dispatch_problem(generate_grid(side=3, num_stations=3, load=0.2, seed=5, trucks_per_station=2))


@pytest.fixture
def saved(problem: DispatchProblem, tmp_path: Path) -> Path:
    """A file with the optimal policy of the city."""
    return save_policy(solve(problem, "optimal"), tmp_path / "policy.safetensors")


def assert_same_policy(found: Policy, policy: Policy) -> None:
    """Assert that two policies are the same to the last bit, in everything that a decision or report shows."""
    assert found.name == policy.name
    assert found.certificate == policy.certificate
    assert np.array_equal(found.value, policy.value)
    assert found.problem.fingerprint == policy.problem.fingerprint
    assert found.problem.returns_per_day == policy.problem.returns_per_day
    assert found.problem.station_ids == policy.problem.station_ids
    assert found.problem.point_ids == policy.problem.point_ids
    for name in ARRAYS:
        mine, theirs = getattr(found.problem, name), getattr(policy.problem, name)
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert mine.dtype == theirs.dtype
            assert np.array_equal(mine, theirs)


def rewrite(path: Path, *, about: dict[str, Any] | None = None, arrays: dict[str, Any] | None = None) -> None:
    """Write a policy file again with other words or arrays; None takes one away. The digest stays as it was."""
    with safe_open(path, framework="numpy") as file:
        words = json.loads(file.metadata()["runcard"]) | (about or {})
        contents = {name: file.get_tensor(name) for name in file.keys()} | (arrays or {})  # noqa: SIM118
    kept = {name: array for name, array in contents.items() if array is not None}
    save_file(kept, path, metadata={"runcard": json.dumps({k: v for k, v in words.items() if v is not ...})})


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_a_round_trip_is_exact(problem: DispatchProblem, name: str, tmp_path: Path) -> None:
    """A policy that is saved and loaded is the same to the last bit, and decides and evaluates the same."""
    policy = solve(problem, name)
    found = load_policy(save_policy(policy, tmp_path / "p"), problem)
    assert_same_policy(found, policy)
    idle = problem.trucks.copy()
    assert [found.decide(idle, j) for j in range(9)] == [policy.decide(idle, j) for j in range(9)]
    assert evaluate(found).late_fraction == evaluate(policy).late_fraction


def test_a_problem_without_minutes(tmp_path: Path) -> None:
    """A problem that gives no response minutes makes the trip too."""
    policy = solve(replace(make_problem([1, 2], [3, 1]), response_minutes=None))
    assert_same_policy(load_policy(save_policy(policy, tmp_path / "p")), policy)


def test_names_in_any_script(tmp_path: Path) -> None:
    """Ids in any script, with quotes and spaces, come back as they were."""
    policy = solve(replace(make_problem([1, 2], [2, 1]), station_ids=('Brand "1"', "消防 Ω"), point_ids=("\\", "é")))
    assert_same_policy(load_policy(save_policy(policy, tmp_path / "ü p")), policy)


def test_values_are_mapped_not_read(saved: Path) -> None:
    """The values are a read-only memory map of the file: processes share them, and nobody can change them."""
    value = load_policy(saved).value
    assert isinstance(value, np.memmap)
    assert not value.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        value[0] = 1.0


def test_a_loaded_policy_can_be_saved_again(saved: Path, tmp_path: Path) -> None:
    """Saving a loaded policy, even over its own file, gives the same bytes."""
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
    policy, contents = solve(problem, "optimal"), saved.read_bytes()
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
    target = save_policy(solve(problem, "closest-first"), tmp_path / "p")
    before = target.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(RuncardError, match="no space left"):
        save_policy(solve(problem, "optimal"), target)
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


def test_places_that_cannot_be_written(problem: DispatchProblem, tmp_path: Path) -> None:
    """A folder that does not exist, or a folder in the place of the file, is refused in words."""
    policy = solve(problem, "closest-first")
    with pytest.raises(InputError, match="expected an existing folder to write to, got none"):
        save_policy(policy, tmp_path / "missing" / "p")
    with pytest.raises(InputError, match="got a folder"):
        save_policy(policy, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_everybody_may_read_a_saved_policy(saved: Path) -> None:
    """A saved file can be read by the other accounts of a dispatch centre."""
    assert saved.stat().st_mode & 0o444 == 0o444
