"""Policy files: one safetensors file holds a solved policy and all that its decisions need, and no more.

What that is depends on the policy: the values h of every state (`value`), a sum of small tables (`table_...`), the
orders of a card (`card`), or nothing but the problem. The largest arrays, the values and the costs of the teams, are
memory-mapped, so that many processes of a dispatch centre share one copy; the rest is read at once. A digest of all of
it is kept in the header and checked on loading; the fingerprint of the problem says which city the policy is for. A
file is written under another name first and then renamed: whoever reads it sees all of it or none. A mapped file must
never be written in place: whoever has it open would see numbers change that were checked.
"""

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from runcard.city.model import LATE, Objective
from runcard.errors import InputError, PolicyFileError
from runcard.mdp.factored import FactoredValues
from runcard.mdp.layout import VALUE_PADDING
from runcard.mdp.problem import DispatchProblem
from runcard.outputs.files import fill_whole
from runcard.policy.base import Certificate, Policy
from runcard.policy.by_order import OrderPolicy, Prices
from runcard.policy.by_value import ValuePolicy, Values
from runcard.policy.fixed_card import FixedCard
from runcard.policy.mean_field import MeanFieldPolicy
from runcard.policy.queueing import QueueingPolicy
from runcard.policy.solve import POLICY_NAMES

FORMAT: Final = "runcard-policy-3"
_ARRAYS: Final = ("trucks", "incidents_per_day", "trucks_needed", "cost", "order")
_MAPPED: Final = ("cost", "measure_late", "value")
_MEASURE: Final = "measure_"
"""Before the name of a measure, in that of its array."""


def save_policy(policy: Policy, path: str | os.PathLike[str]) -> Path:
    """The file that now holds the policy."""
    problem = policy.problem
    arrays: dict[str, NDArray[Any]] = {name: np.ascontiguousarray(getattr(problem, name)) for name in _ARRAYS}
    own, settings = _contents(policy)
    if "value" in own or problem.objective != LATE:
        # For evaluation in every state, which is what values of every state are for; or for what a decision says.
        measures = {name: array for name, array in problem.measures.items() if array is not problem.cost}
        arrays |= {f"{_MEASURE}{name}": np.ascontiguousarray(array) for name, array in measures.items()}
    arrays |= own
    certificate = policy.certificate
    about: dict[str, Any] = {
        "format": FORMAT,
        "policy": policy.name,
        "problem": problem.fingerprint,
        "source": problem.source,
        "returns_per_day": problem.returns_per_day,
        "cost_error": problem.cost_error,
        "measure_errors": dict(problem.measure_errors),
        "station_ids": problem.station_ids,
        "point_ids": problem.point_ids,
        "certificate": None if certificate is None else [certificate.lower, certificate.upper, certificate.converged],
        "settings": settings,
    }
    if problem.class_names:
        about["class_names"] = problem.class_names
    if problem.objective != LATE:
        about["objective"] = asdict(problem.objective)
    about["digest"] = _digest(about, arrays)
    metadata = {"runcard": json.dumps(about)}
    return fill_whole(Path(path), lambda draft: save_file(arrays, draft, metadata=metadata))


def load_policy(path: str | os.PathLike[str], problem: DispatchProblem | str | None = None) -> Policy:
    """The policy in a file; with `problem`, or its fingerprint, only if it was made for that problem."""
    source = Path(path)
    about, arrays = _read(source)
    wanted = problem.fingerprint if isinstance(problem, DispatchProblem) else problem
    if wanted is not None and about.get("problem") != wanted:
        raise PolicyFileError(
            f"{source}: the policy was made for another city, or for this one before it changed; solve it again"
        )
    try:
        return _policy(about, arrays)
    except PolicyFileError as error:
        raise PolicyFileError(f"{source}: {error}") from error
    except (InputError, KeyError, TypeError, ValueError, IndexError) as error:
        # Whole, but not written by this version: an array or a word that it needs is missing, or of another kind.
        raise PolicyFileError(f"{source}: not a policy file of this version, or damaged ({error!r})") from error


