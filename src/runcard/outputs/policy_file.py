"""Policy files: one safetensors file holds a solved policy and all that its decisions need, and no more.

What that is depends on the policy: the values h of every state (`value`), a sum of small tables (`table_...`), the
orders of a card (`card`), or nothing but the problem. The largest arrays, the values and P(late) of the teams, are
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
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from runcard.errors import PolicyFileError
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

FORMAT: Final = "runcard-policy-2"
_ARRAYS: Final = ("trucks", "incidents_per_day", "trucks_needed", "teams", "cost", "order")
_MAPPED: Final = ("cost", "value")


def save_policy(policy: Policy, path: str | os.PathLike[str]) -> Path:
    """The file that now holds the policy."""
    problem = policy.problem
    arrays: dict[str, NDArray[Any]] = {name: np.ascontiguousarray(getattr(problem, name)) for name in _ARRAYS}
    own, settings = _contents(policy)
    if "value" in own and problem.response_minutes is not None:
        # For evaluation in every state, which is what values of every state are for.
        arrays["response_minutes"] = np.ascontiguousarray(problem.response_minutes)
    arrays |= own
    certificate = policy.certificate
    about: dict[str, Any] = {
        "format": FORMAT,
        "policy": policy.name,
        "problem": problem.fingerprint,
        "returns_per_day": problem.returns_per_day,
        "station_ids": problem.station_ids,
        "point_ids": problem.point_ids,
        "certificate": None if certificate is None else [certificate.lower, certificate.upper, certificate.converged],
        "settings": settings,
    }
    about["digest"] = _digest(about, arrays)
    metadata = {"runcard": json.dumps(about)}
    return fill_whole(Path(path), lambda draft: save_file(arrays, draft, metadata=metadata))


def load_policy(path: str | os.PathLike[str], problem: DispatchProblem | None = None) -> Policy:
    """The policy in a file; with `problem`, only if it was made for that problem."""
    source = Path(path)
    about, arrays = _read(source)
    if problem is not None and about["problem"] != problem.fingerprint:
        raise PolicyFileError(
            f"{source}: the policy was made for another city, or for this one before it changed; solve it again"
        )
    name, bounds = about["policy"], about["certificate"]
    if name not in POLICY_NAMES:
        raise PolicyFileError(f"{source}: expected a policy of {', '.join(POLICY_NAMES)}, found {name!r}")
    minutes = arrays.get("response_minutes")
    made_for = DispatchProblem(
        **{name: arrays[name] for name in _ARRAYS},
        response_minutes=minutes,
        returns_per_day=about["returns_per_day"],
        station_ids=tuple(about["station_ids"]),
        point_ids=tuple(about["point_ids"]),
    )
    certificate = None if bounds is None else Certificate(lower=bounds[0], upper=bounds[1], converged=bounds[2])
    return _policy(source, name, made_for, certificate, arrays, about["settings"])


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


def _policy(
    source: Path,
    name: str,
    problem: DispatchProblem,
    certificate: Certificate | None,
    arrays: Mapping[str, NDArray[Any]],
    settings: Mapping[str, Any],
) -> Policy:
    """The policy of a name, from its arrays and settings."""
    if name.startswith("one-step-queueing"):
        horizon = settings["horizon_busy_times"]
        return QueueingPolicy(problem=problem, horizon_busy_times=horizon, printed=name.endswith("printed"))
    if name in ("closest-first", "fixed-card"):
        values = _values(source, problem, arrays)
        if name == "closest-first":
            return OrderPolicy(
                name=name, problem=problem, order=problem.order, values=values, certificate=certificate
            )
        card, finished = arrays["card"], settings["finished"]
        return FixedCard(problem=problem, order=card, values=values, certificate=certificate, finished=finished)
    values = _values(source, problem, arrays)
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


def _values(source: Path, problem: DispatchProblem, arrays: Mapping[str, NDArray[Any]]) -> Values | FactoredValues:
    """The values of a policy, from their arrays."""
    if "value" in arrays:
        value = arrays["value"]
        if len(value) != problem.num_states + VALUE_PADDING:
            raise PolicyFileError(
                f"{source}: expected values of {problem.num_states} states, found {len(value)} numbers"
            )
        return Values(problem, value)
    stations = np.split(arrays["table_stations"], np.cumsum(arrays["table_num_stations"])[:-1])
    points = np.split(arrays["table_points"], np.cumsum(arrays["table_num_points"])[:-1])
    return FactoredValues(problem, tuple(stations), tuple(points), arrays["table_value"], arrays["table_busy"])


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