def _contents(policy: Policy) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the settings of a policy, beside its problem."""
    if isinstance(policy, ValuePolicy):
        return {"value": np.ascontiguousarray(policy.value)}, {}
    if isinstance(policy, OrderPolicy):
        arrays = _of_values(policy.values)
        if isinstance(policy, FixedCard):
            return arrays | {"card": np.ascontiguousarray(policy.order)}, {"finished": policy.finished}
        return arrays, {}
    if isinstance(policy, MeanFieldPolicy):
        return _of_values(policy.values), {}
    if isinstance(policy, QueueingPolicy):
        return {}, {"horizon_busy_times": policy.horizon_busy_times}
    raise PolicyFileError(f"{policy.name}: there is no file format for a policy of this kind")


def _policy(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Policy:
    """The policy of a file, from what the file says of itself and its arrays."""
    name, bounds, settings = about["policy"], about["certificate"], about["settings"]
    if name not in POLICY_NAMES:
        raise PolicyFileError(f"expected a policy of {', '.join(POLICY_NAMES)}, found {name!r}")
    measures = {name.removeprefix(_MEASURE): array for name, array in arrays.items() if name.startswith(_MEASURE)}
    main: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
    problem = DispatchProblem(
        **main,
        measures=measures,
        cost_error=about["cost_error"],
        measure_errors={name: error for name, error in about["measure_errors"].items() if name in measures},
        objective=Objective(**about.get("objective", {})),
        returns_per_day=about["returns_per_day"],
        station_ids=tuple(about["station_ids"]),
        point_ids=tuple(about["point_ids"]),
        class_names=tuple(about.get("class_names", ())),
    )
    if (of_city := about["source"]) is not None:
        problem = problem.made_from(lambda: of_city)
    certificate = None
    if bounds is not None:
        lower, upper, converged = bounds
        certificate = Certificate(lower=lower, upper=upper, converged=converged)
    if name.startswith("one-step-queueing"):
        horizon = settings["horizon_busy_times"]
        return QueueingPolicy(problem=problem, horizon_busy_times=horizon, printed=name.endswith("printed"))
    values = _values(problem, arrays)
    if name == "closest-first":
        return OrderPolicy(name=name, problem=problem, order=problem.order, values=values, certificate=certificate)
    if name == "fixed-card":
        card, finished = _card(problem, arrays), bool(settings["finished"])
        return FixedCard(problem=problem, order=card, values=values, certificate=certificate, finished=finished)
    if isinstance(values, FactoredValues) != (name == "one-step-mean-field"):
        raise PolicyFileError(f"the file is damaged: it holds values that {name} does not have")
    if isinstance(values, FactoredValues):
        return MeanFieldPolicy(problem=problem, values=values, certificate=certificate)
    return ValuePolicy(name=name, problem=problem, value=values.value, certificate=certificate)


def _of_values(values: Prices) -> dict[str, NDArray[Any]]:
    """The arrays of the values that prices come from."""
    if isinstance(values, Values):
        return {"value": np.ascontiguousarray(values.value)}
    assert isinstance(values, FactoredValues)
    return {
        "table_value": values.value,
        "table_busy": values.busy,
        "table_stations": np.concatenate(values.stations),
        "table_num_stations": np.array([len(stations) for stations in values.stations], np.int64),
        "table_points": np.concatenate(values.points),
        "table_num_points": np.array([len(points) for points in values.points], np.int64),
    }


def _values(problem: DispatchProblem, arrays: Mapping[str, NDArray[Any]]) -> Values | FactoredValues:
    """The values of a policy, from their arrays; checked, because decisions read them without looking."""
    if "value" in arrays:
        value = arrays["value"]
        if value.shape != (problem.num_states + VALUE_PADDING,):
            raise PolicyFileError(f"expected values of {problem.num_states} states, found {value.size} numbers")
        return Values(problem, value)
    stations = _split(arrays["table_stations"], arrays["table_num_stations"], problem.num_stations)
    points = _split(arrays["table_points"], arrays["table_num_points"], problem.num_points)
    num_values = sum(int(np.prod(problem.trucks[own].astype(object) + 1)) for own in stations)
    value, busy = arrays["table_value"], arrays["table_busy"]
    if len(points) != len(stations) or any((np.diff(own) <= 0).any() for own in stations):
        raise PolicyFileError("expected demand points, and stations in rising order, for each table of values")
    for name, array, length in (("values", value, num_values), ("busy chances", busy, problem.num_stations)):
        if array.shape != (length,) or array.dtype != np.float64 or not np.isfinite(array).all():
            raise PolicyFileError(f"expected {length} finite {name} for its tables, found {array.size}")
    return FactoredValues(problem, stations, points, value, busy)


def _split(numbers: NDArray[Any], lengths: NDArray[Any], limit: int) -> tuple[NDArray[np.int64], ...]:
    """The numbers of each table, all of them from 0 to limit - 1."""
    whole = numbers.dtype == lengths.dtype == np.int64 and numbers.ndim == lengths.ndim == 1
    if not whole or len(lengths) == 0 or lengths.min() < 1 or lengths.sum() != len(numbers):
        raise PolicyFileError("expected whole numbers of stations and demand points for each table of values")
    if numbers.min() < 0 or numbers.max() >= limit:
        raise PolicyFileError("expected stations and demand points of the city in each table of values")
    return tuple(np.split(numbers, np.cumsum(lengths)[:-1]))


def _card(problem: DispatchProblem, arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
    """[J, I] the orders of a card, if each of them lists every station once."""
    card: NDArray[np.int64] = arrays["card"]
    every = np.broadcast_to(np.arange(problem.num_stations), problem.order.shape)
    if card.dtype != np.int64 or card.shape != every.shape or not np.array_equal(np.sort(card, axis=1), every):
        raise PolicyFileError("expected every station once in the order of each demand point of the card")
    return card


def _read(source: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What a policy file says of itself, and its arrays, the largest memory-mapped; all as it was written."""
    if source.is_dir():
        raise PolicyFileError(f"{source}: expected a policy file, found a folder")
    try:
        with safe_open(source, framework="numpy") as file:
            about = json.loads((file.metadata() or {}).get("runcard", "null"))
            names = set(file.keys())
            arrays = {name: file.get_tensor(name) for name in names - set(_MAPPED)}
        arrays |= {name: _mapped(source, name) for name in names & set(_MAPPED)}
    except FileNotFoundError as error:
        raise PolicyFileError(f"{source}: expected a policy file, found none") from error
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise PolicyFileError(f"{source}: not a policy file, or damaged or cut short ({error})") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        found = about.get("format") if isinstance(about, dict) else about
        raise PolicyFileError(f"{source}: expected a policy file of the format {FORMAT}, found {found!r}")
    if about.pop("digest", None) != _digest(about, arrays):
        raise PolicyFileError(f"{source}: the file is damaged: its contents do not match their digest")
    return about, arrays


def _mapped(source: Path, name: str) -> NDArray[np.float64]:
    """One array of doubles of a safetensors file, memory-mapped and read-only."""
    with source.open("rb") as file:
        (header_bytes,) = struct.unpack("<Q", file.read(8))
        entry = json.loads(file.read(header_bytes))[name]
    first, _ = entry["data_offsets"]
    return np.memmap(source, np.float64, mode="r", offset=8 + header_bytes + first, shape=tuple(entry["shape"]))


def _digest(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """A digest of everything that a policy file says and holds."""
    digest = hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].dtype.str}{arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()
